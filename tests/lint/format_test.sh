#!/usr/bin/env bash
# Every C++ file is as clang-format 14 (Debian bookworm's) leaves it.
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! command -v clang-format > /dev/null; then
  echo "skipped: no clang-format (deploy/install-deps.sh tests)"
  exit 77
fi
version=$(clang-format --version | grep -oE '[0-9]+' | head -n 1)
if [ "$version" != 14 ]; then
  echo "skipped: clang-format $version formats differently from 14"
  exit 77
fi
find engine gpu_probe server client tests \
  -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' | sort |
  xargs clang-format --dry-run -Werror
echo "formatted"
