// The state that all of the host's workloads share, and the size of arrays that exceed all caches.
#ifndef SEXTANT_GPU_PROBE_HOST_HOST_CONTEXT_H_
#define SEXTANT_GPU_PROBE_HOST_HOST_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gpu_probe/host/cpu_features.h"
#include "gpu_probe/host/matmul_engine.h"
#include "gpu_probe/host/memory_budget.h"
#include "gpu_probe/host/thread_team.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

struct HostContext {
  CpuFeatures features = {};
  absl::optional<int64_t> cache_bytes = {};  // last level
  std::unique_ptr<ThreadTeam> team = {};
  std::unique_ptr<MemoryBudget> memory = {};
  std::unique_ptr<MatmulEngine> onednn = {};  // null where there is none
  std::unique_ptr<MatmulEngine> builtin = {};
};

// Shared by the workloads, which keep it alive.
using SharedContext = std::shared_ptr<HostContext>;

// The statistics of a pass that takes `run_count` runs, from `time` of one run.
v1::TimeStatistics TimeOfPass(const v1::TimeStatistics& time, double run_count);

// Adds `note` unless it is there already.
void AddNote(const std::string& note, v1::Calibration* out);

// Arrays of that size are processed in this many segments, one a run, so that a sample is short and
// no segment is repeated before all others were processed.
inline constexpr int64_t kSegmentCount = 16;

struct ArraysWanted {
  int array_count = 1;
  double cache_multiple = 4;  // size of the arrays, in last-level caches
  int64_t minimum_bytes = 0;  // and at least this, where the cap allows
};

// Bytes of each of `wanted.array_count` arrays that together fit into the memory cap: a multiple of
// a page.
//
// Errors: kResourceExhausted where the cap is too low, or, on a host whose cache is not known, too
// low for 1 GiB each.
absl::StatusOr<int64_t> ArrayBytes(const ArraysWanted& wanted, const HostContext& context);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_HOST_CONTEXT_H_
