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
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

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

using MakeStream = std::function<absl::StatusOr<std::unique_ptr<Workload>>(const StreamPass& pass)>;

Point StreamPoint(const StreamPass& pass, const MakeStream& make);

// All operations on arrays of `copy`'s size, the copy first; in QUICK the copy alone.
std::vector<Point> MainMemoryPoints(v1::ProbeMode mode, const StreamPass& copy,
                                    const MakeStream& make);

// Multiply-adds on every element of an fp32 array in place: `fewest`, twice as many, and so on to
// `most`. The ridge is computed from the two ends (derived_figures.h).
struct Ladder {
  int64_t fewest = 1;
  int64_t most = 1;
  int64_t array_bytes = 0;
  int64_t segment_count = 1;
};
std::vector<Point> LadderPoints(
    const Ladder& ladder,
    const std::function<absl::StatusOr<std::unique_ptr<Workload>>(int64_t multiply_add_count)>&
        make);

// The chain of fusion_chain.h in one pass an operation, and in one fused pass.
std::vector<Point> FusionPair(
    int64_t array_bytes,
    const std::function<absl::StatusOr<std::unique_ptr<Workload>>(bool fused)>& make);

// The statistics of a pass that takes `run_count` runs, from `time` of one run.
v1::TimeStatistics TimeOfPass(const v1::TimeStatistics& time, double run_count);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_POINTS_MEMORY_H_
