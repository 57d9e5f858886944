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

// A sample is as many runs in a row as last this long: the clock's 30 ns, a thread's start and
// the system's timer tick are then small against it.
inline constexpr double kMinimumSampleSeconds = 1e-3;

// Instants of a sustained sample, of which the second half counts.
enum class SustainedMoment { kBegins, kCounts, kEnds };

// One figure of the calibration.
struct Point {
  std::string phase;  // "matmul bf16": points of one phase are measured together
  std::string label;  // "bf16 1024x1024x1024"
  double work = 0;    // FLOPs or bytes of one run, for the figure that progress shows
  std::string unit;   // "FLOP/s" or "B/s"

  // Measured first, so that a run cut short still has one figure of each kind. Where it has
  // several passes only its first is; the others are its phase's.
  bool first = false;
  // All points of a lower level come before those of a higher one.
  int level = 0;
  // How many points of its phase and level are of use together: where there is no time for so many
  // none is begun. Time for so many is kept while lower levels are measured.
  int fewest_useful = 1;
  // Whether fewer than those are of no use at all, and are not recorded.
  bool useless_alone = false;
  // Seconds that preparing it is taken to need while no point of its phase was prepared. High where
  // it is not known: a deadline is kept by what is not begun.
  double assumed_preparation_seconds = 0;
  // In how many shuffled passes its samples are taken; above 1 the phase tells drift.
  int pass_count = 1;
  // Where above 0: one sample that runs for this long without a pause, and that counts only
  // the second half of it (a sustained rate).
  double sustained_seconds = 0;

  // How long a sample lasts at least: less where the device has a clock of its own.
  double minimum_sample_seconds = kMinimumSampleSeconds;

  // Allocates and fills; called once, just before the first sample. kResourceExhausted or
  // kUnimplemented: the point is left out, and the message becomes a note.
  std::function<absl::StatusOr<std::unique_ptr<Workload>>()> make;
  // Writes the point into the calibration.
  std::function<void(const v1::TimeStatistics& time, v1::Calibration* out)> record;
  // Called at each moment of a sustained sample, when no work is queued. May be empty.
  std::function<absl::Status(SustainedMoment moment)> on_sustained = {};
};

// All that is measured on one device.
struct ProbePlan {
  v1::Device device;
  std::vector<Point> points;
  // What is computed from the figures (ridge, ratios) once they are all there. Figures may be
  // missing: a deadline cuts points off.
  std::function<void(v1::Calibration* out)> finish;
  std::vector<std::string> notes;

  // Seconds from the last sample to the end of the process, such as a driver takes.
  double ending_seconds = 0;

  // Whether the device may be worked on further: asked before visits, every kGuardSeconds at most,
  // and once at the end. What is not OK ends the measurement. Empty: it always may.
  std::function<absl::Status()> may_go_on = {};
};

// Between two questions of may_go_on(): it may take a driver's time, of which the device has part.
inline constexpr double kGuardSeconds = 0.5;

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_POINT_H_
