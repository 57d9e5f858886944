#!/usr/bin/env bash
# Runs buf: the one that deploy/install-deps.sh put below build/tools, else one on PATH.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
buf=$root/build/tools/node_modules/.bin/buf
if [ ! -x "$buf" ]; then
  buf=$(command -v buf) || { echo "skipped: no buf (deploy/install-deps.sh tests)"; exit 77; }
fi
# Its cache, which is in $HOME otherwise.
export BUF_CACHE_DIR=${BUF_CACHE_DIR:-$root/build/tools/buf_cache}
exec "$buf" "$@"
