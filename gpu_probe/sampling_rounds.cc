#include "gpu_probe/sampling_rounds.h"

#include <algorithm>
#include <map>
#include <string>

#include "gpu_probe/statistics.h"

namespace sextant::probe {
namespace {

bool IsInPhaseGroup(const Point& point) { return !point.first || point.pass_count > 1; }

using PhaseKey = std::pair<int, std::string>;

PhaseKey KeyOf(const Point& point) { return {point.level, point.phase}; }

// A group for each phase of each level, in the plan's order. A first point whose others are visited
// once is measured again by itself, apart from them.
std::vector<Group> PhasesOf(const std::vector<Point>& points) {
  std::map<PhaseKey, int> passes_of_others;
  for (const Point& point : points) {
    int& most = passes_of_others[KeyOf(point)];
    if (!point.first) most = std::max(most, point.pass_count);
  }
  std::vector<Group> groups;
  std::map<std::pair<PhaseKey, bool>, size_t> group_of_phase;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!IsInPhaseGroup(points[i])) continue;
    const PhaseKey key = KeyOf(points[i]);
    const bool apart = points[i].first && passes_of_others[key] == 1;
    const auto [found, is_new] = group_of_phase.try_emplace({key, apart}, groups.size());
    if (is_new) groups.push_back({.points = {}, .level = points[i].level});
    Group& group = groups[found->second];
    group.points.push_back(i);
    group.pass_count = std::max(group.pass_count, points[i].pass_count);
  }
  return groups;
}

// The order of phases.
enum class Rank { kOnce, kSeveralPasses, kFirstPointsAgain };

Rank RankOf(const Group& group, const std::vector<Point>& points) {
  const auto any = [&](const auto& holds) {
    return std::any_of(group.points.begin(), group.points.end(),
                       [&](size_t i) { return holds(points[i]); });
  };
  if (!any([](const Point& point) { return !point.first; })) return Rank::kFirstPointsAgain;
  const bool sustained = any([](const Point& point) { return point.sustained_seconds > 0; });
  return group.pass_count > 1 || sustained ? Rank::kSeveralPasses : Rank::kOnce;
}

}  // namespace

std::vector<Group> GroupsOf(const std::vector<Point>& points) {
  std::vector<Group> phases = PhasesOf(points);
  std::stable_sort(phases.begin(), phases.end(), [&](const Group& x, const Group& y) {
    return std::make_pair(x.level, RankOf(x, points)) < std::make_pair(y.level, RankOf(y, points));
  });
  const int lowest_level = phases.empty() ? 0 : phases.front().level;
  std::vector<Group> groups;
  std::string shared_phase;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!points[i].first) continue;
    groups.push_back({.points = {i}, .level = lowest_level, .first = true});
    shared_phase = points[i].phase;
  }
  std::stable_partition(phases.begin(), phases.end(), [&](const Group& phase) {
    return !groups.empty() && phase.level == lowest_level &&
           points[phase.points.front()].phase == shared_phase &&
           RankOf(phase, points) != Rank::kFirstPointsAgain;
  });
  groups.insert(groups.end(), phases.begin(), phases.end());
  return groups;
}

std::vector<Visit> VisitsOf(const Group& group, const std::vector<Point>& points, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Visit> visits;
  for (int pass = 0; pass < group.pass_count; ++pass) {
    std::vector<size_t> order;
    for (const size_t i : group.points) {
      const bool had = points[i].first && !group.first && pass == 0;
      if (!had && pass < std::max(points[i].pass_count, 1)) order.push_back(i);
    }
    if (group.pass_count > 1) Shuffle(random, &order);
    for (const size_t i : order) visits.push_back({.point = i, .pass = pass});
  }
  return visits;
}

VisitQuota QuotaOf(int pass_count) {
  const size_t passes = static_cast<size_t>(std::max(pass_count, 1));
  return {.minimum = (kMinSampleCount + passes - 1) / passes,
          .maximum = (kMaxSampleCount + passes - 1) / passes};
}

}  // namespace sextant::probe
