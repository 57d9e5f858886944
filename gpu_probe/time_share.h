// Shares out the time to the soft deadline. All times are seconds by one clock.
#ifndef SEXTANT_GPU_PROBE_TIME_SHARE_H_
#define SEXTANT_GPU_PROBE_TIME_SHARE_H_

#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "gpu_probe/point.h"
#include "gpu_probe/visit_plan.h"

namespace sextant {

// The time that a group wants.
struct GroupWish {
  double sampling_seconds = 0;   // for all samples of its points, as far as that can be told
  double sustained_seconds = 0;  // of its sustained points
  double useful_seconds = 0;     // for as few points as are of use: 0 where each one is
  int level = 0;
  bool first = false;  // a first point
  bool once = false;   // its points are visited once
};

// `costs_seconds`: the time that preparing each point of `points` and all its samples take.
GroupWish WishOf(const Group& group, const std::vector<Point>& points,
                 absl::Span<const double> costs_seconds);

// By when the groups of the first wish's level should have ended. A level takes what it wants, but
// keeps time for sustained points and for useful_seconds of later levels, in their order, as far as
// those together are no more than a share of the time left.
double LevelEndSeconds(absl::Span<const GroupWish> wishes_left, double now_seconds,
                       double soft_deadline_seconds);

// When the first of the groups whose wishes are left, all of one level, should have ended. Each
// gets time by what its samples take. First points, on which most stands, get together at least two
// fifths of it; after them groups whose points are visited once, whose workloads may take long to
// make, get up to three fifths of it: what they leave is the others'. Sustained points get as long
// as they want, so long as that leaves half of the time to the rest.
double GroupEndSeconds(absl::Span<const GroupWish> wishes_left, double now_seconds,
                       double soft_deadline_seconds);

// By when the groups that are visited once must have ended, even where making their workloads
// takes long: they may have three fifths of the time where there are others.
double OnceEndSeconds(absl::Span<const GroupWish> wishes_left, double now_seconds,
                      double soft_deadline_seconds);

// What the first of several visits may take of the `left_seconds` that they have together: each
// gets time by its cost in seconds, so that all get about as many samples. A cost that is not
// known yet, absent, counts like the mean of the others.
double VisitSeconds(absl::Span<const absl::optional<double>> costs_seconds, double left_seconds);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_TIME_SHARE_H_
