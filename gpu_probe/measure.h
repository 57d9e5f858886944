// Measures the points of a plan, as well as the time allows.
//
// The points marked `first` come first, each on its own; then the others, a phase at a time.
// The workloads of a phase live together, and with the last first point where that is of it.
// A phase whose points want several passes is gone over that often, each time in a new order,
// so that drift and neighbours' work fall on all points alike. Time is shared out over what is
// left to do: every point gets one sample before any gets all. docs/probe.md has the rules.
#ifndef SEXTANT_GPU_PROBE_MEASURE_H_
#define SEXTANT_GPU_PROBE_MEASURE_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

struct MeasureOptions {
  double start_seconds = 0;   // by the clock: when the probe started
  double budget_seconds = 0;  // from then on: no sample starts that would end after it
  double ending_seconds = 0;  // of the budget, that ending takes after the last sample
  // Whether each point is essential, as where the shapes were asked for. Otherwise those
  // marked `first` are, and at least one where none is.
  bool all_essential = false;
  uint64_t shuffle_seed = 0;
};

struct Measurement {
  // All that measuring tells: no schema_version, measured_time, probe_version, mode.
  v1::Calibration calibration;
  // Why the first point that could not be made was left out; OK where none was.
  absl::Status left_out;
};

// Is told how far the measurement is. False stops it.
using ProgressSink = std::function<bool(const v1::ProbeProgress&)>;

// Errors:
//   kDataLoss          a result was wrong
//   kDeadlineExceeded  an essential point was not measured, or can't be in the time that is left
//   kCancelled         `sink` said so
//   kInternal          the clock stands
//   make()'s           where not one point could be made
absl::StatusOr<Measurement> Measure(const ProbePlan& plan, const MeasureOptions& options,
                                    Clock& clock, const ProgressSink& sink);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_MEASURE_H_
