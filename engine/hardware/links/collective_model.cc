#include "engine/hardware/links/collective_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/prediction_error.h"

namespace sextant {
namespace {

std::string PathOf(size_t index) { return absl::StrCat("points[", index, "]"); }

void Check(const MeasuredCollective& point, size_t index, FieldViolations& violations) {
  const std::string path = PathOf(index);
  violations.RequireRange(path, "ranks", point.ranks, 2, kMaxCollectiveRanks);
  violations.RequireRange(path, "bytes", point.bytes, 1, kMaxCollectiveBytes);
  violations.RequireRange(path, "seconds", point.seconds,
                          {kMinCollectiveSeconds, kMaxCollectiveSeconds});
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

double OnLine(const TimeOfSize& a, const TimeOfSize& b, double bytes) {
  return a.seconds + (b.seconds - a.seconds) * ((bytes - a.bytes) / (b.bytes - a.bytes));
}

// 90 % of the repeats of a published point are within 5 % of their median (docs/links.md, "How
// well"), so no interval is narrower.
constexpr double kRepeatWidening = 1.05;
// For series with too few sizes to leave one out: nearly the widest p90 of NVLink's tables.
constexpr double kUncheckedWidening = 1.3;

// With nothing left out to compare with, an assumed interval.
PredictionError ErrorOfResiduals(const std::vector<double>& ratios) {
  if (ratios.empty()) return {.p10 = 1 / kUncheckedWidening, .p90 = kUncheckedWidening};
  return ErrorOf(ratios);
}

// Adds measured over predicted times, leaving out each size in turn.
void AddResiduals(const CollectiveCurve& curve, std::vector<double>& large,
                  std::vector<double>& small) {
  for (size_t i = 1; i + 1 < curve.points().size(); ++i) {
    const TimeOfSize& point = curve.points()[i];
    (point.bytes >= static_cast<double>(kLargeCollectiveBytes) ? large : small)
        .push_back(point.seconds / curve.SecondsWithout(i));
  }
}

double Log2(int64_t ranks) { return std::log2(static_cast<double>(ranks)); }

double GeometricMean(double a, double b, double share_of_b) {
  return std::exp(std::log(a) + (std::log(b) - std::log(a)) * share_of_b);
}

using SeriesKey = std::pair<CollectiveOp, int64_t>;  // operation and ranks

// The points of series with two sizes or more.
std::vector<MeasuredCollective> InSeries(absl::Span<const MeasuredCollective> points) {
  std::map<SeriesKey, int> counts;
  for (const MeasuredCollective& point : points) ++counts[{point.op, point.ranks}];
  std::vector<MeasuredCollective> out;
  for (const MeasuredCollective& point : points) {
    if (counts[{point.op, point.ranks}] > 1) out.push_back(point);
  }
  return out;
}

// `status` with its fields prefixed by "devices[i]".
absl::Status OfDevice(const absl::Status& status, size_t device) {
  FieldViolations out;
  for (const FieldViolation& violation : FieldViolationsOf(status)) {
    out.Add(absl::StrCat("devices[", device, "].", violation.field), violation.description);
  }
  return out.ToStatus();
}

// Adds the slowest of `curves` at each size measured on any of them.
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

CollectiveCurve::CollectiveCurve(std::vector<TimeOfSize> points) : points_(std::move(points)) {
  for (size_t i = points_.size() - 1; i-- > 0;) {
    points_[i].seconds = std::min(points_[i].seconds, points_[i + 1].seconds);
  }
}

double CollectiveCurve::SecondsAt(double bytes) const {
  if (bytes <= points_.front().bytes) return points_.front().seconds;
  const auto above =
      std::upper_bound(points_.begin(), points_.end() - 1, bytes,
                       [](double size, const TimeOfSize& p) { return size < p.bytes; });
  return OnLine(*(above - 1), *above, bytes);
}

double CollectiveCurve::SecondsWithout(size_t index) const {
  return OnLine(points_[index - 1], points_[index + 1], points_[index].bytes);
}

struct CollectiveModel::Estimate {
  double seconds = 0;
  KernelBasis basis = KernelBasis::kMeasured;
  double widening = 1;
};

absl::StatusOr<CollectiveModel> CollectiveModel::Make(absl::Span<const MeasuredCollective> points) {
  const absl::StatusOr<SortedCollectives> sorted = SortCollectives(points);
  if (!sorted.ok()) return sorted.status();
  CollectiveModel out;
  for (const CollectiveSeries& series : *sorted) {
    if (out.operations_.empty() || out.operations_.back().op != series.op) {
      out.operations_.push_back({.op = series.op, .by_ranks = {}, .large = {}, .small = {}});
    }
    out.operations_.back().by_ranks.push_back({series.ranks, CollectiveCurve(series.times)});
  }
  for (OfOperation& measured : out.operations_) {
    std::vector<double> large;
    std::vector<double> small;
    for (const OfRanks& r : measured.by_ranks) AddResiduals(r.curve, large, small);
    measured.large = ErrorOfResiduals(large);
    measured.small = ErrorOfResiduals(small);
  }
  return out;
}

const CollectiveModel::OfOperation* CollectiveModel::Find(CollectiveOp op) const {
  for (const OfOperation& measured : operations_) {
    if (measured.op == op) return &measured;
  }
  return nullptr;
}

CollectiveModel::Estimate CollectiveModel::AtRanks(const OfRanks& measured, double bytes) {
  const absl::Span<const TimeOfSize> points = measured.curve.points();
  const bool exact = std::any_of(points.begin(), points.end(),
                                 [&](const TimeOfSize& p) { return p.bytes == bytes; });
  Estimate out = {.seconds = measured.curve.SecondsAt(bytes)};
  if (!exact) out.basis = KernelBasis::kWithinGrid;
  if (!measured.curve.Covers(bytes)) {
    out.basis = KernelBasis::kOutsideGrid;
    out.widening = kBeyondSizesWidening;
  }
  return out;
}

CollectiveModel::Estimate CollectiveModel::BeyondRanks(const OfOperation& measured, double bytes,
                                                       int64_t ranks) {
  const OfRanks& most = measured.by_ranks.back();
  Estimate out = AtRanks(most, bytes);
  const double doublings = Log2(ranks) - Log2(most.ranks);
  const double latency = std::min(most.curve.Latency(), out.seconds);
  const double wire = WireShare(measured.op, ranks) / WireShare(measured.op, most.ranks);
  out.seconds = latency * (Log2(ranks) / Log2(most.ranks)) + (out.seconds - latency) * wire;
  out.basis = KernelBasis::kOutsideGrid;
  out.widening *= std::pow(kBeyondRanksWidening, doublings);
  return out;
}

absl::optional<CollectiveModel::Estimate> CollectiveModel::Estimated(const OfOperation& measured,
                                                                     double bytes, int64_t ranks) {
  const auto above =
      std::lower_bound(measured.by_ranks.begin(), measured.by_ranks.end(), ranks,
                       [](const OfRanks& r, int64_t wanted) { return r.ranks < wanted; });
  if (above == measured.by_ranks.end()) return BeyondRanks(measured, bytes, ranks);
  Estimate out = AtRanks(*above, bytes);
  if (above->ranks == ranks) return out;
  if (above == measured.by_ranks.begin()) return absl::nullopt;
  const OfRanks& below = *(above - 1);
  const double share = (Log2(ranks) - Log2(below.ranks)) / (Log2(above->ranks) - Log2(below.ranks));
  out.seconds = GeometricMean(below.curve.SecondsAt(bytes), out.seconds, share);
  if (out.basis == KernelBasis::kMeasured) out.basis = KernelBasis::kWithinGrid;
  out.widening *= kBetweenRanksWidening;
  return out;
}

absl::optional<KernelTime> CollectiveModel::TimeFrom(const OfOperation& measured, double bytes,
                                                     int64_t ranks) {
  const absl::optional<Estimate> estimate = Estimated(measured, bytes, ranks);
  if (!estimate) return absl::nullopt;
  const bool measured_itself = estimate->basis == KernelBasis::kMeasured;
  const PredictionError& error =
      bytes >= static_cast<double>(kLargeCollectiveBytes) ? measured.large : measured.small;
  const double low = measured_itself ? 1 : error.p10;
  const double high = measured_itself ? 1 : error.p90;
  return KernelTime{
      .expected = Seconds(estimate->seconds),
      .low = Seconds(estimate->seconds * std::min(low, 1 / kRepeatWidening) / estimate->widening),
      .high = Seconds(estimate->seconds * std::max(high, kRepeatWidening) * estimate->widening),
      .basis = estimate->basis};
}

absl::optional<KernelTime> CollectiveModel::TimeOf(const Collective& call) const {
  if (call.ranks < 2) return NoTime();
  const auto bytes = static_cast<double>(call.bytes.value());
  if (const OfOperation* const measured = Find(call.op); measured != nullptr) {
    return TimeFrom(*measured, bytes, call.ranks);
  }
  const bool broadcast = call.op == CollectiveOp::kBroadcast;
  if (!broadcast && call.op != CollectiveOp::kSendReceive) return absl::nullopt;
  const OfOperation* const other =
      Find(broadcast ? CollectiveOp::kAllGather : CollectiveOp::kAllToAll);
  if (other == nullptr) return absl::nullopt;
  const int64_t ranks = broadcast ? call.ranks : 2;
  absl::optional<KernelTime> out =
      TimeFrom(*other, bytes / WireShare(CollectiveOp::kAllToAll, ranks), ranks);
  if (!out) return absl::nullopt;
  out->low = out->low * (1 / kOtherOperationWidening);
  out->high = out->high * kOtherOperationWidening;
  out->basis = KernelBasis::kOtherPass;
  return out;
}

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
