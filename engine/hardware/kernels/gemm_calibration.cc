#include "engine/hardware/kernels/gemm_calibration.h"

#include <string>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/kernels/kernel_time.h"

namespace sextant {
namespace {

constexpr absl::string_view kPath = "calibration.gemm";

using Dimensions = std::tuple<int64_t, int64_t, int64_t>;

class PointCheck {
 public:
  PointCheck(const GemmCalibration& calibration, FieldViolations& out)
      : peak_(calibration.peak), out_(out) {}

  void Check(absl::string_view field, const std::vector<MeasuredGemm>& gemms) {
    for (size_t i = 0; i < gemms.size(); ++i) {
      Check(absl::StrCat(kPath, ".", field, "[", i, "]"), gemms[i]);
    }
  }

 private:
  void Check(const std::string& path, const MeasuredGemm& gemm) {
    const GemmShape& shape = gemm.shape;
    out_.RequireRange(path, "m", shape.m, 1, kMaxKernelSize);
    out_.RequireRange(path, "n", shape.n, 1, kMaxKernelSize);
    out_.RequireRange(path, "k", shape.k, 1, kMaxKernelSize);
    CheckKernelTime(path, gemm.time, out_);
    if (out_.Mentions(path)) return;
    if (shape.pass != GemmPass::kForward) out_.Add(path, "must be of the forward pass");
    if (!seen_.insert({shape.m, shape.n, shape.k}).second) {
      out_.Add(path, "has the shape of an earlier point");
    }
    CheckKernelRate(path, GemmFlops(shape), gemm.time, peak_, out_);
  }

  const absl::optional<FlopsPerSecond> peak_;
  FieldViolations& out_;
  absl::flat_hash_set<Dimensions> seen_;
};

std::vector<GemmShape> ShapesOf(const std::vector<MatmulSize>& sizes) {
  std::vector<GemmShape> out;
  out.reserve(sizes.size());
  for (const MatmulSize& size : sizes) out.push_back({size.m, size.n, size.k});
  return out;
}

using Measured = absl::flat_hash_map<std::tuple<int64_t, int64_t, int64_t>, Seconds>;

std::vector<MeasuredGemm> FirstOf(const std::vector<GemmShape>& shapes, const Measured& measured,
                                  size_t most) {
  std::vector<MeasuredGemm> out;
  for (const GemmShape& shape : shapes) {
    if (out.size() == most) break;
    const auto found = measured.find({shape.m, shape.n, shape.k});
    if (found != measured.end()) out.push_back({shape, found->second});
  }
  return out;
}

}  // namespace

absl::Status CheckGemmCalibration(const GemmCalibration& calibration) {
  FieldViolations out;
  if (GemmElementBytes(calibration.type.data_type) <= 0) {
    out.Add(absl::StrCat(kPath, ".data_type"), "must be a type that matrices are multiplied in");
  }
  if (calibration.compute_units.has_value()) {
    out.RequireRange(kPath, "compute_units", *calibration.compute_units, 1, kMaxComputeUnits);
  }
  const size_t count = calibration.points.size() + calibration.checks.size();
  if (count < kMinGemmPoints || count > kMaxKernelPoints) {
    out.Add(absl::StrCat(kPath, ".points"),
            absl::StrCat("has ", count, " shapes, checks included; want ", kMinGemmPoints, " to ",
                         kMaxKernelPoints));
    return out.ToStatus();
  }
  PointCheck check(calibration, out);
  check.Check("points", calibration.points);
  check.Check("checks", calibration.checks);
  return out.ToStatus();
}

std::vector<GemmShape> GemmPointShapes() { return ShapesOf(MatmulGridPoints()); }

std::vector<GemmShape> GemmCheckShapes() { return ShapesOf(MatmulGridChecks()); }

void ChooseGemmPoints(absl::Span<const MeasuredGemm> measured, GemmCalibration& calibration) {
  Measured times;
  times.reserve(measured.size());
  for (const MeasuredGemm& gemm : measured) {
    if (gemm.shape.pass != GemmPass::kForward) continue;
    times.insert({{gemm.shape.m, gemm.shape.n, gemm.shape.k}, gemm.time});
  }
  calibration.points = FirstOf(GemmPointShapes(), times, kMatmulPointCount);
  calibration.checks = FirstOf(GemmCheckShapes(), times, kMatmulCheckCount);
}

}  // namespace sextant
