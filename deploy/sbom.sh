#!/usr/bin/env bash
# Writes a bill of materials from what dpkg and the page's build know, without a network.
#
#   deploy/sbom.sh linked BUILD_FOLDER [PROGRAM...]
#                                         a line for each package of which the programs in a
#                                         build folder have code: NAME VERSION ARCHITECTURE, or npm
#   deploy/sbom.sh program BUILD_FOLDER VERSION PROGRAM
#                                         CycloneDX 1.4 as JSON: those of one program
#   deploy/sbom.sh image ROOT             the same of the system in a folder, with what its programs
#                                         have
set -euo pipefail
export LC_ALL=C

# Of a package, as dpkg-query has it.
readonly LINE='${Package} ${Version} ${Architecture}\n'

# Headers and archives that were compiled and linked, and what the programs load.
files_of() {
  local build=$1 program
  shift
  ninja -C "$build" -t inputs "${@/#/bin\/}" | grep '\.o$' |
    awk 'NR == FNR { linked[$1 ":"]; next }
         /^[^ ]/ { ours = $1 in linked }
         ours && /^ +\// { print $1 }' - <(ninja -C "$build" -t deps)
  for program in "$@"; do
    sed -n "/^build bin\/$program: /,/^\$/p" "$build/build.ninja" | grep -oE '/[^ ]+\.(a|so)\b'
    ldd "$build/bin/$program" | sed -n 's|.*=> \(/[^ ]*\) .*|\1|p'
  done
  g++ -print-file-name=libgcc.a
  g++ -print-file-name=libstdc++.a
}

linked() {
  local folder
  folder=$(realpath "$1")
  shift
  [[ $# -gt 0 ]] || set -- sextantd sextant sextant-probe
  # Below /lib a package may say /usr/lib, and the other way round.
  files_of "$folder" "$@" | sort -u | xargs -r realpath -m -- | grep -vF "$folder/" | sort -u |
    sed 's|^/usr/\(lib.*\)|&\n/\1|' | { xargs -r dpkg-query -S 2>/dev/null || true; } |
    sed 's|: /.*||; s|, |\n|g' | sort -u | xargs -r dpkg-query -W -f "$LINE"
  local page=$folder/server/page/packages
  if [[ " $* " == *" sextantd "* && -e "$page" ]]; then cat "$page"; fi
}

# CycloneDX of what is of type $1, by name $2 and version $3: of lines, each a component.
# A name of the contents is its serial number, in the form of a UUID of version 8 (RFC 9562).
document() {
  local lines time
  lines=$(cat)
  time=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
  awk -v type="$1" -v name="$2" -v version="$3" -v time="$time" \
    -v sum="$(sha256sum <<<"$* $time $lines")" '
    {
      components = components comma "    " $0
      match($0, /"bom-ref": "[^"]*"/)
      refs = refs comma "      " substr($0, RSTART + 11, RLENGTH - 11)
      comma = ",\n"
    }
    END {
      printf "{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.4\",\n  \"version\": 1,\n"
      printf "  \"serialNumber\": \"urn:uuid:%s-%s-8%s-8%s-%s\",\n", substr(sum, 1, 8), \
        substr(sum, 9, 4), substr(sum, 13, 3), substr(sum, 16, 3), substr(sum, 19, 12)
      printf "  \"metadata\": {\"timestamp\": \"%s\", \"component\": {\"type\": " \
        "\"%s\", \"bom-ref\": \"%s\", \"name\": \"%s\", \"version\": \"%s\"}},\n", \
        time, type, name, name, version
      printf "  \"components\": [\n%s\n  ],\n", components
      printf "  \"dependencies\": [{\"ref\": \"%s\", \"dependsOn\": [\n%s\n  ]}]\n}\n", name, refs
    }' <<<"$lines"
}

# Of lines of packages. JSON takes their characters as they are.
components() {
  awk '
    function purl(s) { gsub(/\+/, "%2B", s); gsub(/:/, "%3A", s); return s }
    {
      ref = $3 == "npm" ? sprintf("pkg:npm/%s@%s", $1, $2) \
        : sprintf("pkg:deb/%s/%s@%s?arch=%s", $1 ~ /^sextant/ ? "sextant" : "debian", purl($1), \
          purl($2), $3)
      printf "{\"type\": \"library\", \"bom-ref\": \"%s\", \"name\": \"%s\", " \
        "\"version\": \"%s\", \"purl\": \"%s\"}\n", ref, $1, $2, ref
    }'
}

program() {
  linked "$1" "$3" | components | document application "$3" "$2"
}

# The packages that are installed there, and others that the programs' own bills have.
image() {
  local of_packages=(dpkg-query --admindir="$1/var/lib/dpkg" -W) version
  version=$("${of_packages[@]}" -f '${Version}' sextant)
  {
    "${of_packages[@]}" -f "$LINE" | components
    sed -n '/"purl"/{s/^ *//; s/,$//; p}' "$1"/usr/share/doc/sextant{,-server}/sextant*.cdx.json
  } | awk -F '"name": ' '{ split($2, name, ",") } !seen[name[1]]++' | sort |
    document container sextant-image "$version"
}

usage() {
  sed -n 's/^# \{0,1\}//; 2,10p' "$0" >&2
  exit 2
}

[[ $# -ge 2 ]] || usage
case $1 in
  linked) linked "${@:2}" ;;
  program) program "${@:2}" ;;
  image) image "${@:2}" ;;
  *) usage ;;
esac
