#!/usr/bin/env bash
# Runs the tests on a host that has PyTorch, a server on the default ports, a read-only HOME and a
# TMPDIR of its own. Afterwards nothing may be left in TMPDIR, /tmp, /run/lock or /dev/shm.
# Needs what tests/run.sh builds, and a kernel that lets this user mount in a namespace of its own.
#
#   tests/guests.sh [preset] [ctest's own flags...]
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${SEXTANT_GUESTS:-}" != inside ]; then
  namespace=(unshare --mount)
  [ "$(id -u)" = 0 ] || namespace+=(--map-root-user)
  "${namespace[@]}" true || { echo "skipped: no mount namespaces here"; exit 77; }
  case $PWD in
    /tmp/* | /var/tmp/* | /dev/shm/*) echo "skipped: $PWD would be hidden"; exit 77 ;;
  esac
  SEXTANT_GUESTS=inside exec "${namespace[@]}" "$0" "$@"
fi

preset=${1:-release}
shift || true
for folder in /tmp /var/tmp /run/lock /dev/shm; do mount -t tmpfs tmpfs "$folder"; done

# A PyTorch that can be found and imported, with libraries that are none.
export PYTHONUSERBASE=/var/tmp/python
site=$(/usr/bin/python3 -c 'import site; print(site.getusersitepackages())')
mkdir -p "$site/torch/lib" "$site/nvidia/cublas/lib" "$site/nvidia/nccl/lib"
echo '__version__ = "2.9.0"' > "$site/torch/__init__.py"
touch "$site/torch/lib/libtorch.so" "$site/nvidia/cublas/lib/libcublasLt.so.13" \
  "$site/nvidia/nccl/lib/libnccl.so.2"

"build/$preset/bin/sextantd" --calibration_directory=none --gpu_sampling=none 2> /var/tmp/log &
server=$!
trap 'kill "$server"' EXIT
until grep -qs '"event":"serving"' /var/tmp/log; do
  kill -0 "$server" 2> /dev/null || { cat /var/tmp/log; exit 1; }
  sleep 0.1
done

export HOME=/var/tmp/home TMPDIR=/var/tmp/tests
mkdir "$HOME" "$TMPDIR"
mount -t tmpfs -o ro tmpfs "$HOME"
passed=0
ctest --preset "$preset" --output-on-failure --no-tests=error --parallel "$(nproc)" "$@" ||
  passed=$?

left=$(find "$TMPDIR" /tmp /run/lock /dev/shm -mindepth 1)
echo "left behind: ${left:-nothing}"
[ "$passed" = 0 ] && [ -z "$left" ]
