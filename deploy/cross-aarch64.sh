#!/usr/bin/env bash
# Builds sextant-probe for aarch64 (Grace hosts) into build/aarch64/bin on a processor of another
# kind, and runs it there under QEMU: that it starts, lists this host, measures its processor, and
# says why no GPU is measured. Its figures mean nothing: QEMU imitates each instruction.
#
#   deploy/cross-aarch64.sh
set -euo pipefail
cd "$(dirname "$0")/.."

readonly FOLDER=build/aarch64
readonly PROBE=$FOLDER/bin/sextant-probe

deploy/install-deps.sh aarch64
cmake -S . -B "$FOLDER" -G Ninja --toolchain deploy/aarch64.cmake -DCMAKE_BUILD_TYPE=Release \
  -DSEXTANT_UNITY=ON -DSEXTANT_PROBE_ONLY=ON
cmake --build "$FOLDER" --target sextant-probe --parallel "$(nproc)"

emulated() { qemu-aarch64-static -cpu max -L /usr/aarch64-linux-gnu "$PROBE" "$@"; }

# Runs the probe, which has to end with exit code $1.
expect() {
  local expected=$1 code=0
  shift
  printf '\n$ sextant-probe %s\n' "$*"
  emulated "$@" || code=$?
  if ((code != expected)); then
    echo "cross-aarch64: exit code $code, not $expected" >&2
    exit 1
  fi
}

readelf -h "$PROBE" | grep -E 'Class|Machine'
readelf -V "$PROBE" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1
expect 0 --version
expect 0 --list
expect 0 --backend=host --mode=quick --budget=60s
# Without a driver: UNSUPPORTED, no_driver.
expect 3 --backend=cuda --mode=quick
