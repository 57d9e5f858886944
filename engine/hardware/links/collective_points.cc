#include "engine/hardware/links/collective_points.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"

namespace sextant {
namespace {

std::string PathOf(size_t index) { return absl::StrCat("points[", index, "]"); }

void Check(const MeasuredCollective& point, size_t index, FieldViolations& violations) {
  const std::string path = PathOf(index);
  violations.RequireRange(path, "ranks", point.ranks, 2, kMostCollectiveRanks);
  violations.RequireRange(path, "bytes", point.bytes, 1, kMostCollectiveBytes);
  violations.RequireRange(path, "seconds", point.seconds,
                          {kLeastCollectiveSeconds, kMostCollectiveSeconds});
}

auto KeyOf(const MeasuredCollective& p) { return std::tuple(p.op, p.ranks, p.bytes); }

void CheckNeighbours(const SortedCollectives& all, FieldViolations& violations) {
  for (const CollectiveSeries& series : all) {
    if (series.times.size() > 1) continue;
    violations.Add("points",
                   absl::StrCat("have one size of ", CollectiveOpName(series.op), " among ",
                                series.ranks, " ranks: measure two or more, far apart"));
  }
}

}  // namespace

absl::StatusOr<SortedCollectives> SortCollectives(absl::Span<const MeasuredCollective> points) {
  FieldViolations violations;
  if (points.empty()) violations.Add("points", "are empty: give measured collectives");
  for (size_t i = 0; i < points.size(); ++i) Check(points[i], i, violations);
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return KeyOf(points[a]) < KeyOf(points[b]); });
  SortedCollectives out;
  for (size_t i = 0; i < order.size(); ++i) {
    const MeasuredCollective& point = points[order[i]];
    if (i > 0 && KeyOf(points[order[i - 1]]) == KeyOf(point)) {
      violations.Add(PathOf(order[i]), absl::StrCat("is the same call as ", PathOf(order[i - 1]),
                                                    ": give their median"));
    }
    if (out.empty() || out.back().op != point.op || out.back().ranks != point.ranks) {
      out.push_back({.op = point.op, .ranks = point.ranks, .times = {}});
    }
    out.back().times.push_back({static_cast<double>(point.bytes), point.seconds});
  }
  CheckNeighbours(out, violations);
  if (!violations.empty()) return violations.ToStatus();
  return out;
}

}  // namespace sextant
