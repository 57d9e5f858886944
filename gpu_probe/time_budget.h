// Divides the time up to the soft deadline. All times are seconds by one clock.
#ifndef SEXTANT_GPU_PROBE_TIME_BUDGET_H_
#define SEXTANT_GPU_PROBE_TIME_BUDGET_H_

#include <map>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "gpu_probe/point.h"
#include "gpu_probe/sampling_rounds.h"

namespace sextant::probe {

// The time that a group could use.
struct GroupWish {
  double sampling_seconds = 0;   // for all samples of its points, as far as known
  double sustained_seconds = 0;  // of its sustained points
  double useful_seconds = 0;     // for the fewest points that are useful: 0 where each one is
  int level = 0;
  bool first = false;  // a first point
  bool once = false;   // its points are visited once
};

// `costs_seconds`: for each point of `points`, the time of preparing it and of all its samples.
GroupWish WishOf(const Group& group, const std::vector<Point>& points,
                 absl::Span<const double> costs_seconds);

// The time by which the groups of the first wish's level should have ended. A level takes the time
// it wants, but time for sustained points and for useful_seconds of later levels is kept, in their
// order, up to a share of the time left.
double LevelEndSeconds(absl::Span<const GroupWish> wishes_left, double now_seconds,
                       double soft_deadline_seconds);

// The time by which the first of the remaining groups, all of one level, should have ended. Each
// gets time in proportion to its samples' time. First points, the most important ones, together get
// at least two fifths of the time; after them groups whose points are visited once, whose workloads
// may take long to make, get up to three fifths of it, and what they don't use goes to the others.
// Sustained points get all they want, if that leaves half of the time to the rest.
double GroupEndSeconds(absl::Span<const GroupWish> wishes_left, double now_seconds,
                       double soft_deadline_seconds);

// The time by which groups that are visited once must have ended, even where making their workloads
// takes long: three fifths of the time where there are other groups.
double OnceEndSeconds(absl::Span<const GroupWish> wishes_left, double now_seconds,
                      double soft_deadline_seconds);

// The seconds of the first of several visits that share `left_seconds`: each gets time in
// proportion to its cost in seconds, so that all get about as many samples. An absent cost, which
// is not known yet, counts as the mean of the others.
double VisitSeconds(absl::Span<const absl::optional<double>> costs_seconds, double left_seconds);

// The best rates seen so far. They bound the time of a point that was never run from below.
class BestRates {
 public:
  // Records that one run of `point` took `seconds`, above 0.
  void Note(const Point& point, double seconds);

  // The least seconds of one run of `point`: at the best rate of its phase, or, where nothing of
  // that phase has run yet, at the best rate in its unit. Absent where neither is known.
  absl::optional<double> LeastSeconds(const Point& point) const;

 private:
  std::map<std::string, double> best_of_phase_;  // work a second
  std::map<std::string, double> best_of_unit_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_TIME_BUDGET_H_
