#!/usr/bin/env bash
# The benchmarks, on the release build: timings as ratios taken in one run, and instruction
# counts by callgrind, which repeat exactly.
#
#   tests/benchmarks/run.sh [folder of the programs]
#
# Without a folder it builds them, optimised across files as sextantd is: tests/run.sh, which only
# runs them, leaves that out.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${1:-build/release/bin}
if [ $# -eq 0 ]; then
  cmake --preset release -DSEXTANT_BUILD_TESTS=ON -DSEXTANT_LTO=ON --log-level=NOTICE
  cmake --build --preset release --parallel "$(nproc)" \
    --target sextantd engine_benchmark plan_run_cost answer_benchmark isolation waits
fi

echo "== a call of PlanRun beside a call of an empty handler"
"$bin/plan_run_cost"

echo "== a whole server, by h2load"
SEXTANT_BIN=$bin tests/benchmarks/h2load.py || [ $? -eq 77 ]

echo "== short calls beside searches"
"$bin/isolation"

echo "== plans without a layout during long calls"
"$bin/waits"

echo "== the engine alone"
"$bin/engine_benchmark" --benchmark_min_time=0.2

echo "== instructions (callgrind)"
if ! command -v valgrind > /dev/null; then
  echo "skipped: no valgrind"
  exit 0
fi
scratch=$(mktemp)
trap 'rm -f "$scratch"' EXIT
# Instructions of `function` and all that it calls, in a benchmark that does it `times` times, a
# thousand without.
instructions() {
  local function=$1 benchmark=$2 times=${3:-1000} collected
  collected=$(valgrind --tool=callgrind --callgrind-out-file="$scratch" \
    --toggle-collect="$function" \
    "$bin/engine_benchmark" --benchmark_filter="^$benchmark" 2>&1 |
    sed -n 's/.*Collected *: *\([0-9]*\).*/\1/p')
  [ -n "$collected" ] || { echo "callgrind counted nothing"; exit 1; }
  echo "$((collected / times))"
}
# The first of the plans also builds the indexes of names.
plan=$(instructions 'sextant::PlanRun(*CallWork*' PlanPresetThousandTimes)
count=$(instructions 'sextant::CountModel(*' CountModelThousandTimes)
stage=$(instructions 'sextant::ChunkActivations(*' ChunkActivationsThousandTimes)
state=$(instructions 'sextant::StageStateOf(*StateRules*' StageStateThousandTimes)
transients=$(instructions 'sextant::StageTransientsOf(*' MemoryStageThousandTimes)
memory=$(instructions 'sextant::MemoryModel::Stage(*' MemoryStageThousandTimes)
peak=$(instructions 'sextant::MemoryModel::Peak(*' MemoryPeakThousandTimes)
compute=$(instructions 'sextant::ComputeOf(*' StageComputeThousandTimes)
llama=$(instructions '*PlanLayout(*' LayoutThousandTimes/llama_70b)
deepseek=$(instructions '*PlanLayout(*' LayoutThousandTimes/deepseek_v3)
worst=0
for name in all_stages/adapted all_chunks_on_two_stages dualpipe many_chunks/adapted; do
  for kind in timed timed/does_not_fit ramped; do
    each=$(instructions 'sextant::PlanRun(*CallWork*' "WorstPlanOnce/$name/$kind/iterations" 1)
    [ "$each" -le "$worst" ] || { worst=$each && worst_name=$name/$kind; }
  done
done
echo "$plan instructions a plan"
echo "$worst instructions the most expensive plan ($worst_name), $((worst / plan)) times that"
echo "$count instructions a count of a model of 126 layers, without the breakdown"
echo "$stage instructions a micro-batch's activations of such a model, without rows"
echo "$state instructions the model state of a stage, without rows"
echo "$transients instructions what a last stage holds for a moment"
echo "$memory instructions the memory of a last stage, without rows"
echo "$peak instructions that of the fullest of 16 stages"
echo "$compute instructions a stage's operations, traced and priced"
echo "$llama instructions memory and time of a layout of Llama-3.1-70B"
echo "$deepseek instructions the same of DeepSeek-V3"
