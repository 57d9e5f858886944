#include "gpu_probe/time_share.h"

#include <algorithm>

namespace sextant {
namespace {

// The least share of the time left for all first points together.
constexpr double kFirstShare = 0.4;

// The share of the time left that sustained points may claim before the others get theirs.
constexpr double kMaximumSustainedShare = 0.5;

// What a sustained point takes over its time: to warm up, to end its last slice, to check.
constexpr double kSustainedMargin = 1.2;

struct Wish {
  double point_count = 0;  // that take what they get
  double sustained_seconds = 0;
};

Wish WishOf(const Group& group, const std::vector<Point>& points) {
  Wish wish;
  for (const size_t i : group.points) {
    if (points[i].sustained_seconds > 0) {
      wish.sustained_seconds += kSustainedMargin * points[i].sustained_seconds;
    } else {
      ++wish.point_count;
    }
  }
  return wish;
}

}  // namespace

double GroupEndSeconds(absl::Span<const Group> groups_left, const std::vector<Point>& points,
                       double now_seconds, double soft_deadline_seconds) {
  Wish all;
  double first_count = 0;
  for (const Group& group : groups_left) {
    const Wish wish = WishOf(group, points);
    all.point_count += wish.point_count;
    all.sustained_seconds += wish.sustained_seconds;
    if (group.first) ++first_count;
  }
  if (all.point_count == 0) return soft_deadline_seconds;
  const double left_seconds = soft_deadline_seconds - now_seconds;
  const bool granted = all.sustained_seconds <= kMaximumSustainedShare * left_seconds;
  const Wish own = WishOf(groups_left.front(), points);
  const double shared_seconds = left_seconds - (granted ? all.sustained_seconds : 0);
  double share = own.point_count / all.point_count;
  if (groups_left.front().first) share = std::max(share, kFirstShare / first_count);
  return now_seconds + (granted ? own.sustained_seconds : 0) + shared_seconds * share;
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

}  // namespace sextant
