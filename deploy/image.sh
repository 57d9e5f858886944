#!/usr/bin/env bash
# Makes the image of a planner from its Debian packages, without a daemon or a registry.
#
#   deploy/image.sh PACKAGES FILE          an OCI archive, by buildah
#   deploy/image.sh root PACKAGES FOLDER   what is in it, which Dockerfile copies
#
# PACKAGES is a folder with one sextant_*.deb and one sextant-server_*.deb. It needs root,
# mmdebstrap, and a mirror of Debian, of which it takes the security updates. $SOURCE_DATE_EPOCH is
# the time of the image: with it, and the same mirror, two runs make the same bytes.
set -euo pipefail
export LC_ALL=C SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date +%s)}
umask 022
here=$(dirname "$(realpath "$0")")

usage() {
  sed -n 's/^# \{0,1\}//; 2,9p' "$0" >&2
  exit 2
}

# Runs a command, and shows what it printed only if it fails.
quietly() {
  local output
  output=$("$@" 2>&1 </dev/null) || {
    printf '%s\n' "$output" >&2
    exit 1
  }
}

# What the packages depend on and no more: no apt, no dpkg, and of busybox a shell for the entry
# point. dpkg's list is there, by which scanners know what to patch; a new image is the patch.
root() {
  local root=$2 applet
  # apt looks for them here, and dpkg at the same path below the root.
  cp "$1"/sextant_*.deb "$stage/client.deb"
  cp "$1"/sextant-server_*.deb "$stage/server.deb"
  # libc6 asks debconf, which looks for its settings below the root.
  quietly mmdebstrap --quiet --mode=chrootless --variant=custom --format=directory \
    --hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount \
    --setup-hook='mkdir -p "$1/etc" "$1/var/cache/debconf" && cp /etc/debconf.conf "$1/etc"' \
    --include=base-files,busybox --include="$stage/client.deb" --include="$stage/server.deb" \
    bookworm "$root"
  for applet in sh date; do ln -s busybox "$root/bin/$applet"; done
  # What belongs to the host that makes it, and what neither a server nor a scanner reads.
  rm -rf "${root:?}"/{dev,tmp,var/cache,var/log}/* "$root"/usr/lib/*/gconv \
    "$root"/etc/{apt,debconf.conf,dpkg,hostname,resolv.conf}
  find "$root/usr/share" ! -type d ! -path '*/common-licenses/*' ! -path '*/doc/*/copyright' \
    ! -path '*/doc/sextant*/NOTICE' ! -name '*.cdx.json' -delete
  find "$root/usr/share" -type d -empty -delete
  "$here/sbom.sh" image "$root" >"$root/usr/share/doc/sextant/image.cdx.json"
}

# By the last stage of Dockerfile, which takes all from the one before: here from a folder.
image() {
  local file=$2 buildah=(buildah --storage-driver=vfs --root="$stage/store" --runroot="$stage/run")
  mkdir "$stage/build"
  root "$1" "$stage/build/image"
  quietly "${buildah[@]}" build --isolation=chroot --timestamp="$SOURCE_DATE_EPOCH" \
    --build-context="build=$stage/build" --file="$here/../Dockerfile" --tag=sextant "$here/.."
  quietly "${buildah[@]}" push localhost/sextant "oci:$stage/oci:sextant"
  tar -C "$stage/oci" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$SOURCE_DATE_EPOCH" -cf "$file" .
  echo "$file"
}

stage=$(mktemp -d -p /tmp)
trap 'rm -rf "$stage"' EXIT
case $# in
  2) image "$@" ;;
  3)
    [[ $1 == root ]] || usage
    root "$2" "$3"
    ;;
  *) usage ;;
esac
