#!/usr/bin/env bash
# Installs what is missing, builds everything, runs every test.
#
#   tests/run.sh [preset] [ctest's own flags...]
#   tests/run.sh release -R plan
#
# Presets: release (the default), dev, asan-ubsan, tsan. Ends with ctest's summary and exit code.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-release}
shift || true
cores=$(nproc)

headline() { printf '\n== %s\n' "$*"; }

headline "installing what the tests need"
deploy/install-deps.sh tests

headline "configuring $preset"
# Optimising across files takes minutes, and changes no answer.
cmake --preset "$preset" -DSEXTANT_BUILD_TESTS=ON -DSEXTANT_LTO=OFF

headline "building $preset ($cores cores)"
cmake --build --preset "$preset" --parallel "$cores"

headline "testing $preset ($cores tests at once)"
exec ctest --preset "$preset" --output-on-failure --no-tests=error --parallel "$cores" "$@"
