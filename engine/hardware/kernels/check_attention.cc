#include "engine/hardware/kernels/check_attention.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/kernels/kernel_limits.h"

namespace sextant {
namespace {

void CheckShape(const std::string& path, const AttentionShape& shape, FieldViolations& out) {
  const std::pair<const char*, int64_t> sizes[] = {
      {"batch", shape.batch},
      {"sequence", shape.sequence},
      {"heads", shape.heads},
      {"key_value_heads", shape.key_value_heads},
      {"query_key_head_size", shape.query_key_head_size},
      {"value_head_size", shape.value_head_size}};
  for (const auto& [name, size] : sizes) out.RequireRange(path, name, size, 1, kMostKernelSize);
  out.RequireRange(path, "window", shape.window, 0, kMostKernelSize);
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

double LeastAttentionFlops(const AttentionShape& shape) {
  return AttentionFlops(shape) * AttendedPairs(shape, WindowForm::kChunked) /
         AttendedPairs(shape, WindowForm::kSliding);
}

absl::Status CheckAttention(const AttentionCalibration& calibration) {
  constexpr absl::string_view kPath = "calibration.attention";
  FieldViolations out;
  out.RequireRange(kPath, "compute_units", calibration.compute_units, 1, kMostComputeUnits);
  if (calibration.points.empty()) {
    out.Add(absl::StrCat(kPath, ".points"), "has none; measure some");
  }
  if (calibration.points.size() > kMostKernelPoints) {
    out.Add(absl::StrCat(kPath, ".points"), absl::StrCat("has more than ", kMostKernelPoints));
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
