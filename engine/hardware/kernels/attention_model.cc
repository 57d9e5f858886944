#include "engine/hardware/kernels/attention_model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/check_attention.h"
#include "engine/hardware/kernels/kernel_limits.h"

namespace sextant {
namespace {

// What FlashAttention-2 and -3, cuDNN and others cut queries into, by head size and device.
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

// Doublings between the box of a class and `position`; the last two axes count halves.
double OctavesOutside(const TermPosition& low, const TermPosition& high,
                      const TermPosition& position) {
  double out = 0;
  for (size_t i = 0; i < position.size(); ++i) {
    const double apart = std::max({low[i] - position[i], position[i] - high[i], 0.0});
    out += i == 0 ? apart : 2 * apart;
  }
  return out;
}

bool HidesByWindow(const AttentionShape& shape) {
  return shape.window > 0 && shape.window < shape.sequence;
}

// How badly what was measured `like` this stands for `shape`. The mask weighs more than the window,
// and a window that hides nothing is none, unless it was measured as one.
int MasksApart(const AttentionShape& like, const AttentionShape& shape) {
  const int mask = like.causal == shape.causal ? 0 : 4;
  if (like.window == shape.window) return mask;
  if (like.window == 0) return mask + (HidesByWindow(shape) ? 2 : 1);
  return mask + 3;
}

AttentionShape Clamped(AttentionShape shape) {
  for (int64_t* size : {&shape.batch, &shape.sequence, &shape.heads, &shape.key_value_heads,
                        &shape.query_key_head_size, &shape.value_head_size}) {
    *size = std::clamp<int64_t>(*size, 1, kMostKernelSize);
  }
  shape.window = std::clamp<int64_t>(shape.window, 0, kMostKernelSize);
  return shape;
}

}  // namespace

absl::Status AttentionModel::AddClass(absl::Span<const AttentionPoint> points,
                                      std::vector<double>& ratios) {
  const AttentionShape& like = points[0].shape;
  if (static_cast<int64_t>(points.size()) < kLeastPoints) {
    FieldViolations out;
    out.Add("calibration.attention.points",
            absl::StrCat("has ", points.size(), " of head sizes ", like.query_key_head_size,
                         " and ", like.value_head_size, like.causal ? ", causal" : ", not causal",
                         ", window ", like.window, "; measure ", kLeastPoints, " or more"));
    return out.ToStatus();
  }
  AttentionForm best;
  std::vector<double> best_ratios;
  for (const AttentionForm form : FormsOf(like)) {
    std::vector<double> held_out = HeldOutRatios(TermPointsOf(points, form, compute_units_));
    if (best_ratios.empty() || MeanError(held_out) < MeanError(best_ratios)) {
      best = form;
      best_ratios = std::move(held_out);
    }
  }
  const std::vector<TermPoint> fitted = TermPointsOf(points, best, compute_units_);
  Class out{.like = like,
            .form = best,
            .fit = TermFit(fitted),
            .low = fitted[0].shape.position,
            .high = fitted[0].shape.position,
            .error = ErrorOf(best_ratios)};
  for (const TermPoint& point : fitted) {
    for (size_t i = 0; i < out.low.size(); ++i) {
      out.low[i] = std::min(out.low[i], point.shape.position[i]);
      out.high[i] = std::max(out.high[i], point.shape.position[i]);
    }
  }
  ratios.insert(ratios.end(), best_ratios.begin(), best_ratios.end());
  if (groups_.empty() || !SameMask(groups_.back()[0].like, like)) groups_.emplace_back();
  groups_.back().push_back(std::move(out));
  return absl::OkStatus();
}

absl::StatusOr<AttentionModel> AttentionModel::Of(const AttentionCalibration& calibration) {
  SEXTANT_RETURN_IF_ERROR(CheckAttention(calibration));
  std::vector<AttentionPoint> points(calibration.points.begin(), calibration.points.end());
  // By mask, window and head size; within a class as given, which decides the folds.
  std::stable_sort(
      points.begin(), points.end(), [](const AttentionPoint& a, const AttentionPoint& b) {
        const auto key = [](const AttentionShape& s) {
          return std::make_tuple(!s.causal, s.window, HeadSize(s), s.query_key_head_size);
        };
        return key(a.shape) < key(b.shape);
      });
  AttentionModel out;
  out.compute_units_ = calibration.compute_units;
  std::vector<double> ratios;
  for (size_t begin = 0, end = 0; begin < points.size(); begin = end) {
    const AttentionShape& like = points[begin].shape;
    while (end < points.size() && SameMask(points[end].shape, like) &&
           SameHeads(points[end].shape, like)) {
      ++end;
    }
    SEXTANT_RETURN_IF_ERROR(
        out.AddClass(absl::MakeSpan(points).subspan(begin, end - begin), ratios));
  }
  out.error_ = ErrorOf(std::move(ratios));
  return out;
}

const AttentionModel::Group& AttentionModel::NearestGroup(const AttentionShape& shape) const {
  return *std::min_element(groups_.begin(), groups_.end(), [&](const Group& a, const Group& b) {
    return MasksApart(a[0].like, shape) < MasksApart(b[0].like, shape);
  });
}

AttentionModel::Estimate AttentionModel::EstimateBy(const Class& chosen,
                                                    const AttentionShape& shape) const {
  const TermShape terms = AttentionTerms(shape, chosen.form, compute_units_);
  const double octaves = OctavesOutside(chosen.low, chosen.high, terms.position);
  return {.log_seconds = std::log(chosen.fit.Seconds(terms)),
          .error = chosen.error,
          .widening = Power(AttentionFallbacks::kOctaveOutside, octaves),
          .outside = octaves > 0};
}

AttentionModel::Estimate AttentionModel::EstimateOf(const AttentionShape& shape) const {
  const Group& group = NearestGroup(shape);
  const AttentionShape& like = group[0].like;
  // By total head size: 192 and 128 are as 160 and 160.
  const auto above = std::find_if(group.begin(), group.end(), [&](const Class& candidate) {
    return HeadSize(candidate.like) >= HeadSize(shape);
  });
  Estimate out;
  if (above == group.end() || above == group.begin() || HeadSize(above->like) == HeadSize(shape)) {
    const Class& chosen = above == group.end() ? group.back() : *above;
    out = EstimateBy(chosen, shape);
    const double octaves = std::abs(std::log2(HeadSize(chosen.like) / HeadSize(shape)));
    out.widening = out.widening * Power(AttentionFallbacks::kOctaveOfHeadSize, octaves);
    out.outside = out.outside || octaves > 0;
  } else {
    const auto below = std::prev(above);
    const double share = std::log(HeadSize(shape) / HeadSize(below->like)) /
                         std::log(HeadSize(above->like) / HeadSize(below->like));
    out = EstimateBy(*below, shape);
    const Estimate upper = EstimateBy(*above, shape);
    out.log_seconds += share * (upper.log_seconds - out.log_seconds);
    out.widening = out.widening * AttentionFallbacks::kBetweenHeadSizes;
    out.error.p10 = std::min(out.error.p10, upper.error.p10);
    out.error.p90 = std::max(out.error.p90, upper.error.p90);
    out.outside = out.outside || upper.outside;
  }
  const bool window_known =
      like.window == shape.window || (like.window == 0 && !HidesByWindow(shape));
  if (!window_known) out.widening = out.widening * AttentionFallbacks::kOtherWindow;
  if (like.causal != shape.causal) out.widening = out.widening * AttentionFallbacks::kOtherMask;
  out.outside = out.outside || !window_known || like.causal != shape.causal;
  return out;
}

KernelTime AttentionModel::Predict(const AttentionShape& shape) const {
  const Estimate estimate = EstimateOf(Clamped(shape));
  return TimeWithin(std::exp(estimate.log_seconds), estimate.error, estimate.widening,
                    estimate.outside ? KernelBasis::kOutsideGrid : KernelBasis::kWithinGrid);
}

KernelTime AttentionModel::PredictBackward(const AttentionShape& shape) const {
  const Estimate estimate = EstimateOf(Clamped(shape));
  return TimeWithin(AttentionFallbacks::kBackwardOverForward * std::exp(estimate.log_seconds),
                    estimate.error, estimate.widening * AttentionFallbacks::kBackward,
                    KernelBasis::kOtherPass);
}

}  // namespace sextant
