#include "tests/engine/hardware/kernels/made_gemms.h"

#include <cmath>

#include "engine/hardware/kernels/gemm_calibration.h"

namespace sextant {
namespace {

constexpr int64_t kUnits = 100;

double MemorySeconds(const GemmShape& s) {
  const auto m = static_cast<double>(s.m);
  const auto n = static_cast<double>(s.n);
  const auto k = static_cast<double>(s.k);
  return 2 * (m * k + n * k + m * n) / 3e12;
}

}  // namespace

double AddedSeconds(const GemmShape& shape) {
  return GemmFlops(shape).value() / 1e15 + MemorySeconds(shape) + 4e-6;
}

double WavesSeconds(const GemmShape& shape) {
  const double tiles =
      std::ceil(static_cast<double>(shape.m) / 128) * std::ceil(static_cast<double>(shape.n) / 256);
  const double tile_seconds = 2.0 * 128 * 256 * static_cast<double>(shape.k) / (1e15 / kUnits);
  return std::ceil(tiles / kUnits) * tile_seconds + MemorySeconds(shape) + 4e-6;
}

GemmCalibration MadeGemms(const GemmLaw& law) {
  std::vector<MeasuredGemm> all;
  for (const auto& shapes : {GemmPointShapes(), GemmCheckShapes()}) {
    for (const GemmShape& shape : shapes) all.push_back({shape, Seconds(law(shape))});
  }
  GemmCalibration out = {.type = {DataType::kBf16, GemmScaling::kNone}, .compute_units = kUnits};
  ChooseGemmPoints(all, out);
  return out;
}

}  // namespace sextant
