#include "gpu_probe/visit_plan.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "gpu_probe/shuffle.h"
#include "gpu_probe/statistics.h"

namespace sextant {

std::vector<Group> GroupsOf(const std::vector<Point>& points) {
  std::vector<Group> groups;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].first) groups.push_back({.points = {i}, .first = true});
  }
  const size_t first_count = groups.size();
  std::map<std::string, size_t> group_of_phase;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].first) continue;
    const auto [found, is_new] = group_of_phase.try_emplace(points[i].phase, groups.size());
    if (is_new) groups.emplace_back();
    Group& group = groups[found->second];
    group.points.push_back(i);
    group.pass_count = std::max(group.pass_count, points[i].pass_count);
  }
  if (first_count == 0) return groups;
  const auto next = group_of_phase.find(points[groups[first_count - 1].points.front()].phase);
  if (next == group_of_phase.end()) return groups;
  const auto begin = groups.begin() + static_cast<ptrdiff_t>(first_count);
  const auto found = groups.begin() + static_cast<ptrdiff_t>(next->second);
  std::rotate(begin, found, found + 1);
  return groups;
}

std::vector<Visit> VisitsOf(const Group& group, const std::vector<Point>& points, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Visit> visits;
  for (int pass = 0; pass < group.pass_count; ++pass) {
    std::vector<size_t> order;
    for (const size_t i : group.points) {
      if (pass < std::max(points[i].pass_count, 1)) order.push_back(i);
    }
    if (group.pass_count > 1) Shuffle(random, &order);
    for (const size_t i : order) visits.push_back({.point = i, .pass = pass});
  }
  return visits;
}

VisitQuota QuotaOf(int pass_count) {
  const size_t passes = static_cast<size_t>(std::max(pass_count, 1));
  return {.minimum = (kMinimumSampleCount + passes - 1) / passes,
          .maximum = (kMaximumSampleCount + passes - 1) / passes};
}

}  // namespace sextant
