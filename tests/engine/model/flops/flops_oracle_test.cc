// FLOPs and parameters of random models, against the accounting of single operations: each model
// is written out as a graph, layer by layer and head by head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/flops/count_flops.h"
#include "tests/engine/model/flops/flops_cases.h"
#include "tests/engine/model/flops/model_graph.h"
#include "tests/engine/model/flops/random_models.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

constexpr uint32_t kModels = 400;

struct GraphFlops {
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;
};

// Matrix products alone. Each gradient of an operand is a product of the forward one's size;
// that the sum of both is the backward pass's is checked too.
GraphFlops ProductsOf(const GraphWriter& graph, const GraphAnalysis& analysis) {
  GraphFlops out;
  out.forward = analysis.totals.forward.matrix_flops.value();
  for (const GraphOperationRow& row : analysis.operations) {
    const double product = row.forward.sum.matrix_flops.value();
    for (const std::string& operand : row.gradients) {
      if (graph.IsVector(operand)) continue;
      (graph.IsParameter(operand) ? out.weight_gradient : out.input_gradient) += product;
    }
  }
  EXPECT_EQ(out.input_gradient + out.weight_gradient,
            analysis.totals.backward.matrix_flops.value());
  return out;
}

class FlopsOracle : public ::testing::TestWithParam<bool> {};

TEST_P(FlopsOracle, AgreesWithAGraphOfOperations) {
  const bool frozen = GetParam();
  for (uint32_t seed = 0; seed < kModels; ++seed) {
    SCOPED_TRACE(seed);
    RandomModels random(seed, {.windows = false, .frozen = frozen});
    const ArchitectureSpec spec = random.Model();
    const bool two_stacks = !spec.encoder.layers.empty() && !spec.decoder.layers.empty();
    const GraphBatch batch = {.count = random.Between(1, 2),
                              .length = random.Between(1, 4),
                              .encoder_length = two_stacks ? random.Between(1, 4) : 0};
    const GraphWriter graph = ModelGraph(spec, batch);
    const auto analysis = AnalyzeGraph(graph.spec());
    ASSERT_THAT(analysis, IsOk());
    const auto flops =
        CountStepOf(spec, {.sequences = {{batch.count, batch.length, batch.encoder_length}}},
                    FlopsDetail::kTotals);
    ASSERT_THAT(flops, IsOk());
    const auto count = CountArchitecture(spec, "");
    ASSERT_THAT(count, IsOk());

    EXPECT_EQ(count->all.total,
              analysis->totals.trainable_parameters + analysis->totals.frozen_parameters);
    EXPECT_EQ(count->all.trainable, analysis->totals.trainable_parameters);
    const PassFlops step = flops->PerStep(MaskConvention::kFull);
    const GraphFlops expect = ProductsOf(graph, *analysis);
    EXPECT_NEAR(step.forward.value(), expect.forward, 1e-9 * expect.forward);
    EXPECT_NEAR(step.input_gradient.value(), expect.input_gradient, 1e-9 * expect.forward);
    EXPECT_NEAR(step.weight_gradient.value(), expect.weight_gradient, 1e-9 * expect.forward);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Training, FlopsOracle, ::testing::Bool(),
                         [](const auto& run) { return run.param ? "Parts" : "All"; });

}  // namespace
}  // namespace sextant
