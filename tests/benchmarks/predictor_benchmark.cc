// Time of predicting multiplications and attention, and of making their models.
#include <benchmark/benchmark.h>

#include <array>
#include <cmath>
#include <random>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/predict/attention_predictor.h"
#include "engine/hardware/predict/matmul_predictor.h"
#include "engine/hardware/reference/reference_matmuls.h"

namespace sextant {
namespace {

// Many different sizes, so that no branch is learnt; most within the grid.
std::array<MatmulShape, 1024> Shapes() {
  std::mt19937_64 random(1);
  const auto draw = [&](double from, double to) {
    return static_cast<int64_t>(
        std::exp2(std::uniform_real_distribution<double>(from, to)(random)));
  };
  std::array<MatmulShape, 1024> out;
  for (MatmulShape& shape : out) shape = {draw(4, 13), draw(9.5, 14.5), draw(9.5, 14.5)};
  return out;
}

void Predict(benchmark::State& state) {
  const MatmulModel& model = *ReferenceMatmuls("a100-sxm-80", MatmulTypeNamed("bf16"));
  const std::array<MatmulShape, 1024> shapes = Shapes();
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model.Predict(shapes[at]));
    at = (at + 1) % shapes.size();
  }
}
BENCHMARK(Predict)->Name("GemmPredict");

const MatmulPredictor& Predictor() {
  static const auto* const predictor = new MatmulPredictor(
      *MatmulPredictor::OfAccelerator(*AcceleratorNamed("a100-sxm-80"), DataType::kBf16));
  return *predictor;
}

// Sizes are drawn, so that nearly all are off a multiple of 64; `aligned` rounds n and k.
void PredictOnDevice(benchmark::State& state, bool aligned) {
  std::array<MatmulShape, 1024> shapes = Shapes();
  for (MatmulShape& shape : shapes) {
    if (!aligned) break;
    shape.n = (shape.n + 63) / 64 * 64;
    shape.k = (shape.k + 63) / 64 * 64;
  }
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Predictor().Predict(shapes[at]));
    at = (at + 1) % shapes.size();
  }
}
BENCHMARK_CAPTURE(PredictOnDevice, aligned, true)->Name("GemmPredictor");
BENCHMARK_CAPTURE(PredictOnDevice, off_64, false)->Name("GemmPredictorOff64");

void Share(benchmark::State& state) {
  const std::array<MatmulShape, 1024> shapes = Shapes();
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Predictor().WorkShare(shapes[at]));
    at = (at + 1) % shapes.size();
  }
}
BENCHMARK(Share)->Name("GemmWorkShare");

void Make(benchmark::State& state) {
  const MatmulCalibration calibration =
      *ReferenceMatmulCalibration("a100-sxm-80", MatmulTypeNamed("bf16"));
  for (auto _ : state) benchmark::DoNotOptimize(MatmulModel::Of(calibration));
}
BENCHMARK(Make)->Name("GemmModelOf");

void PredictAttention(benchmark::State& state) {
  const auto predictor =
      AttentionPredictor::OfAccelerator(*AcceleratorNamed("h100-sxm"), DataType::kBf16);
  AttentionShape shape = {.batch = 1,
                          .sequence = 1024,
                          .heads = 32,
                          .key_value_heads = 8,
                          .query_key_head_size = 128,
                          .value_head_size = 128};
  for (auto _ : state) {
    shape.sequence = shape.sequence % 16384 + 512;
    benchmark::DoNotOptimize(predictor->Predict(shape));
  }
}
BENCHMARK(PredictAttention)->Name("AttentionPredict");

void MakeAttentionPredictor(benchmark::State& state) {
  const Accelerator& product = *AcceleratorNamed("h100-sxm");
  for (auto _ : state) {
    benchmark::DoNotOptimize(AttentionPredictor::OfAccelerator(product, DataType::kBf16));
  }
}
BENCHMARK(MakeAttentionPredictor)->Name("AttentionPredictorOfAccelerator");

}  // namespace
}  // namespace sextant
