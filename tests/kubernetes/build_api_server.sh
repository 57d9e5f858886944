#!/usr/bin/env bash
# Builds a real kube-apiserver from Debian bookworm's source package, 1.20, into FOLDER, with the
# etcd beside it. Minutes, once a machine; nothing is installed.
#
#   tests/kubernetes/build_api_server.sh FOLDER
#
# Then SEXTANT_KUBE_APISERVER=FOLDER has the tests of this folder run against it, too.
#
# Needs golang-go and golang-github-modern-go-reflect2-dev: with the vendored reflect2 and Go 1.19
# the server ends in mapiternext at the first custom resource.
set -euo pipefail

folder=$(mkdir -p "$1" && cd "$1" && pwd)
if [[ -x $folder/kube-apiserver && -x $folder/etcd ]]; then
  echo "$folder/kube-apiserver is there"
  exit
fi
dpkg-query -W golang-go golang-github-modern-go-reflect2-dev >/dev/null

mirror=$(apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' \
  'Release: bookworm' 'Component: main' | head -n 1)
mkdir -p "$folder"/{lists/partial,cache/archives/partial,go/src/k8s.io}
cd "$folder"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
for kind in deb deb-src; do
  echo "$kind $([[ ! -e $keyring ]] || echo "[signed-by=$keyring]") $mirror bookworm main"
done >sources.list
apt=(apt-get -q -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o Dir::State::Lists="$folder/lists" -o Dir::Cache="$folder/cache"
  -o APT::Sandbox::User="$(id -un)")
"${apt[@]}" update
"${apt[@]}" download etcd-server
"${apt[@]}" source --download-only kubernetes
dpkg-deb --fsys-tarfile etcd-server_*.deb | tar -x --strip-components=3 ./usr/bin/etcd

tree=$folder/go/src/k8s.io/kubernetes
mkdir -p "$tree"
tar -xf kubernetes_*.orig.tar.* -C "$tree" --strip-components=1
reflect2=$tree/vendor/github.com/modern-go/reflect2
rm -rf "$reflect2"
cp -rL /usr/share/gocode/src/github.com/modern-go/reflect2 "$reflect2"

export GOPATH=$folder/go GO111MODULE=off CGO_ENABLED=0 GOCACHE=$folder/gocache GOFLAGS=-p=2
cd "$tree"
go build -o "$folder/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
packages=$(grep -rlE --include='*.go' '^ *// *\+k8s:openapi-gen=true' \
  staging/src/k8s.io vendor/k8s.io pkg |
  xargs -n 1 dirname | sed 's|^staging/src/||; s|^vendor/||; s|^pkg|k8s.io/kubernetes/pkg|' |
  sort -u | paste -sd, -)
"$folder/openapi-gen" --go-header-file hack/boilerplate/boilerplate.generatego.txt \
  --logtostderr --output-base "$folder/go/src" --output-file-base zz_generated.openapi \
  --output-package k8s.io/kubernetes/pkg/generated/openapi --input-dirs "$packages" \
  --report-filename /dev/null
# The server ends at once without it.
grep -q '"k8s.io/apimachinery/pkg/api/resource.Quantity":' pkg/generated/openapi/*.go
go build -tags providerless -o "$folder/kube-apiserver" ./cmd/kube-apiserver
rm -rf "$folder"/{gocache,lists,cache,go,openapi-gen}
