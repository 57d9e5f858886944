#!/usr/bin/env bash
# Everything that needs a GPU, in one call of less than ten minutes, on a machine that has a driver,
# CUDA, Python and PyTorch: docs/gpu_validation.md.
#
#   tests/gpu/run.sh [--steps=NAME,NAME...] [OUTPUT_FOLDER]
#
# Writes at most eight files into OUTPUT_FOLDER (else $OUT), and a table last on standard output.
#
#   SEXTANT_BIN        folder of sextant-probe and gpu_tests; default build/release/bin, else
#                      build/carry, as carry.sh makes it
#   SEXTANT_GPU_BUDGET seconds for everything; default 560
#   PYTHON             default python3
#
# Exit code: 0 every step was done; 1 one failed; 2 the call makes no sense; 3 none failed, and some
# were skipped for want of time. Changes no clock, power limit or mode of the GPU.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
python=${PYTHON:-python3}
budget=${SEXTANT_GPU_BUDGET:-560}
all_steps=cold,kernel_tests,probes,back_to_back,busy,kernel_times,cudnn,copies,matmul,unseen
all_steps+=,training,search
steps=$all_steps
export PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1

usage() {
  echo "$1" >&2
  echo "usage: $0 [--steps=$all_steps] OUTPUT_FOLDER" >&2
  exit 2
}

output=${OUT:-}
for argument in "$@"; do
  case $argument in
    --steps=*) steps=${argument#--steps=} ;;
    -*) usage "what is $argument?" ;;
    *) output=$argument ;;
  esac
done
[ -n "$output" ] || usage "no output folder is given"
for name in ${steps//,/ }; do
  [[ ,$all_steps, == *,"$name",* ]] || usage "there is no step $name"
done
[[ $budget =~ ^[1-9][0-9]*$ ]] || usage "SEXTANT_GPU_BUDGET is not a number of seconds: $budget"

bin=${SEXTANT_BIN:-}
for folder in "$root/build/release/bin" "$root/build/carry"; do
  if [ -z "$bin" ] && [ -x "$folder/sextant-probe" ] && [ -x "$folder/gpu_tests" ]; then
    bin=$folder
  fi
done
[ -n "$bin" ] || usage "no programs in build/release/bin or build/carry: set SEXTANT_BIN"
for program in sextant-probe gpu_tests; do
  [ -x "$bin/$program" ] || usage "there is no $bin/$program"
done
command -v "$python" > /dev/null || usage "there is no $python"
mkdir -p "$output" || usage "$output can't be made"

facts=$output/facts.jsonl
log=$output/log.txt
rm -f "$output"/{facts.jsonl,log.txt,probes.jsonl,matmul.csv,unseen_gemms.csv,attention.csv} \
  "$output"/{training_steps.csv,summary.md}
failed=0
skipped=0
SECONDS=0

# note NAME OUTCOME SECONDS LIMIT CODE REASON: one fact. Reasons are plain text of ours.
note() {
  printf '{"fact": "step", "name": "%s", "outcome": "%s", "seconds": %d, "limit_seconds": %d, ' \
    "$1" "$2" "$3" "$4" >> "$facts"
  printf '"exit_code": %d, "reason": "%s"}\n' "$5" "$6" >> "$facts"
  echo "== $1: $2 after $3 s ${6:+($6)}"
}

# step NAME LIMIT LEAST PROGRAM ARGUMENTS...: runs a program of ours with --seconds= added, for at
# most LIMIT seconds; skips it where fewer than LEAST are left of the budget. What runs longer is
# ended, all its processes with it.
step() {
  local name=$1 limit=$2 least=$3 program=$4
  shift 4
  [[ ,$steps, == *,"$name",* ]] || return 0
  local left=$((budget - SECONDS)) start=$SECONDS code=0
  if [ "$left" -lt "$least" ]; then
    skipped=1
    note "$name" skipped 0 "$limit" 0 "$left s are left of $budget, and it needs $least"
    return 0
  fi
  [ "$limit" -le "$left" ] || limit=$left
  printf '\n==== %s, at most %d s\n' "$name" "$limit" >> "$log"
  # Its own limit is a little nearer, so that it ends by itself.
  local own=$((limit > 100 ? limit - 10 : limit * 9 / 10))
  timeout --kill-after=5 "$limit" "$python" "$here/$program" "--seconds=$own" "$@" \
    >> "$log" 2>&1 < /dev/null || code=$?
  case $code in
    0) note "$name" ok $((SECONDS - start)) "$limit" 0 "" ;;
    124 | 137)
      failed=1
      note "$name" "timed out" $((SECONDS - start)) "$limit" "$code" "see log.txt"
      ;;
    *)
      failed=1
      note "$name" failed $((SECONDS - start)) "$limit" "$code" "see log.txt"
      tail -n 5 "$log" | sed 's/^/   /'
      ;;
  esac
}

probe=$bin/sextant-probe
probes=$output/probes.jsonl

# Which commit the programs are of, as carry.sh left it beside them; else that of the tree.
cat "$bin/commit.jsonl" >> "$facts" 2> /dev/null || "$python" "$here/commit.py" "$facts" 2>> "$log"

# The first that touches the GPU at all.
step cold 40 15 cold.py --probe="$probe" --facts="$facts" --probes="$probes"
{
  "$probe" --version
  timeout 20 nvidia-smi -q || echo "no nvidia-smi"
  "$python" --version
} >> "$log" 2>&1
step kernel_tests 60 10 kernel_tests.py --tests="$bin/gpu_tests" --facts="$facts"
step probes 140 20 probe_runs.py --probe="$probe" --facts="$facts" --probes="$probes"
step back_to_back 25 15 probe_pairs.py --pair=back_to_back --probe="$probe" --facts="$facts" \
  --probes="$probes"
step busy 75 45 busy_gpu.py --probe="$probe" --facts="$facts" --probes="$probes"
step kernel_times 70 30 kernel_times.py --probe="$probe" --facts="$facts" --probes="$probes"
step cudnn 30 20 probe_pairs.py --pair=cudnn --probe="$probe" --facts="$facts" --probes="$probes"
step copies 25 10 copies.py --probes="$probes" --facts="$facts"
step matmul 40 20 matmul_search.py --part=same --probes="$probes" --facts="$facts" \
  --output="$output/matmul.csv"
step unseen 90 40 unseen_kernels.py --probe="$probe" --probes="$probes" \
  --gemms="$output/unseen_gemms.csv" --attention="$output/attention.csv"
step training 130 40 training_steps.py --output="$output/training_steps.csv"
# All that is left.
step search "$budget" 20 matmul_search.py --part=search --probes="$probes" --facts="$facts" \
  --output="$output/matmul.csv"

echo
if ! "$python" "$here/summarise.py" "$output" 2>> "$log" | tee "$output/summary.md"; then
  echo "the table could not be made: see log.txt"
  failed=1
fi
[ "$failed" -eq 0 ] || exit 1
[ "$skipped" -eq 0 ] || exit 3
exit 0
