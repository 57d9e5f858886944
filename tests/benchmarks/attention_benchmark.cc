// Time of predicting attention, and of looking up a product's published attention.
#include <benchmark/benchmark.h>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/predict/attention_predictor.h"

namespace sextant {
namespace {

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
