// What all of the host's workloads share.
#ifndef SEXTANT_GPU_PROBE_HOST_HOST_CONTEXT_H_
#define SEXTANT_GPU_PROBE_HOST_HOST_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/optional.h"
#include "gpu_probe/host/cpu_features.h"
#include "gpu_probe/host/matmul_engine.h"
#include "gpu_probe/host/memory_budget.h"
#include "gpu_probe/host/thread_team.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

struct HostContext {
  CpuFeatures features = {};
  absl::optional<int64_t> cache_bytes = {};  // last level
  std::unique_ptr<ThreadTeam> team = {};
  std::unique_ptr<MemoryBudget> memory = {};
  std::unique_ptr<MatmulEngine> onednn = {};  // null where there is none
  std::unique_ptr<MatmulEngine> builtin = {};
};

// Workloads keep it alive.
using SharedContext = std::shared_ptr<HostContext>;

// `time` of one run, as that of `run_count` runs that make up one pass.
v1::TimeStatistics TimeOfPass(const v1::TimeStatistics& time, double run_count);

// Adds `note` unless it is there already.
void AddNote(const std::string& note, v1::Calibration* out);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_HOST_CONTEXT_H_
