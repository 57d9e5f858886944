// What a backend wants measured: points, each a workload and what its time is written to.
#ifndef SEXTANT_GPU_PROBE_POINT_H_
#define SEXTANT_GPU_PROBE_POINT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_probe/workload.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Passes of a point that is to be seen at several times: the third against the first tells drift.
inline constexpr int kRevisitPassCount = 3;

// One figure of the calibration.
struct Point {
  std::string phase;  // "matmul bf16": points of one phase are measured together
  std::string label;  // "bf16 1024x1024x1024"
  double work = 0;    // FLOPs or bytes of one run, for the figure that progress shows
  std::string unit;   // "FLOP/s" or "B/s"

  // Measured first, so that a run cut short still has one figure of each kind. Where it has
  // several passes only its first is; the others are its phase's.
  bool first = false;
  // In how many shuffled passes its samples are taken; above 1 the phase tells drift.
  int pass_count = 1;
  // Where above 0: one sample that runs for this long without a pause, and that counts only
  // the second half of it (a sustained rate).
  double sustained_seconds = 0;

  // Allocates and fills; called once, just before the first sample. kResourceExhausted or
  // kUnimplemented: the point is left out, and the message becomes a note.
  std::function<absl::StatusOr<std::unique_ptr<Workload>>()> make;
  // Writes the point into the calibration.
  std::function<void(const v1::TimeStatistics& time, v1::Calibration* out)> record;
};

// All that is measured on one device.
struct ProbePlan {
  v1::Device device;
  std::vector<Point> points;
  // What is computed from the figures (ridge, ratios) once they are all there. Figures may be
  // missing: a deadline cuts points off.
  std::function<void(v1::Calibration* out)> finish;
  std::vector<std::string> notes;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_POINT_H_
