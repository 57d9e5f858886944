// Runs on H100s whose layout a test, or a search, chooses.
#ifndef SEXTANT_TESTS_ENGINE_RUN_H100_RUNS_H_
#define SEXTANT_TESTS_ENGINE_RUN_H100_RUNS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/run/run_spec.h"

namespace sextant {

inline RunSpec OnH100s(int64_t devices, int64_t tokens) {
  RunSpec run;
  run.training.token_count = tokens;
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.device_count = devices;
  return run;
}

// On servers of 8 H100s, of no framework; `sequences` are a step's.
inline RunSpec RunOnH100s(absl::string_view preset, int64_t devices, int64_t sequences,
                          int64_t length = 4096) {
  RunSpec run = OnH100s(devices, 1'000'000'000'000);
  run.model.preset = preset;
  run.training.sequence_length = length;
  run.cluster.node_type = "dgx-h100";
  run.layout.emplace();
  run.layout->global_batch_size = sequences;
  return run;
}

// Llama 3.1 70B on 64 H100s: TP8 PP4, of no framework and of no known server.
inline RunSpec Tp8Pp4() {
  RunSpec run = RunOnH100s("llama-3.1-70b", 64, 64, 8192);
  run.cluster.node_type = "";
  run.layout->parallel.tensor_parallel_size = 8;
  run.layout->parallel.pipeline_parallel_size = 4;
  return run;
}

// All sizes of `layout`, each given.
inline ParallelSizes AsGiven(const ParallelLayout& layout) {
  ParallelSizes out;
  out.split_key_value_heads = layout.split_key_value_heads;
  out.layers_per_chunk = layout.layers_per_chunk;
  ForEachSize(layout, out, [](int64_t size, absl::optional<int64_t>& given) { given = size; });
  return out;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_RUN_H100_RUNS_H_
