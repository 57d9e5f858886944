#!/usr/bin/env bash
# Makes the wheel sextant-plan: the planner, the command line, and what they load.
#
#   deploy/wheel.sh BUILD_FOLDER OUTPUT_FOLDER     prints the path of the wheel
#
# $SOURCE_DATE_EPOCH is the time of its files: with it two runs make the same bytes. It needs
# Debian's python3-build, python3-setuptools and python3-wheel.
set -euo pipefail
export LC_ALL=C
umask 022

[[ $# -eq 2 ]] || {
  sed -n 's/^# \{0,1\}//; 2,7p' "$0" >&2
  exit 2
}
readonly BUILD=$1 OUTPUT=$2
here=$(dirname "$(realpath "$0")")
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$BUILD/CMakeCache.txt")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

cp -r "$here/../client/python/plan/." "$stage/wheel"
for component in client server libraries; do
  cmake --install "$BUILD" --prefix "$stage/installed" --strip --component "$component" >/dev/null
done
programs=$stage/wheel/sextant_plan/programs
mkdir -p "$programs/lib/sextant"
cp -r "$stage/installed/bin" "$programs/bin"
# A wheel has no links: a file by the name that is asked for, in their place.
for library in "$stage"/installed/lib/sextant/*; do
  name=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
  cp -L "$library" "$programs/lib/sextant/$name"
done
cp "$here"/../{LICENSE,NOTICE} "$stage/wheel"
cp "$stage"/installed/share/doc/sextant/*.cdx.json "$stage/wheel/sextant_plan"
echo "$version" >"$stage/wheel/VERSION"
echo "sextant-client==$version" >"$stage/wheel/requirements.txt"
rm -rf "$stage/wheel/sextant_plan/__pycache__"

/usr/bin/python3 -m build --no-isolation --wheel --outdir="$stage/out" "$stage/wheel" \
  >"$stage/log" 2>&1 || {
  cat "$stage/log" >&2
  exit 1
}
mkdir -p "$OUTPUT"
cp "$stage"/out/*.whl "$OUTPUT"
for wheel in "$stage"/out/*.whl; do echo "$OUTPUT/${wheel##*/}"; done
