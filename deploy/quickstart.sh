#!/usr/bin/env bash
# From a fresh clone on a bare Debian bookworm to a measurement, a plan and a search: installs what
# is needed, builds the programs, starts a server that only this host can reach, has it measure this
# host's processor, plans on what was measured, searches for a layout, stops it.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly BUILD=build/release
readonly START_SECONDS=20

scratch=
server_pid=

# On every way out, Ctrl-C included.
clean_up() {
  if [[ -n "$server_pid" ]]; then
    kill -TERM "$server_pid" 2>/dev/null || true
    wait "$server_pid" || true
  fi
  [[ -z "$scratch" ]] || rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

headline() { printf '\n== %s\n' "$*"; }

build() {
  mkdir -p "$BUILD"
  # A second run from this clone waits here: two builds in one folder would trip each other up.
  exec 8<"$BUILD"
  flock 8
  cmake --preset release -DSEXTANT_BUILD_TESTS=OFF -DSEXTANT_LTO=ON --log-level=NOTICE
  cmake --build --preset release --target sextantd sextant sextant-probe --parallel "$(nproc)"
  exec 8<&-
}

# Prints the address that the server's log says it serves; fails while it says none.
grpc_address() {
  sed -n '/"event":"serving"/ s/.*"grpc":\["\([^"]*\)".*/\1/p' "$scratch/log" | grep -m1 .
}

# Sets SEXTANT_ADDRESS, which the client reads.
start_server() {
  scratch=$(mktemp -d)
  # Ports of the kernel's choice, so that nothing which runs here already is in the way.
  # What is measured here is gone with the scratch folder: nothing is left behind.
  "$BUILD/bin/sextantd" --listen=127.0.0.1:0 --http_listen=127.0.0.1:0 --log_calls=none \
    --calibration_directory="$scratch/calibrations" --drain_announce_seconds=0 2>"$scratch/log" &
  server_pid=$!
  local deadline=$((SECONDS + START_SECONDS))
  until SEXTANT_ADDRESS=$(grpc_address); do
    if ! kill -0 "$server_pid" 2>/dev/null || ((SECONDS > deadline)); then
      echo "sextantd did not start:" >&2
      cat "$scratch/log" >&2
      exit 1
    fi
    sleep 0.1
  done
  export SEXTANT_ADDRESS
  echo "sextantd serves at $SEXTANT_ADDRESS"
}

run() {
  printf '\n$ sextant %s\n' "$*"
  "$BUILD/bin/sextant" "$@"
}

headline "installing what the build needs"
deploy/install-deps.sh programs

headline "building the three programs ($(nproc) cores; some minutes the first time)"
build

headline "starting sextantd on this host alone"
start_server

headline "measuring this host's processor"
run probe --mode=standard

headline "planning GPT-2 small on it, from the measured rates: 1e6 tokens in fp32"
run plan gpt2 --tokens=1e6 --sequence-length=1024 --micro-batch-size=1 --compute-data-type=fp32 \
  --device=host --devices=1

headline "searching for a layout of Llama 3.1 70B on published rates: 15e12 tokens, 1,024 H100s"
run search llama-3.1-70b --tokens=15e12 --sequence-length=8192 --gbs=1024 --accelerator=h100-sxm \
  --node-type=dgx-h100 --devices=1024 --framework=megatron-bridge

headline "done in $SECONDS s; stopping the server"
cat <<TEXT
To go on by hand:
  PATH=\$PWD/$BUILD/bin:\$PATH
  sextantd &                  # gRPC on 127.0.0.1:50051, metrics on 127.0.0.1:9464
  sextant probe               # measures this host; later plans use it
  sextant accelerators        # what it knows from datasheets
  sextant plan --help         # what it can be asked; search, compare, size-cluster, size-model too
  kill %1                     # stops the server
TEXT
