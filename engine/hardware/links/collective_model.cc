#include "engine/hardware/links/collective_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/links/collective_points.h"

namespace sextant {
namespace {

// Nine in ten repeats of a published point are within 5 % of their median (docs/links.md), so no
// interval is narrower.
constexpr double kRepeatWidening = 1.05;
// Where too few sizes are there to leave one out: nearly the widest p90 of NVLink's tables.
constexpr double kUncheckedWidening = 1.3;

// Nothing left out to compare with: a stated interval.
PredictionError ErrorOfResiduals(const std::vector<double>& ratios) {
  if (ratios.empty()) return {.p10 = 1 / kUncheckedWidening, .p90 = kUncheckedWidening};
  return ErrorOf(ratios);
}

// Measured over predicted where each size in turn is left out.
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

}  // namespace

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

const PredictionError* CollectiveModel::LargeError(CollectiveOp op) const {
  const OfOperation* const measured = Find(op);
  return measured == nullptr ? nullptr : &measured->large;
}

const PredictionError* CollectiveModel::SmallError(CollectiveOp op) const {
  const OfOperation* const measured = Find(op);
  return measured == nullptr ? nullptr : &measured->small;
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

}  // namespace sextant
