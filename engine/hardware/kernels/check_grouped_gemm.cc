#include "engine/hardware/kernels/check_grouped_gemm.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/kernels/kernel_limits.h"

namespace sextant {
namespace {

void CheckShape(const std::string& path, const GroupedGemmShape& shape, FieldViolations& out) {
  const std::pair<const char*, int64_t> sizes[] = {{"tokens", shape.tokens},
                                                   {"hidden", shape.hidden},
                                                   {"intermediate", shape.intermediate},
                                                   {"experts_per_token", shape.experts_per_token},
                                                   {"experts", shape.experts},
                                                   {"expert_parallel", shape.expert_parallel}};
  for (const auto& [name, size] : sizes) out.RequireRange(path, name, size, 1, kMostKernelSize);
  if (shape.expert_parallel >= 1 && shape.experts % shape.expert_parallel != 0) {
    out.Add(absl::StrCat(path, ".expert_parallel"), "must divide experts");
  }
  if (shape.experts_per_token > shape.experts) {
    out.Add(absl::StrCat(path, ".experts_per_token"), "must not exceed experts");
  }
}

bool SeenBefore(absl::Span<const GroupedGemmPoint> points, size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (points[i].shape == points[index].shape) return true;
  }
  return false;
}

}  // namespace

absl::Status CheckGroupedGemm(const GroupedGemmCalibration& calibration) {
  constexpr absl::string_view kPath = "calibration.grouped_gemm";
  FieldViolations out;
  const size_t count = calibration.points.size();
  if (count < GroupedGemmModel::kLeastPoints || count > kMostKernelPoints) {
    out.Add(absl::StrCat(kPath, ".points"),
            absl::StrCat("has ", count, "; measure ", GroupedGemmModel::kLeastPoints, " to ",
                         kMostKernelPoints));
    return out.ToStatus();
  }
  for (size_t i = 0; i < count; ++i) {
    const GroupedGemmPoint& point = calibration.points[i];
    const std::string path = absl::StrCat(kPath, ".points[", i, "]");
    CheckShape(path, point.shape, out);
    CheckKernelTime(path, point.time, out);
    if (out.Mentions(path)) continue;
    if (SeenBefore(calibration.points, i)) out.Add(path, "has the shape of an earlier point");
    CheckKernelRate(path, Flops(GroupedGemmFlops(point.shape)), point.time, calibration.peak, out);
  }
  return out.ToStatus();
}

}  // namespace sextant
