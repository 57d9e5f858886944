// Time of a search for a layout; items are legal layouts: those whose micro-batches divide the
// batch.
#include <benchmark/benchmark.h>

#include <thread>
#include <utility>
#include <vector>

#include "engine/search/layout_search.h"
#include "tests/engine/run/h100_runs.h"

namespace sextant {
namespace {

RunSpec RunOn(absl::string_view preset, int64_t devices, int64_t sequences) {
  RunSpec run = RunOnH100s(preset, devices, sequences);
  run.options.search = SearchExtent::kExhaustive;
  run.layout->framework = {.kind = Framework::kMegatronBridge, .named = true};
  return run;
}

// GPT-3 175B on 64 A100s, 64 sequences a step, everything open: without a framework, and with
// tensor parallel groups of several servers.
RunSpec CaseA() {
  RunSpec run = RunOn("gpt3-175b", 64, 64);
  run.training.sequence_length = 2048;
  run.cluster.device.accelerator = "a100-sxm-80";
  run.cluster.node_type = "dgx-a100";
  run.options.tensor_across_nodes = true;
  run.layout->framework = {};
  run.layout->attention = AttentionKernel::kUnfused;
  return run;
}

// Case A with the kernels of attention and loss open, too.
RunSpec CaseAOfAllKernels() {
  RunSpec out = CaseA();
  out.options.search_kernels = true;
  return out;
}

// `threads` search their part of the space each; `times_all`: without pruning.
SearchOutcome Found(const RunSpec& run, int threads, bool times_all) {
  std::vector<SearchOutcome> parts(static_cast<size_t>(threads));
  std::vector<std::thread> others;
  const auto search = [&](int index) {
    CallWork work;
    parts[static_cast<size_t>(index)] =
        *SearchLayouts(run, {.index = index, .count = threads, .times_all = times_all}, {}, work);
  };
  for (int i = 1; i < threads; ++i) others.emplace_back(search, i);
  search(0);
  for (std::thread& other : others) other.join();
  for (int i = 1; i < threads; ++i) Merge(std::move(parts[static_cast<size_t>(i)]), parts[0]);
  return std::move(parts[0]);
}

void Search(benchmark::State& state, const RunSpec& run, int threads = 1, bool times_all = false) {
  int64_t considered = 0;
  int64_t legal = 0;
  for (auto _ : state) {
    const SearchOutcome found = Found(run, threads, times_all);
    const auto pruned = [&found](Pruned why) { return found.pruned[static_cast<size_t>(why)]; };
    considered += found.considered;
    legal += found.considered - pruned(Pruned::kBatch) - pruned(Pruned::kRounds);
  }
  state.SetItemsProcessed(legal);
  using Counter = benchmark::Counter;
  const auto each = [](int64_t count) {
    return Counter(static_cast<double>(count), Counter::kAvgIterations);
  };
  state.counters["considered"] = each(considered);
  state.counters["legal"] = each(legal);
}
BENCHMARK_CAPTURE(Search, llama_70b, RunOn("llama-3.1-70b", 64, 128))->Name("Search/llama_70b");
BENCHMARK_CAPTURE(Search, llama_8b, RunOn("llama-3.1-8b", 64, 128))->Name("Search/llama_8b");
// A mixture of experts.
BENCHMARK_CAPTURE(Search, qwen3, RunOn("qwen3-30b-a3b", 64, 512))->Name("Search/qwen3_30b_a3b");
BENCHMARK_CAPTURE(Search, case_a, CaseA())->Name("Search/case_a");
BENCHMARK_CAPTURE(Search, case_a_all, CaseA(), 1, true)->Name("Search/case_a_times_all");
BENCHMARK_CAPTURE(Search, case_a_two, CaseA(), 2, true)
    ->Name("Search/case_a_times_all_two_threads")
    ->UseRealTime();
BENCHMARK_CAPTURE(Search, case_a_kernels, CaseAOfAllKernels())->Name("Search/case_a_kernels");
BENCHMARK_CAPTURE(Search, case_a_kernels_all, CaseAOfAllKernels(), 1, true)
    ->Name("Search/case_a_kernels_times_all");
// A small one, for counting instructions.
BENCHMARK_CAPTURE(Search, once, RunOn("llama-3.1-8b", 16, 32))->Name("SearchOnce")->Iterations(1);

}  // namespace
}  // namespace sextant
