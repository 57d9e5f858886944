#include "engine/hardware/kernels/attention_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/kernel_time.h"

namespace sextant {
namespace {

// Query tiles of FlashAttention-2 and -3, cuDNN and others, by head size and device.
constexpr int64_t kQueryTiles[] = {64, 128, 192, 256};

bool SameMask(const AttentionShape& a, const AttentionShape& b) {
  return a.causal == b.causal && a.window == b.window;
}

double HeadSize(const AttentionShape& shape) {
  return static_cast<double>(shape.query_key_head_size) +
         static_cast<double>(shape.value_head_size);
}

bool SameHeads(const AttentionShape& a, const AttentionShape& b) {
  return a.query_key_head_size == b.query_key_head_size && a.value_head_size == b.value_head_size;
}

std::vector<TermPoint> TermPointsOf(absl::Span<const AttentionPoint> points, AttentionForm form,
                                    int64_t compute_units) {
  std::vector<TermPoint> out;
  out.reserve(points.size());
  for (const AttentionPoint& point : points) {
    out.push_back(
        {.shape = AttentionTerms(point.shape, form, compute_units), .seconds = point.time.value()});
  }
  return out;
}

std::vector<AttentionForm> FormsOf(const AttentionShape& like) {
  std::vector<AttentionForm> out;
  for (const int64_t tile : kQueryTiles) {
    out.push_back({.query_tile = tile, .window = WindowForm::kSliding});
    if (like.window > 0) out.push_back({.query_tile = tile, .window = WindowForm::kChunked});
  }
  return out;
}

// By mask, window and head size. Within a class the given order stays, because it determines the
// folds.
std::vector<std::vector<AttentionPoint>> ClassesOf(absl::Span<const AttentionPoint> all) {
  const auto key = [](const AttentionPoint& point) {
    const AttentionShape& s = point.shape;
    return std::make_tuple(!s.causal, s.window, HeadSize(s), s.query_key_head_size);
  };
  std::vector<AttentionPoint> points(all.begin(), all.end());
  std::stable_sort(
      points.begin(), points.end(),
      [key](const AttentionPoint& a, const AttentionPoint& b) { return key(a) < key(b); });
  std::vector<std::vector<AttentionPoint>> out;
  for (const AttentionPoint& point : points) {
    if (out.empty() || key(out.back()[0]) != key(point)) out.emplace_back();
    out.back().push_back(point);
  }
  return out;
}

// Factors for a `position` outside the box of a class, whose last two axes count in halves.
Widening OutsideOf(const TermPosition& low, const TermPosition& high,
                   const TermPosition& position) {
  double below = 0;
  double above = 0;
  for (size_t i = 0; i < position.size(); ++i) {
    const double octaves = i == 0 ? 1 : 2;
    below += octaves * std::max(low[i] - position[i], 0.0);
    above += octaves * std::max(position[i] - high[i], 0.0);
  }
  return Power(AttentionFallbacks::kOctaveBelow, below) *
         Power(AttentionFallbacks::kOctaveAbove, above);
}

bool IsIn(const TermPosition& low, const TermPosition& high, const TermPosition& position) {
  for (size_t i = 0; i < position.size(); ++i) {
    if (position[i] < low[i] || position[i] > high[i]) return false;
  }
  return true;
}

// The least share of the time that remains where a kernel divides the keys of a tile among units
// that few tiles of queries leave idle (Flash-Decoding). Nothing of equal lengths is divided.
double GainOfDividedKeys(const AttentionShape& shape, AttentionForm form, int64_t compute_units) {
  if (KeySequence(shape) <= shape.sequence) return 1;
  const double tiles =
      static_cast<double>(shape.batch) * static_cast<double>(shape.heads) *
      std::ceil(static_cast<double>(shape.sequence) / static_cast<double>(form.query_tile));
  return std::min(1.0, tiles / static_cast<double>(compute_units));
}

bool HidesByWindow(const AttentionShape& shape) {
  return shape.window > 0 && shape.window < KeySequence(shape);
}

// The distance between the masks of `like`, which was measured, and `shape`. The mask weighs more
// than the window. A window that hides nothing counts as none, unless it was measured as a window.
int MasksApart(const AttentionShape& like, const AttentionShape& shape) {
  const int mask = like.causal == shape.causal ? 0 : 4;
  if (like.window == shape.window) return mask;
  if (like.window == 0) return mask + (HidesByWindow(shape) ? 2 : 1);
  return mask + 3;
}

AttentionShape Clamped(AttentionShape shape) {
  for (int64_t* size : {&shape.batch, &shape.sequence, &shape.heads, &shape.key_value_heads,
                        &shape.query_key_head_size, &shape.value_head_size}) {
    *size = std::clamp<int64_t>(*size, 1, kMaxKernelSize);
  }
  for (int64_t* size : {&shape.key_sequence, &shape.window}) {
    *size = std::clamp<int64_t>(*size, 0, kMaxKernelSize);
  }
  return shape;
}

void CheckShape(const std::string& path, const AttentionShape& shape, FieldViolations& out) {
  const std::pair<const char*, int64_t> sizes[] = {
      {"batch", shape.batch},
      {"sequence", shape.sequence},
      {"heads", shape.heads},
      {"key_value_heads", shape.key_value_heads},
      {"query_key_head_size", shape.query_key_head_size},
      {"value_head_size", shape.value_head_size}};
  for (const auto& [name, size] : sizes) out.RequireRange(path, name, size, 1, kMaxKernelSize);
  out.RequireRange(path, "window", shape.window, 0, kMaxKernelSize);
  if (shape.key_sequence != 0) {
    out.Add(absl::StrCat(path, ".key_sequence"),
            "must be 0: only times of as many keys as queries are fitted");
  }
  if (shape.key_value_heads >= 1 && shape.heads % shape.key_value_heads != 0) {
    out.Add(absl::StrCat(path, ".heads"), "must be a multiple of key_value_heads");
  }
}

bool SeenBefore(absl::Span<const AttentionPoint> points, size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (points[i].shape == points[index].shape) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<AttentionClassFit> AttentionModel::FitClass(absl::Span<const AttentionPoint> points,
                                                           std::vector<double>& ratios) const {
  const AttentionShape& like = points[0].shape;
  if (static_cast<int64_t>(points.size()) < kMinPoints) {
    FieldViolations out;
    out.Add("calibration.attention.points",
            absl::StrCat("has ", points.size(), " of head sizes ", like.query_key_head_size,
                         " and ", like.value_head_size, like.causal ? ", causal" : ", not causal",
                         ", window ", like.window, "; measure ", kMinPoints, " or more"));
    return out.ToStatus();
  }
  AttentionClassFit best;
  std::vector<double> best_ratios;
  for (const AttentionForm form : FormsOf(like)) {
    std::vector<double> held_out = HeldOutRatios(TermPointsOf(points, form, compute_units_));
    if (best_ratios.empty() || MeanError(held_out) < MeanError(best_ratios)) {
      best.form = form;
      best_ratios = std::move(held_out);
    }
  }
  best.costs = TermFit(TermPointsOf(points, best.form, compute_units_)).costs();
  best.error = ErrorOf(best_ratios);
  ratios.insert(ratios.end(), best_ratios.begin(), best_ratios.end());
  return best;
}

void AttentionModel::AddClass(absl::Span<const AttentionPoint> points,
                              const AttentionClassFit& found) {
  const AttentionShape& like = points[0].shape;
  const std::vector<TermPoint> terms = TermPointsOf(points, found.form, compute_units_);
  Class out{.like = like,
            .form = found.form,
            .fit = TermFit(terms, found.costs),
            .low = terms[0].shape.position,
            .high = terms[0].shape.position,
            .error = found.error};
  for (const TermPoint& point : terms) {
    for (size_t i = 0; i < out.low.size(); ++i) {
      out.low[i] = std::min(out.low[i], point.shape.position[i]);
      out.high[i] = std::max(out.high[i], point.shape.position[i]);
    }
  }
  if (groups_.empty() || !SameMask(groups_.back()[0].like, like)) groups_.emplace_back();
  groups_.back().push_back(std::move(out));
}

absl::StatusOr<AttentionModel> AttentionModel::Of(const AttentionCalibration& calibration) {
  SEXTANT_RETURN_IF_ERROR(CheckAttention(calibration));
  AttentionModel out(calibration.compute_units);
  std::vector<double> ratios;
  for (const std::vector<AttentionPoint>& points : ClassesOf(calibration.points)) {
    SEXTANT_ASSIGN_OR_RETURN(const AttentionClassFit found, out.FitClass(points, ratios));
    out.AddClass(points, found);
  }
  out.error_ = ErrorOf(std::move(ratios));
  return out;
}

AttentionModel AttentionModel::Of(const AttentionCalibration& calibration,
                                  absl::Span<const AttentionClassFit> found,
                                  const PredictionError& error) {
  AttentionModel out(calibration.compute_units);
  size_t next = 0;
  for (const std::vector<AttentionPoint>& points : ClassesOf(calibration.points)) {
    out.AddClass(points, found[next++]);
  }
  out.error_ = error;
  return out;
}

std::vector<AttentionClassFit> AttentionModel::found() const {
  std::vector<AttentionClassFit> out;
  for (const Group& group : groups_) {
    for (const Class& each : group) out.push_back({each.form, each.fit.costs(), each.error});
  }
  return out;
}

AttentionModel::Estimate AttentionModel::EstimateBy(const Class& chosen,
                                                    const AttentionShape& shape) const {
  const TermShape terms = AttentionTerms(shape, chosen.form, compute_units_);
  Widening widening = OutsideOf(chosen.low, chosen.high, terms.position);
  widening.low *= GainOfDividedKeys(shape, chosen.form, compute_units_);
  return {.log_seconds = std::log(chosen.fit.Seconds(terms)),
          .error = chosen.error,
          .widening = widening,
          .outside = !IsIn(chosen.low, chosen.high, terms.position)};
}

AttentionModel::Estimate AttentionModel::EstimateFromOtherSize(const Class& chosen,
                                                               const AttentionShape& shape) const {
  Estimate out = EstimateBy(chosen, shape);
  const double octaves = std::log2(HeadSize(shape) / HeadSize(chosen.like));
  if (octaves == 0) return out;
  AttentionShape at = shape;
  at.query_key_head_size = chosen.like.query_key_head_size;
  at.value_head_size = chosen.like.value_head_size;
  const double known = EstimateBy(chosen, at).log_seconds;
  out.log_seconds = known + AttentionFallbacks::kHeadSizeExponent * (out.log_seconds - known);
  out.widening = out.widening * Power(AttentionFallbacks::kOctaveOfHeadSize, std::abs(octaves));
  out.outside = true;
  return out;
}

AttentionModel::Estimate AttentionModel::Mixed(Estimate a, const Estimate& b, double share) {
  a.log_seconds += share * (b.log_seconds - a.log_seconds);
  a.widening = Power(a.widening, 1 - share) * Power(b.widening, share);
  a.error.p10 = std::min(a.error.p10, b.error.p10);
  a.error.p90 = std::max(a.error.p90, b.error.p90);
  a.outside = a.outside || b.outside;
  return a;
}

AttentionModel::Estimate AttentionModel::EstimateIn(const Group& group,
                                                    const AttentionShape& shape) const {
  // By total head size: 192 and 128 count as 160 and 160.
  const auto above = std::find_if(group.begin(), group.end(), [&](const Class& candidate) {
    return HeadSize(candidate.like) >= HeadSize(shape);
  });
  Estimate out;
  if (above == group.end() || above == group.begin() || HeadSize(above->like) == HeadSize(shape)) {
    out = EstimateFromOtherSize(above == group.end() ? group.back() : *above, shape);
  } else {
    const auto below = std::prev(above);
    const double share = std::log(HeadSize(shape) / HeadSize(below->like)) /
                         std::log(HeadSize(above->like) / HeadSize(below->like));
    const Estimate lower = EstimateBy(*below, shape);
    const Estimate upper = EstimateBy(*above, shape);
    out = Mixed(lower, upper, share);
    out.widening = lower.widening * AttentionFallbacks::kBetweenHeadSizes;
  }
  const AttentionShape& like = group[0].like;
  const bool window_known =
      like.window == shape.window || (like.window == 0 && !HidesByWindow(shape));
  if (!window_known) out.widening = out.widening * AttentionFallbacks::kOtherWindow;
  if (like.causal && !shape.causal) {
    out.log_seconds += std::log(AttentionFallbacks::kFullOverCausal);
    out.widening = out.widening * AttentionFallbacks::kFullByCausal;
  } else if (like.causal != shape.causal) {
    out.log_seconds -= std::log(AttentionFallbacks::kFullOverCausal);
    out.widening = out.widening * AttentionFallbacks::kCausalByFull;
  }
  out.outside = out.outside || !window_known || like.causal != shape.causal;
  return out;
}

AttentionModel::Estimate AttentionModel::EstimateOf(const AttentionShape& shape) const {
  const auto octaves = [&](const Group& group) {
    return std::max({std::log2(HeadSize(group.front().like) / HeadSize(shape)),
                     std::log2(HeadSize(shape) / HeadSize(group.back().like)), 0.0});
  };
  const auto apart = [&](const Group& group) { return MasksApart(group[0].like, shape); };
  const Group& own =
      *std::min_element(groups_.begin(), groups_.end(),
                        [&](const Group& a, const Group& b) { return apart(a) < apart(b); });
  const Group& nearer =
      *std::min_element(groups_.begin(), groups_.end(), [&](const Group& a, const Group& b) {
        return std::make_pair(octaves(a), apart(a)) < std::make_pair(octaves(b), apart(b));
      });
  Estimate out = EstimateIn(own, shape);
  const double gained = std::min(octaves(own) - octaves(nearer), 1.0);
  if (gained > 0) out = Mixed(out, EstimateIn(nearer, shape), gained);
  out.widening = out.widening * AttentionFallbacks::OfLengths(shape);
  return out;
}

KernelTime AttentionModel::Predict(const AttentionShape& shape) const {
  const AttentionShape clamped = Clamped(shape);
  const Estimate estimate = EstimateOf(clamped);
  KernelBasis basis = estimate.outside ? KernelBasis::kOutsideGrid : KernelBasis::kWithinGrid;
  if (HasOtherLengths(clamped)) basis = KernelBasis::kOtherPass;
  return TimeWithin(std::exp(estimate.log_seconds), estimate.error, estimate.widening, basis);
}

KernelTime AttentionModel::PredictBackward(const AttentionShape& shape) const {
  const Estimate estimate = EstimateOf(Clamped(shape));
  return TimeWithin(AttentionFallbacks::kBackwardOverForward * std::exp(estimate.log_seconds),
                    estimate.error, estimate.widening * AttentionFallbacks::kBackward,
                    KernelBasis::kOtherPass);
}

Widening AttentionFallbacks::OfLengths(const AttentionShape& shape) {
  if (!HasOtherLengths(shape)) return {};
  const double octaves = std::abs(
      std::log2(static_cast<double>(KeySequence(shape)) / static_cast<double>(shape.sequence)));
  return Power(kOctaveOfLengths, std::min(octaves, kMaxOctavesOfLengths));
}

bool AttentionModel::Knows(const AttentionShape& shape) const {
  return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
    return group[0].like.causal == shape.causal &&
           std::any_of(group.begin(), group.end(),
                       [&](const Class& each) { return SameHeads(each.like, shape); });
  });
}

double LeastAttentionFlops(const AttentionShape& shape) {
  return AttentionFlops(shape) * AttendedPairs(shape, WindowForm::kChunked) /
         AttendedPairs(shape, WindowForm::kSliding);
}

absl::Status CheckAttention(const AttentionCalibration& calibration) {
  constexpr absl::string_view kPath = "calibration.attention";
  FieldViolations out;
  out.RequireRange(kPath, "compute_units", calibration.compute_units, 1, kMaxComputeUnits);
  if (calibration.points.empty()) {
    out.Add(absl::StrCat(kPath, ".points"), "has none; measure some");
  }
  if (calibration.points.size() > kMaxKernelPoints) {
    out.Add(absl::StrCat(kPath, ".points"), absl::StrCat("has more than ", kMaxKernelPoints));
    return out.ToStatus();
  }
  for (size_t i = 0; i < calibration.points.size(); ++i) {
    const AttentionPoint& point = calibration.points[i];
    const std::string path = absl::StrCat(kPath, ".points[", i, "]");
    CheckShape(path, point.shape, out);
    CheckKernelTime(path, point.time, out);
    if (out.Mentions(path)) continue;
    if (SeenBefore(calibration.points, i)) out.Add(path, "has the shape of an earlier point");
    CheckKernelRate(path, Flops(LeastAttentionFlops(point.shape)), point.time, calibration.peak,
                    out);
  }
  return out.ToStatus();
}

}  // namespace sextant
