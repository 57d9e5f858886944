#include "tests/engine/hardware/kernels/matmul_choice.h"

#include <cstddef>
#include <map>
#include <tuple>

#include "engine/base/matmul_grid.h"

namespace sextant {
namespace {

std::vector<MatmulShape> ShapesOf(const std::vector<MatmulSize>& sizes) {
  std::vector<MatmulShape> out;
  out.reserve(sizes.size());
  for (const MatmulSize& size : sizes) out.push_back({size.m, size.n, size.k});
  return out;
}

using Measured = std::map<std::tuple<int64_t, int64_t, int64_t>, Seconds>;

std::vector<MatmulPoint> FirstOf(const std::vector<MatmulShape>& shapes, const Measured& measured,
                                 size_t most) {
  std::vector<MatmulPoint> out;
  for (const MatmulShape& shape : shapes) {
    if (out.size() == most) break;
    const auto found = measured.find({shape.m, shape.n, shape.k});
    if (found != measured.end()) out.push_back({shape, found->second});
  }
  return out;
}

}  // namespace

std::vector<MatmulShape> MatmulPointShapes() { return ShapesOf(MatmulGridPoints()); }

std::vector<MatmulShape> MatmulCheckShapes() { return ShapesOf(MatmulGridChecks()); }

void ChooseMatmulPoints(absl::Span<const MatmulPoint> measured, MatmulCalibration& calibration) {
  Measured times;
  for (const MatmulPoint& matmul : measured) {
    if (matmul.shape.pass != MatmulPass::kForward) continue;
    times.insert({{matmul.shape.m, matmul.shape.n, matmul.shape.k}, matmul.time});
  }
  calibration.points = FirstOf(MatmulPointShapes(), times, kMatmulPointCount);
  calibration.checks = FirstOf(MatmulCheckShapes(), times, kMatmulCheckCount);
}

}  // namespace sextant
