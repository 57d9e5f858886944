#!/bin/sh
# The image's entry point. Loopback inside a container reaches no one, so sextantd listens to all
# who reach the container where its flags say who may call, or that anyone may. Where the image has
# no probe it is a planner.
set -eu
role=--role=planner
[ ! -x /usr/bin/sextant-probe ] || role=""
open="" listen=--listen=0.0.0.0:50051 http=--http_listen=0.0.0.0:9464
for flag in "$@"; do
  case $flag in
    --insecure_allow_remote | --tls_certificate | --tls_certificate=*) open=yes ;;
    --role | --role=*) role="" ;;
    --listen | --listen=*) listen="" ;;
    --http_listen | --http_listen=*) http="" ;;
    --help | -h | --version) exec /usr/bin/sextantd "$flag" ;;
  esac
done
if [ -z "$open" ]; then
  # Where it is told to listen elsewhere, sextantd itself says what that takes.
  [ -z "$listen" ] || printf '{"time":"%s","level":"warning","event":"%s","reason":"%s"}\n' \
    "$(date -u +%Y-%m-%dT%H:%M:%SZ)" listens_on_loopback \
    "no one outside this container can call: give --tls_certificate and --tls_key with \
--tls_client_ca or --token_file, or --insecure_allow_remote" >&2
  exec /usr/bin/sextantd ${role:+"$role"} "$@"
fi
exec /usr/bin/sextantd ${role:+"$role"} ${listen:+"$listen"} ${http:+"$http"} "$@"
