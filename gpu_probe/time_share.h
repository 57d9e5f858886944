// Shares out the time to the soft deadline. All times are seconds by one clock.
#ifndef SEXTANT_GPU_PROBE_TIME_SHARE_H_
#define SEXTANT_GPU_PROBE_TIME_SHARE_H_

#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "gpu_probe/point.h"
#include "gpu_probe/visit_plan.h"

namespace sextant {

// When the first of `groups_left` should have ended: each group gets time by its number of
// points, and a sustained point as long as it wants, so long as those leave half of the time to
// the rest.
double GroupEndSeconds(absl::Span<const Group> groups_left, const std::vector<Point>& points,
                       double now_seconds, double soft_deadline_seconds);

// When the first of several visits should have ended: each gets time by its cost in seconds,
// so that all get about as many samples. A cost that is not known yet, absent, counts like the
// mean of the others.
double VisitEndSeconds(absl::Span<const absl::optional<double>> costs_seconds, double now_seconds,
                       double group_end_seconds);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_TIME_SHARE_H_
