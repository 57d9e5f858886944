// Answers worked by hand, what is saved, reasons, and bad input.
#include "engine/operation/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr OperationTypes kBf16 = {.input = DataType::kBf16};

std::vector<std::string> Saved(const BackwardCost& backward) {
  std::vector<std::string> names;
  for (const SavedArray& s : backward.saved) names.push_back(TextOf(s.array));
  return names;
}

TEST(AnalyzeOperation, SaysWhyOfEachTerm) {
  const auto analysis = AnalyzeOperation(
      {Linear{.rows = 3, .input_size = 5, .output_size = 2, .bias = true}, kBf16}, "");
  ASSERT_THAT(analysis, IsOk());
  EXPECT_EQ(analysis->name, "linear");
  ASSERT_EQ(analysis->forward.steps.size(), 1u);
  const StepCost& step = analysis->forward.steps[0];
  ASSERT_EQ(step.arithmetic.size(), 2u);
  EXPECT_EQ(step.arithmetic[0].flops, Flops(60));
  EXPECT_EQ(step.arithmetic[0].reason,
            "2 x 3 x 2 x 5: each of 3 x 2 outputs is 5 multiply-adds of 2 FLOPs");
  EXPECT_EQ(step.arithmetic[1].flops, Flops(6));
  EXPECT_EQ(step.arithmetic[1].reason, "1 x 6: one addition an output");
  EXPECT_EQ(step.traffic[0].reason, "x [3, 5] bf16 is read once");
  EXPECT_EQ(step.traffic[2].reason, "y [3, 2] bf16 is written once");
  EXPECT_EQ(analysis->forward.sum.read, Bytes((15 + 10 + 2) * 2));
  EXPECT_EQ(analysis->forward.sum.written, Bytes(12));
  EXPECT_DOUBLE_EQ(*analysis->forward.sum.intensity(), 66.0 / 66);
}

// x for dw; w for dx, which is in memory anyway. Without dx, nothing reads w.
TEST(AnalyzeOperation, SaysWhatIsSavedAndForWhat) {
  const auto analysis = AnalyzeOperation(
      {Linear{.rows = 3, .input_size = 5, .output_size = 2, .bias = true}, kBf16}, "");
  ASSERT_THAT(analysis, IsOk());
  EXPECT_THAT(Saved(*analysis->backward), ElementsAre("w [5, 2] bf16", "x [3, 5] bf16"));
  EXPECT_TRUE(analysis->backward->saved[0].held_anyway);
  EXPECT_EQ(analysis->backward->saved[0].reason, "dx = dy w^T reads it");
  EXPECT_EQ(analysis->backward->saved[1].elements, 15);
  EXPECT_EQ(analysis->backward->saved_bytes, Bytes(30));
  EXPECT_THAT(Saved(*analysis->backward_without_input), ElementsAre("x [3, 5] bf16"));
  EXPECT_EQ(analysis->backward->cost.sum.flops(), Flops(60 + 60 + 6));
  EXPECT_EQ(analysis->backward_without_input->cost.sum.flops(), Flops(60 + 6));
}

// The gradient of each factor takes the other one.
TEST(AnalyzeOperation, SavesTheOtherFactor) {
  const Elementwise product = {
      .count = 6, .input_count = 2, .function = ElementwiseFunction::kMultiply};
  const auto analysis = AnalyzeOperation({product, kBf16}, "");
  ASSERT_THAT(analysis, IsOk());
  EXPECT_THAT(Saved(*analysis->backward), UnorderedElementsAre("x1 [6] bf16", "x2 [6] bf16"));
  EXPECT_THAT(Saved(*analysis->backward_without_input), ElementsAre("x1 [6] bf16"));
}

struct SavedCase {
  const char* name;
  Operation operation;
  std::vector<std::string> saved;
};

TEST(AnalyzeOperation, SavesWhatEachBackwardReads) {
  Attention attention = {
      .batch = 1, .heads = 4, .kv_heads = 2, .query_length = 8, .key_length = 8, .head_size = 16};
  Attention unfused = attention;
  unfused.fused = false;
  const std::vector<SavedCase> cases = {
      {"reduction", Reduction{2, 3}, {}},
      {"softmax", Softmax{2, 3}, {"y [2, 3] bf16"}},
      {"layer norm",
       LayerNorm{2, 3},
       {"x [2, 3] bf16", "mean [2] fp32", "reciprocal deviation [2] fp32", "weight [3] bf16"}},
      {"rms norm",
       RmsNorm{2, 3},
       {"x [2, 3] bf16", "reciprocal deviation [2] fp32", "weight [3] bf16"}},
      {"relu", Activation{ActivationFunction::kRelu, 6}, {"y [6] bf16"}},
      {"silu", Activation{ActivationFunction::kSilu, 6}, {"x [6] bf16"}},
      {"swiglu", SwiGlu{2, 3}, {"gate [2, 3] bf16", "up [2, 3] bf16"}},
      {"dropout", Dropout{6}, {"mask [6] 1-byte"}},
      {"embedding", EmbeddingLookup{2, 9, 3}, {"ids [2] 8-byte"}},
      {"cross-entropy",
       CrossEntropy{2, 9},
       {"logits [2, 9] bf16", "log-sum-exp [2] fp32", "targets [2] 8-byte"}},
      {"attention",
       attention,
       {"q [1, 4, 8, 16] bf16", "k [1, 2, 8, 16] bf16", "v [1, 2, 8, 16] bf16",
        "o [1, 4, 8, 16] bf16", "log-sum-exp [1, 4, 8] fp32"}},
      {"unfused attention",
       unfused,
       {"q [1, 4, 8, 16] bf16", "k [1, 2, 8, 16] bf16", "v [1, 2, 8, 16] bf16",
        "probabilities [1, 4, 8, 8] bf16"}},
  };
  for (const SavedCase& c : cases) {
    const auto analysis = AnalyzeOperation({c.operation, kBf16}, "");
    ASSERT_THAT(analysis, IsOk());
    EXPECT_THAT(Saved(*analysis->backward), ::testing::UnorderedElementsAreArray(c.saved))
        << c.name;
  }
}

TEST(AnalyzeOperation, NamesEveryFieldAtFault) {
  EXPECT_THAT(
      AnalyzeOperation({Matmul{.m = 0, .n = -1, .k = kMaxDimension + 1}, {}}, "matmul"),
      NamesFields(UnorderedElementsAre("matmul.m", "matmul.n", "matmul.k", "data_types.input")));
  EXPECT_THAT(AnalyzeOperation({Rotary{1, 1, 3}, kBf16}, ""),
              NamesFields(ElementsAre("head_size")));
  EXPECT_THAT(AnalyzeOperation({Elementwise{.count = 1, .input_count = 65}, kBf16}, "op"),
              NamesFields(ElementsAre("op.input_count")));
  EXPECT_THAT(AnalyzeOperation({FusedChain{.count = 1, .steps = {}}, kBf16}, ""),
              NamesFields(ElementsAre("steps")));
  EXPECT_THAT(AnalyzeOperation({HostCopy{.bytes = 1, .pinned = false}, kBf16}, ""),
              NamesFields(ElementsAre("link_bytes_per_second", "staging_bytes_per_second")));
}

// 33 elements are two blocks of mxfp8, of 32 bytes and a scale each; in bf16 they are 66 bytes.
TEST(AnalyzeOperation, CountsTheScalesOfBlocks) {
  const auto analysis =
      AnalyzeOperation({Elementwise{.count = 33, .function = ElementwiseFunction::kScale},
                        {.input = DataType::kMxfp8, .output = DataType::kBf16}},
                       "");
  ASSERT_THAT(analysis, IsOk());
  EXPECT_EQ(analysis->forward.sum.read.value(), 66);
  EXPECT_EQ(analysis->forward.sum.written.value(), 66);
}

TEST(AnalyzeOperation, SaysAtLeastOne) {
  const auto status = AnalyzeOperation({Softmax{.rows = 0, .columns = 4}, kBf16}, "").status();
  ASSERT_EQ(FieldViolationsOf(status).size(), 1u);
  EXPECT_EQ(FieldViolationsOf(status)[0].description, "must be at least 1, not 0");
}

TEST(AnalyzeOperation, RefusesChainsThatContradictThemselves) {
  using F = ElementwiseFunction;
  const FusedChain chain = {.count = 4,
                            .steps = {{.function = F::kMultiply},
                                      {.function = F::kExp, .extra_input_count = 1},
                                      {.flops_per_element = std::nan("")},
                                      {.extra_input_count = -1}}};
  EXPECT_THAT(AnalyzeOperation({chain, kBf16}, "chain"),
              NamesFields(ElementsAre("chain.steps[0].function", "chain.steps[1].function",
                                      "chain.steps[2].flops_per_element",
                                      "chain.steps[3].extra_input_count")));
  FusedChain wide = {.count = 4, .steps = {}};
  wide.steps.assign(33, {.extra_input_count = 2});
  EXPECT_THAT(AnalyzeOperation({wide, kBf16}, ""), NamesFields(ElementsAre("steps")));
  wide.steps.assign(65, {});
  EXPECT_THAT(AnalyzeOperation({wide, kBf16}, ""), NamesFields(ElementsAre("steps")));
  wide.steps.assign(64, {});
  EXPECT_THAT(AnalyzeOperation({wide, kBf16}, ""), IsOk());
}

TEST(AnalyzeOperation, RefusesImpossibleAttention) {
  Attention op = {.batch = 1,
                  .heads = 3,
                  .kv_heads = 2,
                  .query_length = 4,
                  .key_length = 2,
                  .head_size = 1,
                  .causal = true,
                  .window = -1};
  EXPECT_THAT(AnalyzeOperation({op, kBf16}, "a"),
              NamesFields(ElementsAre("a.kv_heads", "a.window", "a.key_length")));
  op.causal = false;
  op.kv_heads = 3;
  op.window = 0;
  EXPECT_THAT(AnalyzeOperation({op, kBf16}, "a"), IsOk());
}

// 2^80 elements of a; then 2^62 elements of 2 bytes; then three arrays of 2^61 x 2 bytes,
// which each have a size and together have not.
TEST(AnalyzeOperation, RefusesWhatHasNoSize) {
  const int64_t big = kMaxDimension;
  EXPECT_THAT(AnalyzeOperation({Matmul{.m = big, .n = 1, .k = big}, kBf16}, "op"),
              NamesFields(ElementsAre("op")));
  EXPECT_THAT(AnalyzeOperation({Softmax{big, int64_t{1} << 22}, kBf16}, ""),
              NamesFields(ElementsAre("shape")));
  EXPECT_THAT(AnalyzeOperation({SwiGlu{big, int64_t{1} << 21}, kBf16}, ""),
              NamesFields(ElementsAre("shape")));
  const auto status = AnalyzeOperation({Matmul{.m = big, .n = 1, .k = big}, kBf16}, "").status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("a [1099511627776, 1099511627776] bf16"));
}

TEST(AnalyzeOperation, RefusesConventionsThatAreNoNumbers) {
  for (const double flops : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e7}) {
    EXPECT_THAT(AnalyzeOperation({Softmax{2, 2}, kBf16, {.transcendental = flops}}, ""),
                NamesFields(ElementsAre("transcendental_flops")));
  }
}

TEST(OperationTypes, DefaultToTheInputAndToWideSums) {
  EXPECT_EQ(WithDefaults({.input = DataType::kBf16}).output, DataType::kBf16);
  EXPECT_EQ(WithDefaults({.input = DataType::kBf16}).accumulation, DataType::kFp32);
  EXPECT_EQ(WithDefaults({.input = DataType::kFp64}).accumulation, DataType::kFp64);
  const OperationTypes given = {.input = DataType::kFp8, .output = DataType::kBf16};
  EXPECT_EQ(WithDefaults(given).output, DataType::kBf16);
}

// TF32 is fp32 data; INT8 is a byte.
TEST(OperationTypes, HaveTheirWidths) {
  const Matmul op = {.m = 10, .n = 10, .k = 10};
  EXPECT_EQ(AnalyzeOperation({op, {.input = DataType::kTf32}}, "")->forward.sum.moved(),
            Bytes(1200));
  EXPECT_EQ(AnalyzeOperation({op, {.input = DataType::kInt8, .output = DataType::kFp32}}, "")
                ->forward.sum.moved(),
            Bytes(600));
}

}  // namespace
}  // namespace sextant
