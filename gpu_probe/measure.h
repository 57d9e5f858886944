// Measures the points of a plan, as well as the time allows.
//
// The points marked `first` come first, each on its own; then the others, one phase at a time. The
// workloads of a phase live together, and with the last first point's where that is of the phase. A
// phase whose points want several passes is measured that often, each time in a new order, so that
// drift and other processes' load affect all points alike. Time is shared among the remaining work:
// every point gets one sample before any gets all. docs/probe.md has the rules.
#ifndef SEXTANT_GPU_PROBE_MEASURE_H_
#define SEXTANT_GPU_PROBE_MEASURE_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

struct MeasureOptions {
  double start_seconds = 0;   // when the probe started, by the clock
  double budget_seconds = 0;  // from then on: no sample starts that would end later
  double ending_seconds = 0;  // part of the budget for what follows the last sample
  // True where each point is essential, as where the user asked for the shapes. Otherwise those
  // marked `first` are essential, or, where there are none, at least one point.
  bool all_essential = false;
  uint64_t shuffle_seed = 0;
};

struct Measurement {
  // All measured figures, without schema_version, measured_time, probe_version, mode.
  v1::Calibration calibration;
  // Why the first point that could not be prepared was left out; OK where none was.
  absl::Status left_out;
};

// Receives the progress of the measurement. Returning false stops it.
using ProgressSink = std::function<bool(const v1::ProbeProgress&)>;

// Errors:
//   kDataLoss          a result was wrong
//   kDeadlineExceeded  an essential point was not measured, or can't be in the time left
//   kCancelled         `sink` stopped it
//   kInternal          the clock stands still
//   make()'s           where no point could be made
absl::StatusOr<Measurement> Measure(const ProbePlan& plan, const MeasureOptions& options,
                                    Clock& clock, const ProgressSink& sink);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_MEASURE_H_
