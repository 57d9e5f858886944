#include "engine/hardware/kernels/grouped_matmul_model.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/kernel_time.h"

namespace sextant {
namespace {

// 1: a kernel without padding, or kernels for all sizes.
constexpr int64_t kRowTiles[] = {1, 64, 128};
// Peak over bandwidth in multiplications per weight: 153 for A100, 281 to 295 for H100 to B200, in
// every data type, because half the bytes come with twice the rate (datasheets).
constexpr int64_t kBalanceRows[] = {150, 300};

GroupedMatmulShape Clamped(GroupedMatmulShape shape) {
  for (int64_t* size : {&shape.tokens, &shape.hidden, &shape.intermediate, &shape.experts_per_token,
                        &shape.experts, &shape.expert_parallel}) {
    *size = std::clamp<int64_t>(*size, 1, kMaxKernelSize);
  }
  return shape;
}

std::vector<TermPoint> TermPointsOf(absl::Span<const GroupedMatmulPoint> points,
                                    GroupedMatmulForm form) {
  std::vector<TermPoint> out;
  out.reserve(points.size());
  for (const GroupedMatmulPoint& point : points) {
    out.push_back({.shape = GroupedMatmulTerms(point.shape, form), .seconds = point.time.value()});
  }
  return out;
}

void CheckShape(const std::string& path, const GroupedMatmulShape& shape, FieldViolations& out) {
  const std::pair<const char*, int64_t> sizes[] = {{"tokens", shape.tokens},
                                                   {"hidden", shape.hidden},
                                                   {"intermediate", shape.intermediate},
                                                   {"experts_per_token", shape.experts_per_token},
                                                   {"experts", shape.experts},
                                                   {"expert_parallel", shape.expert_parallel}};
  for (const auto& [name, size] : sizes) out.RequireRange(path, name, size, 1, kMaxKernelSize);
  if (shape.expert_parallel >= 1 && shape.experts % shape.expert_parallel != 0) {
    out.Add(absl::StrCat(path, ".expert_parallel"), "must divide experts");
  }
  if (shape.experts_per_token > shape.experts) {
    out.Add(absl::StrCat(path, ".experts_per_token"), "must not exceed experts");
  }
}

bool SeenBefore(absl::Span<const GroupedMatmulPoint> points, size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (points[i].shape == points[index].shape) return true;
  }
  return false;
}

}  // namespace

TermShape GroupedMatmulTerms(const GroupedMatmulShape& shape, GroupedMatmulForm form) {
  const auto tile = static_cast<double>(form.row_tile);
  const double rows = ExpertRows(shape);
  const double filled = std::ceil(std::max(RowsPerExpert(shape), 1.0) / tile) * tile;
  const double weights = ActiveWeights(shape);
  const auto tokens = static_cast<double>(shape.tokens);
  const auto hidden = static_cast<double>(shape.hidden);
  const auto intermediate = static_cast<double>(shape.intermediate);
  const double local_experts =
      static_cast<double>(shape.experts) / static_cast<double>(shape.expert_parallel);
  return {.terms = {1, weights, weights * filled,
                    weights * std::max(1.0, filled / static_cast<double>(form.balance_rows)),
                    tokens * hidden, rows * hidden, rows * intermediate, tokens},
          .position = {std::log2(RowsPerExpert(shape)) / 2, std::log2(local_experts) / 2,
                       std::log2(hidden * intermediate) / 2}};
}

GroupedMatmulModel::GroupedMatmulModel(absl::Span<const TermPoint> points,
                                       const GroupedMatmulModelFit& found)
    : form_(found.form),
      fit_(points, found.costs),
      low_(points[0].shape.position),
      high_(points[0].shape.position),
      error_(found.error) {
  for (const TermPoint& point : points) {
    for (size_t i = 0; i < low_.size(); ++i) {
      low_[i] = std::min(low_[i], point.shape.position[i]);
      high_[i] = std::max(high_[i], point.shape.position[i]);
    }
  }
}

absl::StatusOr<GroupedMatmulModel> GroupedMatmulModel::Of(
    const GroupedMatmulCalibration& calibration) {
  SEXTANT_RETURN_IF_ERROR(CheckGroupedMatmul(calibration));
  GroupedMatmulForm best;
  std::vector<double> best_ratios;
  for (const int64_t tile : kRowTiles) {
    for (const int64_t rows : kBalanceRows) {
      const GroupedMatmulForm form{.row_tile = tile, .balance_rows = rows};
      std::vector<double> held_out = HeldOutRatios(TermPointsOf(calibration.points, form));
      if (best_ratios.empty() || MeanError(held_out) < MeanError(best_ratios)) {
        best = form;
        best_ratios = std::move(held_out);
      }
    }
  }
  const std::vector<TermPoint> points = TermPointsOf(calibration.points, best);
  return GroupedMatmulModel(points,
                            {best, TermFit(points).costs(), ErrorOf(std::move(best_ratios))});
}

GroupedMatmulModel GroupedMatmulModel::Of(const GroupedMatmulCalibration& calibration,
                                          const GroupedMatmulModelFit& found) {
  return {TermPointsOf(calibration.points, found.form), found};
}

KernelTime GroupedMatmulModel::Predict(const GroupedMatmulShape& shape) const {
  const TermShape terms = GroupedMatmulTerms(Clamped(shape), form_);
  double octaves = 0;
  for (size_t i = 0; i < low_.size(); ++i) {
    octaves += 2 * std::max({low_[i] - terms.position[i], terms.position[i] - high_[i], 0.0});
  }
  const Widening widening{.low = std::pow(kOctaveOutside.low, octaves),
                          .high = std::pow(kOctaveOutside.high, octaves)};
  return TimeWithin(fit_.Seconds(terms), error_, widening,
                    octaves > 0 ? KernelBasis::kOutsideGrid : KernelBasis::kWithinGrid);
}

absl::Status CheckGroupedMatmul(const GroupedMatmulCalibration& calibration) {
  constexpr absl::string_view kPath = "calibration.grouped_gemm";
  FieldViolations out;
  const size_t count = calibration.points.size();
  if (count < GroupedMatmulModel::kMinPoints || count > kMaxKernelPoints) {
    out.Add(absl::StrCat(kPath, ".points"),
            absl::StrCat("has ", count, "; measure ", GroupedMatmulModel::kMinPoints, " to ",
                         kMaxKernelPoints));
    return out.ToStatus();
  }
  for (size_t i = 0; i < count; ++i) {
    const GroupedMatmulPoint& point = calibration.points[i];
    const std::string path = absl::StrCat(kPath, ".points[", i, "]");
    CheckShape(path, point.shape, out);
    CheckKernelTime(path, point.time, out);
    if (out.Mentions(path)) continue;
    if (SeenBefore(calibration.points, i)) out.Add(path, "has the shape of an earlier point");
    CheckKernelRate(path, Flops(GroupedMatmulFlops(point.shape)), point.time, calibration.peak,
                    out);
  }
  return out.ToStatus();
}

}  // namespace sextant
