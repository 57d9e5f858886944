#include "engine/hardware/kernels/matmul_calibration.h"

#include <string>
#include <tuple>

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
  PointCheck(const MatmulCalibration& calibration, FieldViolations& out)
      : peak_(calibration.peak), out_(out) {}

  void Check(absl::string_view field, const std::vector<MatmulPoint>& matmuls) {
    for (size_t i = 0; i < matmuls.size(); ++i) {
      Check(absl::StrCat(kPath, ".", field, "[", i, "]"), matmuls[i]);
    }
  }

 private:
  void Check(const std::string& path, const MatmulPoint& matmul) {
    const MatmulShape& shape = matmul.shape;
    out_.RequireRange(path, "m", shape.m, 1, kMaxKernelSize);
    out_.RequireRange(path, "n", shape.n, 1, kMaxKernelSize);
    out_.RequireRange(path, "k", shape.k, 1, kMaxKernelSize);
    CheckKernelTime(path, matmul.time, out_);
    if (out_.Mentions(path)) return;
    if (shape.pass != MatmulPass::kForward) out_.Add(path, "must be of the forward pass");
    if (!seen_.insert({shape.m, shape.n, shape.k}).second) {
      out_.Add(path, "has the shape of an earlier point");
    }
    CheckKernelRate(path, MatmulFlops(shape), matmul.time, peak_, out_);
  }

  const absl::optional<FlopsPerSecond> peak_;
  FieldViolations& out_;
  absl::flat_hash_set<Dimensions> seen_;
};

}  // namespace

absl::Status CheckMatmulCalibration(const MatmulCalibration& calibration) {
  FieldViolations out;
  if (MatmulElementBytes(calibration.type.data_type) <= 0) {
    out.Add(absl::StrCat(kPath, ".data_type"), "must be a type that matrices are multiplied in");
  }
  if (calibration.compute_units.has_value()) {
    out.RequireRange(kPath, "compute_units", *calibration.compute_units, 1, kMaxComputeUnits);
  }
  const size_t count = calibration.points.size() + calibration.checks.size();
  if (count < kMinMatmulPoints || count > kMaxKernelPoints) {
    out.Add(absl::StrCat(kPath, ".points"),
            absl::StrCat("has ", count, " shapes, checks included; want ", kMinMatmulPoints, " to ",
                         kMaxKernelPoints));
    return out.ToStatus();
  }
  PointCheck check(calibration, out);
  check.Check("points", calibration.points);
  check.Check("checks", calibration.checks);
  return out.ToStatus();
}

}  // namespace sextant
