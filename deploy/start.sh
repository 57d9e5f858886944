#!/bin/sh
# Starts the program of this name in ../libexec, where the system has what it loads.
here=$(dirname "$(readlink -f "$0")")
program=$here/../libexec/$(basename "$0")
# What ldd does: the loader lists, and starts nothing.
lacks=$(LD_TRACE_LOADED_OBJECTS=1 "$program" 2>&1 | grep 'not found')
[ -n "$lacks" ] || exec "$program" "$@"
cat >&2 <<END
$(basename "$0"): this system is too old, or lacks a library. It takes glibc 2.34 and libstdc++
of GCC 11, as RHEL 9, Ubuntu 22.04, Debian 12 and later ones have. \`ldd --version\` says which
glibc is here. What its loader says:
$lacks
END
exit 127
