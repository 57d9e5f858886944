// Faults of other tools that must not be ours, each under its name.
#include <gtest/gtest.h>

#include "tests/engine/memory/state/state_cases.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

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
