// Units that ZeRO stage 3 gathers, computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/memory/state/state_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

// Two ranks. The root is 800 + 800 + 8 numbers, a layer 976.
StateCase Sharded() {
  StateCase c = DenseCase();
  c.spec.decoder.layers[0].count = 6;
  c.state.sharding = {.data_parallel_size = 2, .zero_stage = ZeroStage::kParameters};
  return c;
}

// Small layers of 976 numbers and large ones of 976 + 3 x 8 x 32, in the order given.
StateCase Mixed(const std::vector<LayerRun>& layers) {
  StateCase c = Sharded();
  LayerSpec large = c.spec.layer_kinds[0];
  large.name = "large";
  large.feed_forward = Gated(64);
  c.spec.layer_kinds.push_back(large);
  c.spec.decoder.layers = layers;
  return c;
}

constexpr int64_t kRoot = 1608;
constexpr int64_t kSmall = 976;
constexpr int64_t kLarge = 976 + 768;

TEST(GatheredUnits, AreTheRootAndTheLayersAhead) {
  StateCase c = Sharded();
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + 2 * kSmall)));
  c.state.sharding.prefetched_unit_count = 0;
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + kSmall)));
  c.state.sharding.prefetched_unit_count = 100;
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + 6 * kSmall)));
}

TEST(GatheredUnits, StayWhereTheyAreNotResharded) {
  StateCase c = Sharded();
  c.state.sharding.reshard_after_forward = false;
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + 6 * kSmall)));
}

TEST(GatheredUnits, AreTheLargestInARow) {
  // s L s L L s: two large in a row.
  StateCase c = Mixed({{0, 1}, {1, 1}, {0, 1}, {1, 2}, {0, 1}});
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + 2 * kLarge)));
  c.state.sharding.prefetched_unit_count = 3;
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + 3 * kLarge + kSmall)));
  // s L s s L: never two.
  c = Mixed({{0, 1}, {1, 1}, {0, 2}, {1, 1}});
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + kLarge + kSmall)));
}

// Chunks are gathered apart: of the first stage's s and L, neither follows the other.
TEST(GatheredUnits, AreOfOneChunk) {
  StateCase c = Mixed({{0, 1}, {1, 3}});
  c.layout.pipeline_parallel_size = 2;
  c.layout.virtual_stage_count = 2;
  EXPECT_EQ(StateOf(c, 0).gathered_weights, Bytes(2 * (800 + kLarge)));
  EXPECT_EQ(StateOf(c, 1).gathered_weights, Bytes(2 * (808 + kLarge)));
}

TEST(GatheredUnits, HaveTheGradientsOfOne) {
  // The root's are the most.
  EXPECT_EQ(StateOf(Sharded()).gathered_gradients, Bytes(2 * kRoot));
  StateCase c = Mixed({{0, 1}, {1, 1}});
  c.state.precision = WithDefaults({.gradient_data_type = DataType::kFp32});
  EXPECT_EQ(StateOf(c).gathered_gradients, Bytes(4 * kLarge));
}

// fp32 weights that are computed with in bf16 are gathered in bf16.
TEST(GatheredUnits, AreInTheNarrowerType) {
  StateCase c = Sharded();
  c.state.precision = WithDefaults({.weight_data_type = DataType::kFp32});
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + 2 * kSmall)));
  c.state.precision = WithDefaults({.compute_data_type = DataType::kTf32});
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(4 * (kRoot + 2 * kSmall)));
}

TEST(GatheredUnits, AreNothingOnOneRank) {
  StateCase c = Sharded();
  c.state.sharding.data_parallel_size = 1;
  EXPECT_EQ(StateOf(c).transients(), Bytes(0));
  // But for what lies in host memory.
  c.state.sharding.offload_optimizer = true;
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(0));
  EXPECT_EQ(StateOf(c).gathered_gradients, Bytes(2 * kRoot));
  c.state.sharding.offload_parameters = true;
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + 2 * kSmall)));
}

// Experts that no other rank holds are whole anyway: 4 x 72 of 192 + 16 + 32 + 288 in a layer.
TEST(GatheredUnits, LeaveOutExpertsOfOneRank) {
  StateCase c = ExpertsCase();
  c.state.sharding = {.data_parallel_size = 4, .zero_stage = ZeroStage::kParameters};
  const int64_t all = StateOf(c).gathered_weights.value();
  c.layout.expert_parallel_size = 4;
  EXPECT_EQ(all - StateOf(c).gathered_weights.value(), 2 * 2 * 288);
}

// Layers of one module each: two norms, a final norm, 8 x 16 of projection and a layer.
TEST(GatheredUnits, HaveModulesBehindTheLastLayer) {
  StateCase c = Sharded();
  c.spec.multi_token_prediction = MultiTokenPredictionSpec{.module_count = 1, .layer_kind = 0};
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + 2 * kSmall + 24 + 128)));
}

// Frozen matrices are gathered as they are stored: 960 numbers, 2 or 4 blocks of 64 in each but
// the 64 numbers of query and output and 32 of key and value, which have one.
TEST(GatheredUnits, OfQuantizedLayersAreQuantized) {
  StateCase c = Sharded();
  c.spec.decoder.layers = {{.layer_kind = 0, .count = 3, .frozen = true},
                           {.layer_kind = 0, .count = 1}};
  c.state.frozen.data_type = DataType::kFp4;
  c.state.sharding.prefetched_unit_count = 0;
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + kSmall)));
  c.spec.decoder.layers = {{.layer_kind = 0, .count = 4, .frozen = true}};
  const int64_t scales = 4 * (4 + 3 * 4);
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + 16) + 960 / 2 + scales));
  EXPECT_EQ(StateOf(c).gathered_gradients, Bytes(2 * kRoot));
}

// fp8 weights bring a scale a tensor along: 3 of the root, 9 of a layer.
TEST(GatheredUnits, HaveTheirScales) {
  StateCase c = Sharded();
  c.state.precision.weight_data_type = DataType::kFp8;
  c.state.weight_scaling = WeightScaling::kTensor;
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(kRoot + 2 * kSmall + 4 * (3 + 2 * 9)));
}

// Adapters of rank 2 on a query of 8 x 8, with layers frozen one by one or all together.
TEST(GatheredUnits, HaveTheGradientsOfAdaptersAlone) {
  StateCase c = Sharded();
  c.spec.adapters = AdapterSpec{.rank = 2, .targets = {{"attention", "query"}}};
  c.spec.base_frozen = true;
  EXPECT_EQ(StateOf(c).gathered_gradients, Bytes(2 * 32));
  EXPECT_EQ(StateOf(c).gathered_weights, Bytes(2 * (kRoot + 2 * (kSmall + 32))));
  c.spec.base_frozen = false;
  c.spec.frozen_components = {WeightComponent::kTokenEmbedding, WeightComponent::kOutputHead};
  c.spec.decoder.layers[0].frozen = true;
  EXPECT_EQ(StateOf(c).gathered_gradients, Bytes(2 * 32));
}

TEST(GatheredUnits, AreListed) {
  LedgerRows rows;
  const StageState state = StateOf(Sharded(), 0, &rows);
  int64_t transients = 0;
  for (const LedgerRow& row : rows) {
    if (row.kind == LedgerKind::kTransient) transients += row.size.value();
  }
  EXPECT_EQ(Bytes(transients), state.transients());
  EXPECT_EQ(RowOf(Sharded(), "gathered_weights.root").elements, kRoot);
  EXPECT_EQ(RowOf(Sharded(), "gathered_weights.layers").elements, 2 * kSmall);
  EXPECT_EQ(RowOf(Sharded(), "gathered_gradients.largest_unit").elements, kRoot);
}

}  // namespace
}  // namespace sextant
