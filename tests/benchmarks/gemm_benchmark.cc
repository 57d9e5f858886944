// What predicting a multiplication costs, and what making a model of one type does.
#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <random>

#include "engine/hardware/reference/reference_gemms.h"

namespace sextant {
namespace {

// Of many sizes, so that no branch is learnt.
std::array<GemmShape, 1024> Shapes() {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(4, 15);
  const auto draw = [&] { return static_cast<int64_t>(std::exp2(exponent(random))); };
  std::array<GemmShape, 1024> out;
  for (GemmShape& shape : out) shape = {draw(), draw(), draw()};
  return out;
}

void Predict(benchmark::State& state, const char* device) {
  const GemmModel& model = *ReferenceGemms(device, GemmTypeNamed("bf16"));
  const std::array<GemmShape, 1024> shapes = Shapes();
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model.Predict(shapes[at]));
    at = (at + 1) % shapes.size();
  }
}
// Tiles and waves, and the grid alone.
BENCHMARK_CAPTURE(Predict, a100, "a100-sxm-80")->Name("GemmPredictTiles");
BENCHMARK_CAPTURE(Predict, h100, "h100-sxm")->Name("GemmPredictGrid");

void Make(benchmark::State& state) {
  const GemmCalibration calibration =
      *ReferenceGemmCalibration("a100-sxm-80", GemmTypeNamed("bf16"));
  for (auto _ : state) benchmark::DoNotOptimize(GemmModel::Of(calibration));
}
BENCHMARK(Make)->Name("GemmModelOf");

}  // namespace
}  // namespace sextant
