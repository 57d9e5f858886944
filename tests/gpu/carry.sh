#!/usr/bin/env bash
# Puts what travels to a machine with a GPU into a folder: both static programs, stripped, and which
# commit they are of. What they need there is tests/gpu beside them.
#
#   tests/gpu/carry.sh [FOLDER_OF_PROGRAMS [FOLDER]]     default build/release/bin build/carry
#
# Fails where the whole is 64 MiB or more.
set -euo pipefail
cd "$(dirname "$0")/../.."

bin=${1:-build/release/bin}
most_bytes=$((64 << 20))
carried=${2:-build/carry}
mkdir -p "$carried"
for program in sextant-probe gpu_tests; do
  [ -x "$bin/$program" ] || {
    echo "there is no $bin/$program: cmake --build --preset release -t sextant-probe gpu_tests" >&2
    exit 1
  }
  strip -o "$carried/$program" "$bin/$program"
done
rm -f "$carried/commit.jsonl"
PYTHONDONTWRITEBYTECODE=1 "${PYTHON:-python3}" tests/gpu/commit.py "$carried/commit.jsonl" ||
  echo "the commit is not told" >&2
bytes=$(find "$carried" tests/gpu -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
find "$carried" -type f -printf '%s bytes %p\n'
echo "$bytes bytes with tests/gpu"
[ "$bytes" -lt "$most_bytes" ] || { echo "more than $most_bytes bytes" >&2; exit 1; }
