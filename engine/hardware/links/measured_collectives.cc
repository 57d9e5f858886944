#include "engine/hardware/links/measured_collectives.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/links/collective_curve.h"
#include "engine/hardware/links/collective_points.h"

namespace sextant {
namespace {

using SeriesKey = std::pair<CollectiveOp, int64_t>;  // among so many ranks

// The points of operations and ranks that have two sizes or more.
std::vector<MeasuredCollective> InSeries(absl::Span<const MeasuredCollective> points) {
  std::map<SeriesKey, int> counts;
  for (const MeasuredCollective& point : points) ++counts[{point.op, point.ranks}];
  std::vector<MeasuredCollective> out;
  for (const MeasuredCollective& point : points) {
    if (counts[{point.op, point.ranks}] > 1) out.push_back(point);
  }
  return out;
}

// `status` with its fields under "devices[i]".
absl::Status OfDevice(const absl::Status& status, size_t device) {
  FieldViolations out;
  for (const FieldViolation& violation : FieldViolationsOf(status)) {
    out.Add(absl::StrCat("devices[", device, "].", violation.field), violation.description);
  }
  return out.ToStatus();
}

// The slowest of `curves` at each size that one of them was measured at.
void AddSlowest(const SeriesKey& key, absl::Span<const CollectiveCurve> curves,
                std::vector<MeasuredCollective>& out) {
  std::set<double> sizes;
  for (const CollectiveCurve& curve : curves) {
    for (const TimeOfSize& point : curve.points()) sizes.insert(point.bytes);
  }
  for (const double bytes : sizes) {
    double seconds = 0;
    for (const CollectiveCurve& curve : curves) {
      if (curve.Covers(bytes)) seconds = std::max(seconds, curve.SecondsAt(bytes));
    }
    out.push_back({.op = key.first,
                   .ranks = key.second,
                   .bytes = static_cast<int64_t>(bytes),
                   .seconds = seconds});
  }
}

}  // namespace

absl::StatusOr<absl::optional<CollectiveModel>> MeasuredCollectives(
    absl::Span<const std::vector<MeasuredCollective>> devices) {
  std::map<SeriesKey, std::vector<CollectiveCurve>> curves;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].empty()) continue;
    const std::vector<MeasuredCollective> points = InSeries(devices[i]);
    if (points.empty()) continue;
    const absl::StatusOr<SortedCollectives> sorted = SortCollectives(points);
    if (!sorted.ok()) return OfDevice(sorted.status(), i);
    for (const CollectiveSeries& series : *sorted) {
      curves[{series.op, series.ranks}].emplace_back(series.times);
    }
  }
  std::vector<MeasuredCollective> slowest;
  for (const auto& [key, of_devices] : curves) AddSlowest(key, of_devices, slowest);
  if (slowest.empty()) return absl::optional<CollectiveModel>();
  SEXTANT_ASSIGN_OR_RETURN(CollectiveModel model, CollectiveModel::Make(slowest));
  return absl::make_optional(std::move(model));
}

}  // namespace sextant
