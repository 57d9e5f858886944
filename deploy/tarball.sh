#!/usr/bin/env bash
# Packs what a build folder installs, for systems of other distributions on x86-64.
#
#   deploy/tarball.sh BUILD_FOLDER OUTPUT_FOLDER     prints the path of the tarball
#
# It belongs to /opt/sextant, where its units look, and runs from any other folder. The programs are
# in libexec/, and in bin/ what starts them, or says what an older system lacks. $SOURCE_DATE_EPOCH
# is the time of its files: with it two runs pack the same bytes.
set -euo pipefail
export LC_ALL=C
umask 022

[[ $# -eq 2 ]] || {
  sed -n 's/^# \{0,1\}//; 2,8p' "$0" >&2
  exit 2
}
readonly BUILD=$1 OUTPUT=$2
here=$(dirname "$(realpath "$0")")
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$BUILD/CMakeCache.txt")
name=sextant-$version-linux-$(uname -m)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

DESTDIR=$stage cmake --install "$BUILD" --prefix /opt/sextant --strip >/dev/null
root=$stage/$name
mv "$stage/opt/sextant" "$root"
mv "$root/bin" "$root/libexec"
mkdir "$root/bin"
for program in "$root"/libexec/*; do
  if [[ $(head -c 2 "$program") == '#!' ]]; then
    mv "$program" "$root/bin"  # a script of Slurm's hooks
    continue
  fi
  install -m 755 "$here/start.sh" "$root/bin/${program##*/}"
done
find "$root/lib/systemd" -type f -exec sed -i 's|/opt/sextant/bin/|/opt/sextant/libexec/|' {} +

mkdir -p "$OUTPUT"
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
  --mtime="@${SOURCE_DATE_EPOCH:-$(date +%s)}" -cf - "$name" | gzip -9n >"$OUTPUT/$name.tar.gz"
echo "$OUTPUT/$name.tar.gz"
