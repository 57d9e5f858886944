// Converts measured points into a calibration, or into the reason why there is none.
#ifndef SEXTANT_GPU_PROBE_MEASURE_RESULTS_H_
#define SEXTANT_GPU_PROBE_MEASURE_RESULTS_H_

#include <vector>

#include "absl/status/status.h"
#include "gpu_probe/measure.h"
#include "gpu_probe/sampler.h"
#include "gpu_probe/time_budget.h"

namespace sextant::probe {

// `states` are in the order of the plan's points.

// kDeadlineExceeded where all points are essential and one that was never run can't possibly end
// before the soft deadline; names the shape's time and the budget to give.
absl::Status CheckEssentialCanEnd(const std::vector<PointState>& states, const ProbePlan& plan,
                                  const MeasureOptions& options, const BestRates& rates,
                                  double now_seconds);

// kDeadlineExceeded where an essential point was not measured; where no point could be made, the
// first one's error.
absl::Status CheckEssentialMeasured(const std::vector<PointState>& states, const ProbePlan& plan,
                                    const MeasureOptions& options);

// The results, valid where CheckEssentialMeasured() is OK. Without duration_seconds.
Measurement ResultsOf(const std::vector<PointState>& states, const ProbePlan& plan,
                      const MeasureOptions& options);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_MEASURE_RESULTS_H_
