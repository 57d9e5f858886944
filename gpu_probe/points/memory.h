// Passes over arrays as points of a plan: over memory and caches, the elementwise ladder, and the
// chain of fusion_chain.h. An array of 0 bytes is one that there is no memory for: its workload
// says so when it is made.
#ifndef SEXTANT_GPU_PROBE_POINTS_MEMORY_H_
#define SEXTANT_GPU_PROBE_POINTS_MEMORY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// Makes the workload of one of several points that differ in `What`.
template <typename What>
using MakeOne = std::function<absl::StatusOr<std::unique_ptr<Workload>>(const What& what)>;

// Makes workloads on arrays that all of them share, and that `create` makes of `array_bytes` each:
// where there is room for them.
template <typename What, typename Arrays>
MakeOne<What> OnArrays(
    const absl::StatusOr<int64_t>& array_bytes,
    const std::function<absl::StatusOr<std::shared_ptr<Arrays>>(int64_t array_bytes)>& create,
    const std::function<absl::StatusOr<std::unique_ptr<Workload>>(
        const What& what, const std::shared_ptr<Arrays>& arrays)>& make) {
  const auto shared = std::make_shared<SharedData<Arrays>>([=] {
    return array_bytes.ok() ? create(*array_bytes)
                            : absl::StatusOr<std::shared_ptr<Arrays>>(array_bytes.status());
  });
  return [=](const What& what) -> absl::StatusOr<std::unique_ptr<Workload>> {
    SEXTANT_ASSIGN_OR_RETURN(const std::shared_ptr<Arrays> arrays, shared->Get());
    return make(what, arrays);
  };
}

using StreamOperation = v1::StreamMeasurement::Operation;

// One pass over memory or a cache.
struct StreamPass {
  StreamOperation operation = v1::StreamMeasurement::OPERATION_COPY;
  int64_t array_bytes = 0;  // of each array
  bool main_memory = true;
  int64_t segment_count = 1;  // a run processes one of that many equal parts
};

// Bytes that a pass over arrays of `array_bytes` reads and writes.
double StreamBytes(StreamOperation operation, int64_t array_bytes);

Point StreamPoint(const StreamPass& pass, const MakeOne<StreamPass>& make);

// All operations on arrays of `copy`'s size, the copy first; in QUICK the copy alone.
std::vector<Point> MainMemoryPoints(v1::ProbeMode mode, const StreamPass& copy,
                                    const MakeOne<StreamPass>& make);

// Multiply-adds on every element of an fp32 array in place: `fewest`, twice as many, and so on to
// `most`, the number that `make` gets. The ridge is computed from the two ends.
struct Ladder {
  int64_t fewest = 1;
  int64_t most = 1;
  int64_t array_bytes = 0;
  int64_t segment_count = 1;
};
std::vector<Point> LadderPoints(const Ladder& ladder, const MakeOne<int64_t>& make);

// The chain of fusion_chain.h in one pass an operation, and in one fused pass. `make` gets
// true for that.
std::vector<Point> FusionPair(int64_t array_bytes, const MakeOne<bool>& make);

// Fills in the ridge where both ends of the ladder, `fewest` and `most` multiply-adds an element,
// were measured: without them neither rate is the highest.
void FillRidge(int64_t fewest, int64_t most, v1::Calibration* calibration);

// Fills in the speed-up by fusion; removes a chain of which only one half was measured.
void FillFusionSpeedup(v1::Calibration* calibration);

// The statistics of a pass that takes `run_count` runs, from `time` of one run.
v1::TimeStatistics TimeOfPass(const v1::TimeStatistics& time, double run_count);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_POINTS_MEMORY_H_
