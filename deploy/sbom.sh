#!/usr/bin/env bash
# Writes a bill of materials from what dpkg knows, without a network.
#
#   deploy/sbom.sh linked BUILD_FOLDER [PROGRAM...]
#                                         a line for each Debian package of which the programs in
#                                         a build folder have code: NAME VERSION ARCHITECTURE
#   deploy/sbom.sh program BUILD_FOLDER VERSION PROGRAM
#                                         CycloneDX 1.4 as JSON: those of one program
#   deploy/sbom.sh image VERSION [FILE]   SPDX 2.3 as JSON: packages of FILE, of which this version
#                                         of sextant has code, and those that are installed here
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
}

# Of lines "linked NAME VERSION ARCHITECTURE" and "image ...". JSON takes their characters as they
# are.
document() {
  awk -v version="$1" -v time="$2" -v address="$3" '
    function id(s) { gsub(/\+/, "-plus-", s); gsub(/[^A-Za-z0-9.-]/, "-", s); return s }
    function purl(s) { gsub(/\+/, "%2B", s); gsub(/:/, "%3A", s); return s }
    function package(key, name, release, more) {
      return sprintf("    {\"SPDXID\": \"SPDXRef-%s\", \"name\": \"%s\", " \
        "\"versionInfo\": \"%s\", \"downloadLocation\": \"NOASSERTION\", " \
        "\"filesAnalyzed\": false%s}",
        key, name, release, more)
    }
    function relation(from, type, to) {
      return sprintf("    {\"spdxElementId\": \"SPDXRef-%s\", \"relationshipType\": \"%s\", " \
        "\"relatedSpdxElement\": \"SPDXRef-%s\"}", from, type, to)
    }
    BEGIN {
      packages = package("image", "sextant-image", version) ",\n" \
        package("sextant", "sextant", version)
      relations = relation("DOCUMENT", "DESCRIBES", "image") ",\n" \
        relation("image", "CONTAINS", "sextant")
    }
    {
      key = "deb-" id($2 "-" $3 "-" $4)
      if (!(key in seen)) {
        seen[key] = 1
        packages = packages ",\n" package(key, $2, $3, sprintf(", \"externalRefs\": [" \
          "{\"referenceCategory\": \"PACKAGE-MANAGER\", \"referenceType\": \"purl\", " \
          "\"referenceLocator\": \"pkg:deb/debian/%s@%s?arch=%s\"}]", purl($2), purl($3), $4))
      }
      relations = relations ",\n" ($1 == "linked" ? relation("sextant", "DEPENDS_ON", key) \
                                                   : relation("image", "CONTAINS", key))
    }
    END {
      printf "{\n  \"spdxVersion\": \"SPDX-2.3\",\n  \"dataLicense\": \"CC0-1.0\",\n"
      printf "  \"SPDXID\": \"SPDXRef-DOCUMENT\",\n  \"name\": \"sextant-%s\",\n", version
      printf "  \"documentNamespace\": \"%s\",\n", address
      printf "  \"creationInfo\": {\"created\": \"%s\", \"creators\": [\"Tool: sbom.sh\"]},\n", time
      printf "  \"packages\": [\n%s\n  ],\n", packages
      printf "  \"relationships\": [\n%s\n  ]\n}\n", relations
    }'
}

image() {
  local version=$1 lines time
  lines=$({ [[ $# -lt 2 ]] || sed 's/^/linked /' "$2"; dpkg-query -W -f "image $LINE"; } | sort -u)
  time=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
  # A name of the contents, as SPDX wants one that no other document has.
  document "$version" "$time" \
    "urn:sextant:sbom:$(sha256sum <<<"$version $time $lines" | cut -d ' ' -f 1)" <<<"$lines"
}

# A name of the contents is its serial number, in the form of a UUID of version 8 (RFC 9562).
program() {
  local folder=$1 version=$2 name=$3 lines time
  lines=$(linked "$folder" "$name")
  time=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
  awk -v name="$name" -v version="$version" -v time="$time" \
    -v sum="$(sha256sum <<<"$name $version $time $lines")" '
    function purl(s) { gsub(/\+/, "%2B", s); gsub(/:/, "%3A", s); return s }
    {
      ref = sprintf("pkg:deb/debian/%s@%s?arch=%s", purl($1), purl($2), $3)
      components = components comma sprintf("    {\"type\": \"library\", \"bom-ref\": \"%s\", " \
        "\"name\": \"%s\", \"version\": \"%s\", \"purl\": \"%s\"}", ref, $1, $2, ref)
      refs = refs comma "      \"" ref "\""
      comma = ",\n"
    }
    END {
      printf "{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.4\",\n  \"version\": 1,\n"
      printf "  \"serialNumber\": \"urn:uuid:%s-%s-8%s-8%s-%s\",\n", substr(sum, 1, 8), \
        substr(sum, 9, 4), substr(sum, 13, 3), substr(sum, 16, 3), substr(sum, 19, 12)
      printf "  \"metadata\": {\"timestamp\": \"%s\", \"component\": {\"type\": " \
        "\"application\", \"bom-ref\": \"%s\", \"name\": \"%s\", \"version\": \"%s\"}},\n", \
        time, name, name, version
      printf "  \"components\": [\n%s\n  ],\n", components
      printf "  \"dependencies\": [{\"ref\": \"%s\", \"dependsOn\": [\n%s\n  ]}]\n}\n", name, refs
    }' <<<"$lines"
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
