// Each operation's sizes and its output's shape, as its inputs' shapes make them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/operation/analysis.h"
#include "engine/operation/graph_nodes.h"
#include "tests/engine/operation/graphs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

struct SizesCase {
  const char* name;
  Operation given;            // sizes left 0
  std::vector<Shape> inputs;  // those that are of ids are in `ids`
  std::vector<size_t> ids;
  Operation sized;  // the same with its sizes, computed by hand
  Shape output;
};

SizesCase Sized(const char* name, Operation given, std::vector<Shape> inputs, Operation sized,
                Shape output, std::vector<size_t> ids = {}) {
  return {name,           std::move(given), std::move(inputs),
          std::move(ids), std::move(sized), std::move(output)};
}

const std::vector<SizesCase>& SizesCases() {
  static const auto& cases = *new std::vector<SizesCase>{
      Sized("Matmul", Matmul{}, {{2, 3, 4}, {4, 5}}, Matmul{.m = 6, .n = 5, .k = 4}, {2, 3, 5}),
      Sized("MatmulOfAVector", Matmul{}, {{4}, {4, 5}}, Matmul{.m = 1, .n = 5, .k = 4}, {5}),
      Sized("BatchedMatmul", BatchedMatmul{}, {{2, 7, 3, 4}, {2, 7, 4, 5}},
            BatchedMatmul{.batch = 14, .m = 3, .n = 5, .k = 4}, {2, 7, 3, 5}),
      Sized("Linear", Linear{}, {{2, 3, 4}, {4, 5}},
            Linear{.rows = 6, .input_size = 4, .output_size = 5}, {2, 3, 5}),
      Sized("LinearWithBias", Linear{}, {{3, 4}, {4, 5}, {5}},
            Linear{.rows = 3, .input_size = 4, .output_size = 5, .bias = true}, {3, 5}),
      Sized("LinearWithSizesThatAgree", Linear{.rows = 3, .output_size = 5, .bias = true},
            {{3, 4}, {4, 5}, {5}},
            Linear{.rows = 3, .input_size = 4, .output_size = 5, .bias = true}, {3, 5}),
      Sized("AddOfThree", Plain(ElementwiseFunction::kAdd), {{2, 3}, {2, 3}, {2, 3}},
            Elementwise{.count = 6, .input_count = 3, .function = ElementwiseFunction::kAdd},
            {2, 3}),
      Sized("ScalarSquare", Plain(ElementwiseFunction::kSquare), {{}},
            Elementwise{.count = 1, .function = ElementwiseFunction::kSquare}, {}),
      Sized("Reduction", Reduction{}, {{2, 3, 4}}, Reduction{.outer = 6, .reduced = 4}, {2, 3}),
      Sized("ReductionOfAVector", Reduction{}, {{4}}, Reduction{.outer = 1, .reduced = 4}, {}),
      Sized("Softmax", Softmax{}, {{2, 3, 4}}, Softmax{.rows = 6, .columns = 4}, {2, 3, 4}),
      Sized("LayerNorm", LayerNorm{}, {{2, 3, 4}, {4}, {4}}, LayerNorm{.rows = 6, .columns = 4},
            {2, 3, 4}),
      Sized("RmsNorm", RmsNorm{}, {{3, 4}, {4}}, RmsNorm{.rows = 3, .columns = 4}, {3, 4}),
      Sized("Activation", Activation{.function = ActivationFunction::kSilu}, {{2, 3}},
            Activation{.function = ActivationFunction::kSilu, .count = 6}, {2, 3}),
      Sized("SwiGlu", SwiGlu{}, {{2, 3, 4}, {2, 3, 4}}, SwiGlu{.rows = 6, .columns = 4}, {2, 3, 4}),
      Sized("Rotary", Rotary{}, {{2, 8, 3, 4}}, Rotary{.tokens = 16, .heads = 3, .head_size = 4},
            {2, 8, 3, 4}),
      Sized("RotaryWithTables", Rotary{}, {{2, 8, 3, 4}, {2, 8, 2}, {2, 8, 2}},
            Rotary{.tokens = 16, .heads = 3, .head_size = 4}, {2, 8, 3, 4}),
      Sized("Dropout", Dropout{}, {{2, 3}}, Dropout{.count = 6}, {2, 3}),
      Sized("Embedding", EmbeddingLookup{}, {{2, 8}, {50, 6}},
            EmbeddingLookup{.tokens = 16, .vocabulary = 50, .width = 6}, {2, 8, 6}, {0}),
      Sized("CrossEntropy", CrossEntropy{}, {{2, 8, 50}, {2, 8}},
            CrossEntropy{.tokens = 16, .vocabulary = 50}, {}, {1}),
      Sized("Attention", Attention{.window = 3}, {{2, 6, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 4}},
            Attention{.batch = 2,
                      .heads = 6,
                      .kv_heads = 3,
                      .query_length = 5,
                      .key_length = 7,
                      .head_size = 4,
                      .window = 3},
            {2, 6, 5, 4}),
      Sized("LatentAttention", Attention{.causal = true},
            {{2, 6, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 3}},
            Attention{.batch = 2,
                      .heads = 6,
                      .kv_heads = 3,
                      .query_length = 5,
                      .key_length = 7,
                      .head_size = 4,
                      .value_head_size = 3,
                      .causal = true},
            {2, 6, 5, 3}),
      Sized("FusedChain",
            FusedChain{.steps = {{ElementwiseFunction::kExp}, {ElementwiseFunction::kAdd, 1}}},
            {{2, 3}, {2, 3}},
            FusedChain{.count = 6,
                       .steps = {{ElementwiseFunction::kExp}, {ElementwiseFunction::kAdd, 1}}},
            {2, 3}),
      Sized("Einsum", Einsum{.expression = "b s h, b t h -> b s t"}, {{2, 3, 4}, {2, 5, 4}},
            Einsum{.expression = "b s h, b t h -> b s t", .operands = {{2, 3, 4}, {2, 5, 4}}},
            {2, 3, 5})};
  return cases;
}

class GraphSizes : public ::testing::TestWithParam<SizesCase> {};

// The graph's answer is that of the operation alone with its sizes.
TEST_P(GraphSizes, FollowFromTheInputs) {
  const SizesCase& c = GetParam();
  GraphSpec spec = {.data_type = DataType::kBf16};
  std::vector<std::string> names;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    names.push_back("in" + std::to_string(i));
    const bool is_ids = std::count(c.ids.begin(), c.ids.end(), i) > 0;
    spec.tensors.push_back(is_ids ? IdsOf(names[i], c.inputs[i]) : InputOf(names[i], c.inputs[i]));
    spec.tensors.back().requires_gradient = !is_ids;
  }
  spec.operations.push_back(Make("out", c.given, names));
  const GraphAnalysis graph = Analyzed(spec);
  const auto alone = AnalyzeOperation({c.sized, {.input = DataType::kBf16}}, "");
  ASSERT_THAT(alone, IsOk());
  ASSERT_EQ(graph.operations.size(), 1u);
  EXPECT_EQ(graph.tensors.back().array.shape, c.output);
  EXPECT_EQ(graph.totals.forward.flops(), alone->forward.sum.flops());
  EXPECT_EQ(graph.totals.forward.read, alone->forward.sum.read);
  EXPECT_EQ(graph.totals.forward.written, alone->forward.sum.written);
  // Tables that are tensors of the graph have no gradient.
  EXPECT_EQ(graph.totals.backward.flops(), alone->backward->cost.sum.flops());
  EXPECT_EQ(graph.totals.backward.read, alone->backward->cost.sum.read);
  EXPECT_EQ(graph.totals.backward.written, alone->backward->cost.sum.written);
}

INSTANTIATE_TEST_SUITE_P(Table, GraphSizes, ::testing::ValuesIn(SizesCases()),
                         [](const auto& tested) { return tested.param.name; });

// A mask is read in its own bytes, and has no gradient; what it is multiplied with has one.
TEST(GraphSizesOfMasks, AreThoseOfTheNumbersBesideThem) {
  GraphSpec spec = {.tensors = {IdsOf("mask", {2, 3}, 1), ParameterOf("w", {2, 3})},
                    .operations = {Make("y", Plain(ElementwiseFunction::kMultiply), {"mask", "w"})},
                    .data_type = DataType::kBf16};
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.totals.forward.read, Bytes(6 + 12));
  EXPECT_EQ(a.totals.forward.written, Bytes(12));
  EXPECT_EQ(a.totals.backward.flops(), Flops(6));
  EXPECT_EQ(a.totals.backward.read, Bytes(12 + 6));
  EXPECT_EQ(a.memory.saved_bytes, Bytes(6));
  EXPECT_FALSE(a.tensors[0].has_gradient);
}

}  // namespace
}  // namespace sextant
