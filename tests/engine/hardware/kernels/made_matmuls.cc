#include "tests/engine/hardware/kernels/made_matmuls.h"

#include <cmath>

#include "tests/engine/hardware/kernels/matmul_choice.h"

namespace sextant {
namespace {

constexpr int64_t kUnits = 100;

double MemorySeconds(const MatmulShape& s) {
  const auto m = static_cast<double>(s.m);
  const auto n = static_cast<double>(s.n);
  const auto k = static_cast<double>(s.k);
  return 2 * (m * k + n * k + m * n) / 3e12;
}

}  // namespace

double AddedSeconds(const MatmulShape& shape) {
  return MatmulFlops(shape).value() / 1e15 + MemorySeconds(shape) + 4e-6;
}

double WavesSeconds(const MatmulShape& shape) {
  const double tiles =
      std::ceil(static_cast<double>(shape.m) / 128) * std::ceil(static_cast<double>(shape.n) / 256);
  const double tile_seconds = 2.0 * 128 * 256 * static_cast<double>(shape.k) / (1e15 / kUnits);
  return std::ceil(tiles / kUnits) * tile_seconds + MemorySeconds(shape) + 4e-6;
}

MatmulCalibration MadeMatmuls(const MatmulLaw& law) {
  std::vector<MatmulPoint> all;
  for (const auto& shapes : {MatmulPointShapes(), MatmulCheckShapes()}) {
    for (const MatmulShape& shape : shapes) all.push_back({shape, Seconds(law(shape))});
  }
  MatmulCalibration out = {.type = {DataType::kBf16, MatmulScaling::kNone},
                           .compute_units = kUnits};
  ChooseMatmulPoints(all, out);
  return out;
}

}  // namespace sextant
