// Shares out the time to the soft deadline. All times are seconds by one clock.
#ifndef SEXTANT_GPU_PROBE_TIME_SHARE_H_
#define SEXTANT_GPU_PROBE_TIME_SHARE_H_

#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "gpu_probe/point.h"
#include "gpu_probe/visit_plan.h"

namespace sextant {

// When the first of `groups_left` should have ended. Each group gets time by its number of
// points; those of first points, on which most stands, together at least two fifths of it.
// Sustained points get as long as they want, so long as that leaves half of the time to the rest.
double GroupEndSeconds(absl::Span<const Group> groups_left, const std::vector<Point>& points,
                       double now_seconds, double soft_deadline_seconds);

// What the first of several visits may take of the `left_seconds` that they have together: each
// gets time by its cost in seconds, so that all get about as many samples. A cost that is not
// known yet, absent, counts like the mean of the others.
double VisitSeconds(absl::Span<const absl::optional<double>> costs_seconds, double left_seconds);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_TIME_SHARE_H_
