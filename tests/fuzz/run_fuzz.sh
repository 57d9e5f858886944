#!/usr/bin/env bash
# A bounded run of a fuzz target, always the same: run_fuzz.sh PROGRAM SEEDS [RUNS]
# For a longer one: build/release/bin/PROGRAM -max_len=4200 -dict=tests/fuzz/expression.dict \
#   NEW_FOLDER tests/fuzz/SEEDS
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$SEXTANT_BIN/$1
if [ ! -x "$program" ]; then
  echo "skipped: $1 is not built, since there is no clang++ with libFuzzer"
  exit 77
fi
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
dictionary=()
if [ -f "tests/fuzz/${1%_fuzz}.dict" ]; then
  dictionary=("-dict=tests/fuzz/${1%_fuzz}.dict")
fi
# An input that takes longer than that hangs. Texts may be a little longer than is allowed.
"$program" "-runs=${3:-20000}" -seed=1 -max_len=4200 -timeout=60 -rss_limit_mb=1024 \
  -artifact_prefix="$found/" "${dictionary[@]}" "$found" "$2" 2>&1 | tail -n 20
