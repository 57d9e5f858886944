// Runs on H100s whose layout a test, or a search, chooses.
#ifndef SEXTANT_TESTS_ENGINE_RUN_H100_RUNS_H_
#define SEXTANT_TESTS_ENGINE_RUN_H100_RUNS_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/run/run_spec.h"

namespace sextant {

// On servers of 8 H100s, of no framework; `sequences` are a step's.
inline RunSpec RunOnH100s(absl::string_view preset, int64_t devices, int64_t sequences,
                          int64_t length = 4096) {
  RunSpec run;
  run.model.preset = preset;
  run.training.token_count = 1'000'000'000'000;
  run.training.sequence_length = length;
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.device_count = devices;
  run.cluster.node_type = "dgx-h100";
  run.layout.emplace();
  run.layout->global_batch_size = sequences;
  return run;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_RUN_H100_RUNS_H_
