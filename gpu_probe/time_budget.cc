#include "gpu_probe/time_budget.h"

#include <algorithm>

namespace sextant::probe {
namespace {

// The least share of the time left for all first points together.
constexpr double kFirstShare = 0.4;

// The share of the time left that sustained points may claim before the others get theirs.
constexpr double kMaxSustainedShare = 0.5;

// The largest share of the time left that is kept for later levels. Chosen by
// tests/gpu_probe/cuda/schedule_test.cc: enough for 24 shapes of fp8 where the start takes 2.5 s
// and each kernel 15 ms to load.
constexpr double kMaxKeptShare = 0.55;
// Factor on the kept time: a point that was begun in time ends a little later.
constexpr double kKeptMargin = 1.1;

// A sustained point's total time over its own, for warming up, ending its last slice, and checking.
constexpr double kSustainedMargin = 1.2;

// The largest share of the time left for groups that are visited once.
constexpr double kOnceShare = 0.6;

}  // namespace

GroupWish WishOf(const Group& group, const std::vector<Point>& points,
                 absl::Span<const double> costs_seconds) {
  GroupWish wish = {
      .level = group.level, .first = group.first, .once = !group.first && group.pass_count == 1};
  double fewest_useful = 1;
  for (const size_t i : group.points) {
    if (points[i].sustained_seconds > 0) {
      wish.sustained_seconds += kSustainedMargin * points[i].sustained_seconds;
    } else {
      wish.sampling_seconds += costs_seconds[i];
    }
    fewest_useful = std::max<double>(fewest_useful, points[i].fewest_useful);
  }
  if (wish.sampling_seconds == 0) wish.once = false;
  if (fewest_useful > 1 && !group.first) {
    const double share = fewest_useful / static_cast<double>(group.points.size());
    wish.useful_seconds = std::min(share, 1.0) * wish.sampling_seconds;
  }
  return wish;
}

double LevelEndSeconds(absl::Span<const GroupWish> wishes_left, double now_seconds,
                       double soft_deadline_seconds) {
  const double left_seconds = soft_deadline_seconds - now_seconds;
  const int level = wishes_left.front().level;
  double own_seconds = 0;  // reserved for the level itself
  for (const GroupWish& wish : wishes_left) {
    if (wish.level == level) own_seconds += wish.useful_seconds;
  }
  const double most_seconds = std::min(kMaxKeptShare * left_seconds, left_seconds - own_seconds);
  double kept_seconds = 0;
  for (const GroupWish& wish : wishes_left) {
    const double wanted_seconds = wish.sustained_seconds + kKeptMargin * wish.useful_seconds;
    if (wish.level != level && kept_seconds + wanted_seconds <= most_seconds) {
      kept_seconds += wanted_seconds;
    }
  }
  return soft_deadline_seconds - kept_seconds;
}

double GroupEndSeconds(absl::Span<const GroupWish> wishes_left, double now_seconds,
                       double soft_deadline_seconds) {
  GroupWish all;
  double first_count = 0;
  double once_count = 0;
  for (const GroupWish& wish : wishes_left) {
    all.sampling_seconds += wish.sampling_seconds;
    all.sustained_seconds += wish.sustained_seconds;
    if (wish.first) ++first_count;
    if (wish.once) ++once_count;
  }
  if (all.sampling_seconds == 0) return soft_deadline_seconds;
  const double left_seconds = soft_deadline_seconds - now_seconds;
  const bool granted = all.sustained_seconds <= kMaxSustainedShare * left_seconds;
  const GroupWish& own = wishes_left.front();
  const double shared_seconds = left_seconds - (granted ? all.sustained_seconds : 0);
  double share = own.sampling_seconds / all.sampling_seconds;
  if (own.first) share = std::max(share, kFirstShare / first_count);
  if (own.once) share = std::max(share, kOnceShare / once_count);
  return now_seconds + (granted ? own.sustained_seconds : 0) + shared_seconds * share;
}

double OnceEndSeconds(absl::Span<const GroupWish> wishes_left, double now_seconds,
                      double soft_deadline_seconds) {
  const bool alone = std::all_of(wishes_left.begin(), wishes_left.end(),
                                 [](const GroupWish& wish) { return wish.first || wish.once; });
  if (alone) return soft_deadline_seconds;
  return now_seconds + kOnceShare * (soft_deadline_seconds - now_seconds);
}

double VisitSeconds(absl::Span<const absl::optional<double>> costs_seconds, double left_seconds) {
  double known_seconds = 0;
  double known_count = 0;
  for (const absl::optional<double>& cost : costs_seconds) {
    if (!cost.has_value()) continue;
    known_seconds += *cost;
    ++known_count;
  }
  const double typical_seconds = known_seconds > 0 ? known_seconds / known_count : 1;
  const double unknown_count = static_cast<double>(costs_seconds.size()) - known_count;
  const double total_seconds = known_seconds + unknown_count * typical_seconds;
  if (total_seconds <= 0) return left_seconds;
  return left_seconds * costs_seconds.front().value_or(typical_seconds) / total_seconds;
}

void BestRates::Note(const Point& point, double seconds) {
  if (point.work <= 0) return;
  const double rate = point.work / seconds;
  double& of_phase = best_of_phase_[point.phase];
  of_phase = std::max(of_phase, rate);
  double& of_unit = best_of_unit_[point.unit];
  of_unit = std::max(of_unit, rate);
}

absl::optional<double> BestRates::LeastSeconds(const Point& point) const {
  if (const auto found = best_of_phase_.find(point.phase); found != best_of_phase_.end()) {
    return point.work / found->second;
  }
  if (const auto found = best_of_unit_.find(point.unit); found != best_of_unit_.end()) {
    return point.work / found->second;
  }
  return absl::nullopt;
}

}  // namespace sextant::probe
