// Rows of small models, worked by hand, and faults of other tools that must not be ours.
#include "engine/memory/state/stage_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/memory/state/state_cases.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

TEST(StageState, OfOneGpuIsSixteenBytesAParameter) {
  const StageState state = StateOf(DenseCase());
  EXPECT_EQ(state.weights, Bytes(2 * 3560));
  EXPECT_EQ(state.gradients, Bytes(2 * 3560));
  EXPECT_EQ(state.master_weights, Bytes(4 * 3560));
  EXPECT_EQ(state.optimizer_state, Bytes(8 * 3560));
  EXPECT_EQ(state.total(), Bytes(16 * 3560));
  EXPECT_EQ(state.host + state.transients(), Bytes(0));
}

TEST(StageState, ListsATermOfATensorARow) {
  const LedgerRow row = RowOf(DenseCase(), "attention.key.second_moment");
  EXPECT_EQ(row.kind, LedgerKind::kOptimizerState);
  EXPECT_EQ(row.part, ModelPart::kDecoder);
  EXPECT_EQ(row.layer_kind, 0);
  EXPECT_THAT(row.dimensions, ElementsAre(4, 8, 0));  // 2 heads of 2
  EXPECT_EQ(row.data_type, DataType::kFp32);
  EXPECT_EQ(row.element_bits, 32);
  EXPECT_EQ(row.elements, 32);
  EXPECT_EQ(row.layers, 2);
  EXPECT_EQ(row.size, Bytes(4 * 32 * 2));
  EXPECT_EQ(row.alive, "always");
  EXPECT_FALSE(row.why.empty());
  EXPECT_FALSE(row.source.empty());
  EXPECT_THAT(RowOf(DenseCase(), "norm.final.weight").dimensions, ElementsAre(8, 0, 0));
  EXPECT_THAT(RowOf(ExpertsCase(), "experts.up.weight").dimensions, ElementsAre(4, 3, 8));
}

// The rows of 12 tensors: 3 outside the layers, 9 in each; by 5 terms.
TEST(StageState, HasNoOtherRows) {
  LedgerRows rows;
  StateOf(DenseCase(), 0, &rows);
  EXPECT_EQ(rows.size(), 12u * 5u);
}

// 3 ranks share 64 x 2 numbers of a matrix over both layers: 42.67, so 43.
TEST(StageState, SharesOutWhatItsZeroStageSays) {
  StateCase c = DenseCase();
  c.state.sharding.data_parallel_size = 3;
  const struct {
    ZeroStage zero;
    int64_t weight;
    int64_t gradient;
    int64_t moment;
  } stages[] = {{ZeroStage::kNone, 128, 128, 128},
                {ZeroStage::kOptimizer, 128, 128, 43},
                {ZeroStage::kGradients, 128, 43, 43},
                {ZeroStage::kParameters, 43, 43, 43}};
  for (const auto& s : stages) {
    c.state.sharding.zero_stage = s.zero;
    auto elements = ElementsByRow(c);
    EXPECT_EQ(elements["attention.query.weight"], s.weight);
    EXPECT_EQ(elements["attention.query.gradient"], s.gradient);
    EXPECT_EQ(elements["attention.query.master_weight"], s.moment);
    EXPECT_EQ(elements["attention.query.first_moment"], s.moment);
  }
  // A divided row has all layers together, and the shape of what is divided.
  const LedgerRow row = RowOf(c, "attention.query.weight");
  EXPECT_EQ(row.layers, 1);
  EXPECT_THAT(row.dimensions, ElementsAre(8, 8, 0));
}

// Ranks of context parallelism hold the same weights; of tensor parallelism, other parts.
TEST(StageState, IsSharedByContextRanksToo) {
  StateCase c = DenseCase();
  c.layout.tensor_parallel_size = 2;
  c.state.sharding = {.data_parallel_size = 2, .zero_stage = ZeroStage::kOptimizer};
  c.context_parallel_size = 4;
  auto elements = ElementsByRow(c);
  EXPECT_EQ(elements["feed_forward.up.weight"], 256 / 2 * 2);
  EXPECT_EQ(elements["feed_forward.up.first_moment"], 256 / 2 * 2 / 8);
  EXPECT_EQ(elements["norm.final.first_moment"], 8 / 8);
}

// HSDP: groups of 2 among 8 ranks.
TEST(StageState, IsSharedWithinTheGroupAlone) {
  StateCase c = DenseCase();
  c.state.sharding = {
      .data_parallel_size = 8, .zero_stage = ZeroStage::kParameters, .shard_group_size = 2};
  EXPECT_EQ(StateOf(c).weights, Bytes(2 * 3560 / 2));
}

TEST(StageState, OfGradientsInFp32) {
  StateCase c = DenseCase();
  c.state.precision = WithDefaults({.gradient_data_type = DataType::kFp32});
  EXPECT_EQ(StateOf(c).gradients, Bytes(4 * 3560));
  EXPECT_EQ(RowOf(c, "norm.final.gradient").data_type, DataType::kFp32);
}

// 4 experts of 3 matrices of 3 x 8 in 2 layers. 8 GPUs of a stage, x = 2: 4 copies of each half.
TEST(StageState, DividesExpertsAmongTheirOwnCopies) {
  StateCase c = ExpertsCase();
  c.layout.expert_parallel_size = 2;
  c.state.sharding = {.data_parallel_size = 8, .zero_stage = ZeroStage::kOptimizer};
  auto elements = ElementsByRow(c);
  EXPECT_EQ(elements["experts.up.weight"], 2 * 24 * 2);
  EXPECT_EQ(elements["experts.up.first_moment"], 2 * 24 * 2 / 4);
  EXPECT_EQ(elements["attention.query.first_moment"], 64 * 2 / 8);
}

// t = 2, x = 4, x_t = 1: dense parts are shared by d = 4 ranks, experts by 4 x 2 / 4 = 2.
TEST(StageState, DividesExpertsOfTheirOwnTensorRanks) {
  StateCase c = ExpertsCase();
  c.layout.tensor_parallel_size = 2;
  c.layout.expert_parallel_size = 4;
  c.layout.expert_tensor_parallel_size = 1;
  c.state.sharding = {.data_parallel_size = 4, .zero_stage = ZeroStage::kOptimizer};
  auto elements = ElementsByRow(c);
  EXPECT_EQ(elements["experts.up.weight"], 24 * 2);
  EXPECT_EQ(elements["experts.up.first_moment"], 24 * 2 / 2);
  EXPECT_EQ(elements["attention.query.first_moment"], 64 / 2 * 2 / 4);
}

// Groups of 2 of 4 ranks: 2 x 2 / 4 = 1 GPU of a group has each expert.
TEST(StageState, DividesExpertsWithinTheGroup) {
  StateCase c = ExpertsCase();
  c.layout.tensor_parallel_size = 2;
  c.layout.expert_parallel_size = 4;
  c.layout.expert_tensor_parallel_size = 1;
  c.state.sharding = {
      .data_parallel_size = 4, .zero_stage = ZeroStage::kOptimizer, .shard_group_size = 2};
  auto elements = ElementsByRow(c);
  EXPECT_EQ(elements["experts.up.first_moment"], 24 * 2);
  EXPECT_EQ(elements["attention.query.first_moment"], 64 / 2 * 2 / 2);
}

// The last of two stages has the head's matrix once more, and trains it.
TEST(StageState, OfATiedHeadIsOnBothEnds) {
  StateCase c = DenseCase();
  c.spec.output.head = OutputHeadKind::kTied;
  c.layout.pipeline_parallel_size = 2;
  EXPECT_EQ(StateOf(c, 0).total(), Bytes(16 * (800 + 976)));
  EXPECT_EQ(StateOf(c, 1).total(), Bytes(16 * (976 + 8 + 800)));
  EXPECT_EQ(ElementsByRow(c, 1)["token_embedding.second_moment"], 800);
}

TEST(StageState, OfUnevenStages) {
  StateCase c = DenseCase();
  c.layout.pipeline_parallel_size = 3;
  c.layout.layers_per_chunk = {0, 2, 0};
  EXPECT_EQ(StateOf(c, 0).total(), Bytes(16 * 800));
  EXPECT_EQ(StateOf(c, 1).total(), Bytes(16 * 2 * 976));
  EXPECT_EQ(StateOf(c, 2).total(), Bytes(16 * (8 + 800)));
}

// Adapters of rank 2 on query (8 x 8) in 2 layers: 2 x 8 and 8 x 2 numbers each.
TEST(StageState, OfAdaptersIsAllThatIsTrained) {
  StateCase c = DenseCase();
  c.spec.adapters = AdapterSpec{.rank = 2, .targets = {{"attention", "query"}}};
  c.spec.base_frozen = true;
  const StageState state = StateOf(c);
  EXPECT_EQ(state.weights, Bytes(2 * (3560 + 64)));
  EXPECT_EQ(state.gradients, Bytes(2 * 64));
  EXPECT_EQ(state.master_weights, Bytes(4 * 64));
  EXPECT_EQ(state.optimizer_state, Bytes(8 * 64));
  auto elements = ElementsByRow(c);
  EXPECT_EQ(elements["attention.query.adapter_up.first_moment"], 32);
  EXPECT_EQ(elements.count("attention.query.first_moment"), 0u);
}

TEST(StageState, OfFrozenLayersIsTheirWeights) {
  StateCase c = DenseCase();
  c.spec.decoder.layers = {{.layer_kind = 0, .count = 1, .frozen = true},
                           {.layer_kind = 0, .count = 1}};
  const LedgerRow gradient = RowOf(c, "attention.query.gradient");
  EXPECT_EQ(gradient.layers, 1);
  EXPECT_EQ(RowOf(c, "attention.query.weight").layers, 2);
  EXPECT_EQ(StateOf(c).gradients, Bytes(2 * (3560 - 976)));
}

TEST(StageState, OffloadedIsTheHosts) {
  StateCase c = DenseCase();
  c.state.sharding = {
      .data_parallel_size = 4, .zero_stage = ZeroStage::kGradients, .offload_optimizer = true};
  LedgerRows rows;
  const StageState state = StateOf(c, 0, &rows);
  EXPECT_EQ(state.total(), Bytes(2 * 3560));
  // Gradients go along: 2 + 4 + 8 bytes.
  EXPECT_EQ(state.host, Bytes(14 * 3560 / 4));
  // On their way, a layer's: 976 numbers. The root's are more: 800 + 800 + 8.
  EXPECT_EQ(state.gathered_gradients, Bytes(2 * 1608));
  for (const LedgerRow& row : rows) {
    EXPECT_TRUE(row.kind == LedgerKind::kWeight || row.kind == LedgerKind::kTransient);
  }
}

// Megatron's gradients add up on the device, and go to the host at the step.
TEST(StageState, GradientsMayStayUntilTheStep) {
  StateCase c = DenseCase();
  c.state.sharding = {
      .data_parallel_size = 4, .zero_stage = ZeroStage::kOptimizer, .offload_optimizer = true};
  c.state.gradient_offload = GradientOffload::kAtStep;
  const StageState state = StateOf(c);
  EXPECT_EQ(state.total(), Bytes((2 + 2) * 3560));
  EXPECT_EQ(state.host, Bytes(12 * 3560 / 4));
  EXPECT_EQ(state.gathered_gradients, Bytes(0));
}

TEST(StageState, OffloadedWithItsWeightsLeavesWhatIsGathered) {
  StateCase c = DenseCase();
  c.state.sharding = {.data_parallel_size = 4,
                      .zero_stage = ZeroStage::kParameters,
                      .offload_optimizer = true,
                      .offload_parameters = true};
  const StageState state = StateOf(c);
  EXPECT_EQ(state.total(), Bytes(0));
  EXPECT_EQ(state.host, Bytes(16 * 3560 / 4));
  EXPECT_EQ(state.gathered_weights, Bytes(2 * (1608 + 2 * 976)));
}

TEST(StageState, OfNoStageIsRefused) {
  StateCase c = DenseCase();
  c.layout.pipeline_parallel_size = 2;
  const auto weights = ShardedWeights::Of(c.spec, "model", c.layout, "layout");
  ASSERT_THAT(weights, IsOk());
  for (const int64_t stage : {int64_t{-1}, int64_t{2}, INT64_MAX, INT64_MIN}) {
    EXPECT_THAT(StageStateOf({c.spec, c.layout, *weights, c.state}, stage),
                NamesFields(ElementsAre("stage")));
  }
}

// The largest model that is counted, in the widest formats.
TEST(StageState, OfTheLargestModelFitsAnInt64) {
  StateCase c = DenseCase();
  c.spec.hidden_size = 10'000'000;
  c.spec.layer_kinds[0].feed_forward->size = 33'000'000;
  c.spec.decoder.layers[0].count = 1;
  c.state.precision = WithDefaults({.compute_data_type = DataType::kFp64,
                                    .weight_data_type = DataType::kFp64,
                                    .gradient_data_type = DataType::kFp64,
                                    .optimizer_data_type = DataType::kFp64});
  c.state.sharding = {.data_parallel_size = 1, .zero_stage = ZeroStage::kParameters};
  // 3 x 3.3e7 x 1e7 of the feed-forward; the rest is small: 8 + 8 + 16 bytes.
  EXPECT_NEAR(static_cast<double>(StateOf(c).total().value()) / (32 * 9.9e14), 1, 0.01);
}

// GPT-3 as case A has it, without biases, positions and padding.
StateCase CaseA() {
  StateCase c = DenseCase();
  c.spec.hidden_size = 12288;
  c.spec.norm = NormVariant::kLayerNorm;
  c.spec.embedding.vocabulary_size = 51200;
  c.spec.layer_kinds = {DenseLayer(Heads(96, 96, 128), Plain(4 * 12288))};
  c.spec.layer_kinds[0].norm = NormVariant::kLayerNorm;
  c.spec.decoder.layers = {{.layer_kind = 0, .count = 96}};
  c.spec.output.head = OutputHeadKind::kTied;
  c.layout = {.tensor_parallel_size = 8, .pipeline_parallel_size = 8};
  c.state.precision = WithDefaults({.gradient_data_type = DataType::kFp32});
  return c;
}

// DeepSpeed autotuner, issue 6796: parameters divided by all GPUs, and then by tensor parallelism
// once more.
TEST(StatePeerFaults, RanksOfTensorParallelismDivideOnce) {
  StateCase c = DenseCase();
  c.layout.tensor_parallel_size = 2;
  c.state.sharding = {.data_parallel_size = 4, .zero_stage = ZeroStage::kParameters};
  // Each of 8 GPUs has an eighth of the sharded tensors, and a quarter of the norms' 40 numbers.
  EXPECT_EQ(StateOf(c).weights, Bytes(2 * (3520 / 8 + 40 / 4)));
}

// cookbook: gradients of the whole model on every GPU, 2,626 GiB in case A.
TEST(StatePeerFaults, GradientsAreThoseOfTheWeightsHere) {
  const StageState state = StateOf(CaseA(), 3);
  EXPECT_EQ(state.gradients, state.weights * 2);  // fp32, of bf16 weights
  EXPECT_LT(state.gradients.value(), int64_t{12} << 30);
}

// calculon: no embedding, gradients in 16 bits: 10 % low.
TEST(StatePeerFaults, EmbeddingsAndGradientTypesCount) {
  const StateCase c = CaseA();
  const double first = static_cast<double>(StateOf(c, 0).total().value());
  const double middle = static_cast<double>(StateOf(c, 3).total().value());
  EXPECT_EQ(StateOf(c, 0).total() - StateOf(c, 3).total(), Bytes(18 * 51200 * int64_t{12288} / 8));
  EXPECT_GT(first / (40.93 * (1 << 30)), 1.1);
  EXPECT_GT(middle, 45.5 * (1 << 30));
}

// llm-analysis: embeddings always tied.
TEST(StatePeerFaults, AnUntiedHeadCounts) {
  StateCase c = DenseCase();
  const Bytes untied = StateOf(c).total();
  c.spec.output.head = OutputHeadKind::kTied;
  EXPECT_EQ(untied - StateOf(c).total(), Bytes(16 * 800));
}

}  // namespace
}  // namespace sextant
