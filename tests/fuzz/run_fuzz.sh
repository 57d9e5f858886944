#!/usr/bin/env bash
# A bounded run of a fuzz target, always the same: run_fuzz.sh TARGET [RUNS]
# For a longer one: tests/fuzz/seeds.py TARGET build/release/bin/TARGET_fuzz -max_len=4200 \
#   -dict=tests/fuzz/TARGET.dict NEW_FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$SEXTANT_BIN/$1_fuzz
if [ ! -x "$program" ]; then
  echo "skipped: $1_fuzz is not built, since there is no clang++ with libFuzzer"
  exit 77
fi
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
dictionary=()
if [ -f "tests/fuzz/$1.dict" ]; then
  dictionary=("-dict=tests/fuzz/$1.dict")
fi
# An input that takes longer than that hangs. Texts may be a little longer than is allowed.
tests/fuzz/seeds.py "$1" "$program" "-runs=${2:-20000}" -seed=1 -max_len=4200 -timeout=60 \
  -rss_limit_mb=1024 \
  -artifact_prefix="$found/" "${dictionary[@]}" "$found" 2>&1 | tail -n 20
