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

// Pairs of one head, masked pairs on the diagonal included.
double WorkedPairs(const AttentionShape& shape, AttentionForm form) {
  const double diagonal =
      shape.causal ? static_cast<double>(shape.sequence) * static_cast<double>(form.query_tile) / 2
                   : 0;
  return AttendedPairs(shape, form.window) + diagonal;
}

// Keys of the longest tile.
double MostKeys(const AttentionShape& shape, AttentionForm form) {
  const auto sequence = static_cast<double>(shape.sequence);
  if (shape.window == 0 || shape.window >= shape.sequence) return sequence;
  // A sliding window moves by one tile from a tile's first query to its last.
  const bool sliding = form.window == WindowForm::kSliding;
  const double moved = sliding ? static_cast<double>(form.query_tile) : 0;
  return std::min(sequence, static_cast<double>(shape.window) + moved);
}

// Keys per query of the mean tile. For chunks, those of a whole chunk: a last, short chunk doesn't
// make the others faster.
double MeanKeys(const AttentionShape& shape, AttentionForm form) {
  const bool chunked = form.window == WindowForm::kChunked && shape.causal && shape.window > 0 &&
                       shape.window < shape.sequence;
  if (!chunked) return WorkedPairs(shape, form) / static_cast<double>(shape.sequence);
  return (static_cast<double>(shape.window) + 1 + static_cast<double>(form.query_tile)) / 2;
}

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

// Octaves between the box of a class and `position`; the last two axes count in halves.
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
  shape.window = std::clamp<int64_t>(shape.window, 0, kMaxKernelSize);
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

TermShape AttentionTerms(const AttentionShape& shape, AttentionForm form, int64_t compute_units) {
  const auto sequence = static_cast<double>(shape.sequence);
  const auto tile = static_cast<double>(form.query_tile);
  const auto units = static_cast<double>(compute_units);
  const double head_size = (static_cast<double>(shape.query_key_head_size) +
                            static_cast<double>(shape.value_head_size)) /
                           2;
  const double head_count = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  const double even = head_count * WorkedPairs(shape, form) * head_size / units;
  const double largest = tile * MostKeys(shape, form) * head_size;
  const double tiles = head_count * std::ceil(sequence / tile);
  const double mean_tile = tile * MeanKeys(shape, form) * head_size;
  const double token_elements = static_cast<double>(shape.batch) * sequence * 2 * head_size;
  AttentionShape whole = shape;
  whole.window = 0;
  const bool windowed = shape.window > 0;
  return {.terms = {1, even, std::max(even, largest), std::ceil(tiles / units) * mean_tile, largest,
                    token_elements * static_cast<double>(shape.heads),
                    token_elements * static_cast<double>(shape.key_value_heads),
                    windowed ? head_count * AttendedPairs(whole, WindowForm::kSliding) * head_size /
                                   units
                             : 0},
          .position = AttentionPosition(shape)};
}

TermPosition AttentionPosition(const AttentionShape& shape) {
  const double head_count = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  const double group =
      static_cast<double>(shape.heads) / static_cast<double>(shape.key_value_heads);
  return {std::log2(static_cast<double>(shape.sequence)), std::log2(head_count) / 2,
          shape.heads == shape.key_value_heads ? -1 : std::log2(group) / 2};
}

absl::Status AttentionModel::AddClass(absl::Span<const AttentionPoint> points,
                                      std::vector<double>& ratios) {
  const AttentionShape& like = points[0].shape;
  if (static_cast<int64_t>(points.size()) < kMinPoints) {
    FieldViolations out;
    out.Add("calibration.attention.points",
            absl::StrCat("has ", points.size(), " of head sizes ", like.query_key_head_size,
                         " and ", like.value_head_size, like.causal ? ", causal" : ", not causal",
                         ", window ", like.window, "; measure ", kMinPoints, " or more"));
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
  // By mask, window and head size. Within a class the given order stays, because it determines the
  // folds.
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
  // By total head size: 192 and 128 count as 160 and 160.
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
