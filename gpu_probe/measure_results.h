// From measured points to a calibration, or to the reason why there is none.
#ifndef SEXTANT_GPU_PROBE_MEASURE_RESULTS_H_
#define SEXTANT_GPU_PROBE_MEASURE_RESULTS_H_

#include <vector>

#include "absl/status/status.h"
#include "gpu_probe/measure.h"
#include "gpu_probe/point_state.h"
#include "gpu_probe/rate_book.h"

namespace sextant {

// States are in the order of the plan's points, in all that follows.

// kDeadlineExceeded where all points are essential and one that was never run can't end before
// the soft deadline, whatever happens: it names the shape's time and the budget to give.
absl::Status CheckEssentialCanEnd(const std::vector<PointState>& states, const ProbePlan& plan,
                                  const MeasureOptions& options, const RateBook& rates,
                                  double now_seconds);

// kDeadlineExceeded where an essential point was not measured; where not one point could be
// made, why the first could not.
absl::Status CheckEssentialMeasured(const std::vector<PointState>& states, const ProbePlan& plan,
                                    const MeasureOptions& options);

// What is measured, for as far as CheckEssentialMeasured() is OK. Without duration_seconds.
Measurement ResultsOf(const std::vector<PointState>& states, const ProbePlan& plan,
                      const MeasureOptions& options);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_MEASURE_RESULTS_H_
