// Graphs whose answers are worked by hand.
#include "engine/operation/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/engine/operation/graphs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// An fp32 weight among bf16 ones is its own master.
TEST(Graph, AWeightAsWideAsItsStateNeedsNoMaster) {
  GraphSpec spec = {.tensors = {InputOf("x", {3, 10}), ParameterOf("w", {10})},
                    .operations = {Make("y", RmsNorm{}, {"x", "w"})},
                    .data_type = DataType::kBf16,
                    .master_weights = true};
  spec.tensors[1].data_type = DataType::kFp32;
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.totals.optimizer_bytes, Bytes(2 * 40));
  // x and y in bf16, the weight in fp32.
  EXPECT_EQ(a.totals.forward.read, Bytes(30 * 2 + 10 * 4));
  EXPECT_EQ(a.totals.forward.written, Bytes(30 * 2));
  EXPECT_EQ(a.totals.gradient_bytes, Bytes(40));
}

// A tensor that one operation reads twice gets two gradients.
TEST(Graph, ATensorReadTwiceByOneOperationIsAddedUp) {
  const GraphSpec spec = {
      .tensors = {ParameterOf("w", {4})},
      .operations = {Make("y", Plain(ElementwiseFunction::kMultiply), {"w", "w"})},
      .data_type = DataType::kFp32};
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.totals.backward.flops(), Flops(8));
  EXPECT_EQ(a.totals.accumulation.flops(), Flops(4));
  EXPECT_EQ(a.tensors[0].gradient_count, 2);
  EXPECT_THAT(a.operations[0].gradients, ElementsAre("w", "w"));
}

// x + x: both gradients are dy; it is added to itself, in its own place.
TEST(Graph, AGradientPassedOnTwiceIsAddedToItself) {
  const GraphSpec spec = {.tensors = {ParameterOf("w", {4})},
                          .operations = {Make("y", Plain(ElementwiseFunction::kAdd), {"w", "w"})},
                          .data_type = DataType::kFp32};
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.totals.accumulation.flops(), Flops(4));
  // w, two states, y, one gradient.
  EXPECT_EQ(a.memory.peak_bytes, Bytes(5 * 16));
}

// dy is the gradient of t, s, q and w. Where q's backward comes before that of s, nothing reads
// dy any more when the gradient through s is added to it; where it comes after, the sum takes the
// place of the other one. Either way three gradients are there at once, at the second of the two:
// with w and v 32, their state 64 and u 16.
TEST(Graph, ASharedGradientIsNotOverwrittenWhileItIsRead) {
  GraphSpec spec = {.tensors = {ParameterOf("w", {4}), ParameterOf("v", {4})},
                    .operations = {Make("s", Plain(ElementwiseFunction::kScale), {"w"}),
                                   Make("q", Plain(ElementwiseFunction::kSquare), {"v"}),
                                   Make("t", Plain(ElementwiseFunction::kAdd), {"q", "w"}),
                                   Make("u", Plain(ElementwiseFunction::kAdd), {"t", "s"})},
                    .data_type = DataType::kFp32};
  const GraphAnalysis before = Analyzed(spec);
  EXPECT_EQ(before.totals.accumulation_count, 1);
  EXPECT_EQ(before.memory.peak_bytes, Bytes(96 + 16 + 3 * 16));
  EXPECT_EQ(before.memory.peak_moment, "backward of s");
  std::swap(spec.operations[0], spec.operations[1]);
  const GraphAnalysis after = Analyzed(spec);
  EXPECT_EQ(after.memory.peak_bytes, Bytes(96 + 16 + 3 * 16));
  EXPECT_EQ(after.memory.peak_moment, "backward of q");
}

// du is the gradient of w twice, of q and of p, which are read later: the sum of the first two
// needs memory of its own. Backward of q: du, dw, dp's dz and dv in addition to 3 x 16, 6 x 16 and
// u.
TEST(Graph, ASumOfTwoGradientsThatAreReadLaterHasAPlaceOfItsOwn) {
  const GraphSpec spec = {
      .tensors = {ParameterOf("w", {4}), ParameterOf("v", {4}), ParameterOf("z", {4})},
      .operations = {Make("q", Plain(ElementwiseFunction::kSquare), {"v"}),
                     Make("p", Plain(ElementwiseFunction::kSquare), {"z"}),
                     Make("t", Plain(ElementwiseFunction::kAdd), {"q", "w"}),
                     Make("r", Plain(ElementwiseFunction::kAdd), {"p", "w"}),
                     Make("u", Plain(ElementwiseFunction::kAdd), {"t", "r"})},
      .data_type = DataType::kFp32};
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.memory.peak_bytes, Bytes(48 + 96 + 16 + 4 * 16));
  EXPECT_EQ(a.memory.peak_moment, "backward of q");
  ExpectAddsUp(a.memory);
}

// A view costs nothing and saves its base; a copy is read and written, forward and back.
TEST(Graph, ViewsAreFreeAndCopiesAreNot) {
  const GraphSpec spec = {
      .tensors = {ParameterOf("x", {6, 4})},
      .operations = {Rearranged("v", "(b t) (h d) -> b h t d", "x", {{"b", 2}, {"h", 2}}),
                     Rearranged("back", "b h t d -> (b t) (h d)", "v"),
                     Make("q", Plain(ElementwiseFunction::kSquare), {"v"}),
                     Rearranged("flat", "b h t d -> (b t) (h d)", "q"), Make("p", Softmax{}, {"v"}),
                     Rearranged("copy", "b h t d -> (b t) (h d)", "p")},
      .data_type = DataType::kFp32};
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.operations[0].kind, "rearrange");
  EXPECT_EQ(a.operations[0].forward.sum.moved(), Bytes(0));
  EXPECT_EQ(a.tensors[1].view_of, "x");
  EXPECT_EQ(a.tensors[1].array.shape, (Shape{2, 2, 3, 2}));
  EXPECT_THAT(a.operations[0].note, ::testing::HasSubstr("a view"));
  // v's strides are those of x: merged again they are x's own.
  EXPECT_EQ(a.tensors[2].view_of, "x");
  // An elementwise result lies as its operand does, which is x's order; softmax's is row-major.
  EXPECT_EQ(a.tensors[3].view_of, "");
  EXPECT_EQ(a.tensors[4].view_of, "q");
  EXPECT_EQ(a.tensors[6].view_of, "");
  EXPECT_EQ(a.operations[5].forward.sum.read, Bytes(96));
  EXPECT_EQ(a.operations[5].forward.sum.written, Bytes(96));
  EXPECT_EQ(a.operations[5].backward->cost.sum.moved(), Bytes(2 * 96));
  EXPECT_EQ(a.operations[5].backward->cost.sum.flops(), Flops(0));
  // Softmax keeps p; the square keeps v, which is the parameter.
  EXPECT_THAT(SavedNames(a.memory), ElementsAre("p"));
  // All of it is the gradient of a view of the parameter: 2 and 4 an element.
  EXPECT_EQ(a.totals.backward_input_flops, Flops(0));
  EXPECT_EQ(a.totals.backward_parameter_flops, Flops(6 * 24));
}

TEST(Graph, FrozenParametersHaveNoGradientAndPassThemOn) {
  GraphSpec spec = DeepLinear(3, 2, 4);
  spec.tensors[2].frozen = true;  // w2
  const GraphAnalysis a = Analyzed(spec);
  const double product = 2.0 * 2 * 4 * 4;
  EXPECT_EQ(a.totals.trainable_parameters, 32);
  EXPECT_EQ(a.totals.frozen_parameters, 16);
  EXPECT_EQ(a.totals.backward.flops().value(), 4 * product);  // dw3, dh2, dh1, dw1
  EXPECT_THAT(SavedNames(a.memory), ElementsAre("h0", "h2"));
  EXPECT_EQ(a.totals.parameter_bytes, Bytes(3 * 64));
  EXPECT_EQ(a.totals.gradient_bytes, Bytes(2 * 64));
}

TEST(Graph, WithoutAnythingToTrainThereIsNoBackwardPass) {
  GraphSpec spec = DeepLinear(2, 2, 4);
  spec.tensors[1].frozen = spec.tensors[2].frozen = true;
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.totals.backward.flops(), Flops(0));
  EXPECT_THAT(a.losses, IsEmpty());
  EXPECT_THAT(a.memory.saved, IsEmpty());
  EXPECT_FALSE(a.operations[0].backward.has_value());
  // x, both weights, h1 and h2.
  EXPECT_EQ(a.memory.peak_bytes, Bytes(32 + 128 + 64));
  EXPECT_EQ(a.memory.peak_moment, "forward of h2");
}

// A branch that no loss depends on has no backward pass; its weights are not updated.
TEST(Graph, ABranchWithoutALossIsLeftOut) {
  GraphSpec spec = DeepLinear(2, 2, 4);
  spec.tensors.push_back(ParameterOf("side", {4, 4}));
  spec.operations.push_back(Make("probe", Linear{}, {"h1", "side"}));
  spec.losses = {"h2"};
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.totals.parameters_without_gradient, 16);
  EXPECT_FALSE(a.operations[2].backward.has_value());
  EXPECT_EQ(a.totals.backward.flops().value(), 3 * 64);
  EXPECT_EQ(a.totals.optimizer_bytes, Bytes(2 * 2 * 64));
  EXPECT_EQ(a.totals.update.flops(), Flops(15 * 32));
}

TEST(Graph, AnInputsGradientIsMadeWhereItIsAskedFor) {
  GraphSpec spec = DeepLinear(1, 2, 4);
  spec.tensors[0].requires_gradient = true;
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.totals.backward.flops().value(), 2 * 64);
  EXPECT_TRUE(a.tensors[0].has_gradient);
  EXPECT_EQ(a.totals.gradient_bytes, Bytes(64));  // of parameters
}

// A loss that another operation reads too has its own gradient and that of its reader.
TEST(Graph, ALossThatIsReadFurtherAddsUp) {
  GraphSpec spec = DeepLinear(2, 2, 4);
  spec.losses = {"h1", "h2"};
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.totals.accumulation.flops(), Flops(8));
  EXPECT_EQ(a.tensors[3].gradient_count, 2);
}

// A sum of operands in different formats: the narrower one's gradient is not dy as it is.
TEST(Graph, AGradientOfAnotherFormatIsConverted) {
  GraphSpec spec = {.tensors = {ParameterOf("w", {4}), ParameterOf("v", {4})},
                    .operations = {Make("y", Plain(ElementwiseFunction::kAdd), {"w", "v"})},
                    .data_type = DataType::kFp32};
  spec.tensors[1].data_type = DataType::kBf16;
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.operations[0].backward->cost.sum.read, Bytes(16));
  EXPECT_EQ(a.operations[0].backward->cost.sum.written, Bytes(8));
  EXPECT_EQ(a.totals.backward.flops(), Flops(0));
}

// The backward pass of a frozen product reads its weight alone, no activation; the forward pass
// still gets that far before it stops.
TEST(Graph, EarlyStopGoesUpToTheLastOperationThatSavesAnything) {
  GraphSpec spec = DeepLinear(3, 5, 7);
  spec.tensors[3].frozen = true;  // w3
  for (GraphOperation& op : spec.operations) op.segment = "all";
  spec.checkpointed_segments = {"all"};
  spec.extent = RecomputeExtent::kUntilLastNeeded;
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.checkpointed->recomputed_operations, 2);
  // A norm at the end keeps its rows' statistics, so that it is done too.
  spec.tensors.push_back(ParameterOf("norm", {7}));
  spec.operations.push_back(Make("n", RmsNorm{}, {"h3", "norm"}));
  spec.operations.back().segment = "all";
  EXPECT_EQ(Analyzed(spec).checkpointed->recomputed_operations, 4);
}

// One large activation within each of two segments: with checkpointing one of them is there at
// a time.
TEST(Graph, CheckpointingLowersThePeak) {
  GraphSpec spec = {.tensors = {InputOf("h0", {200, 4})}, .data_type = DataType::kFp32};
  for (int i = 1; i <= 4; ++i) {
    const std::string up = absl::StrCat("up", i);
    const std::string down = absl::StrCat("down", i);
    spec.tensors.push_back(ParameterOf(absl::StrCat("w", up), {4, 400}));
    spec.tensors.push_back(ParameterOf(absl::StrCat("w", down), {400, 4}));
    const std::string before = i == 1 ? "h0" : absl::StrCat("down", i - 1);
    spec.operations.push_back(Make(up, Linear{}, {before, absl::StrCat("w", up)}));
    spec.operations.push_back(Make(absl::StrCat("act", i), Activation{}, {up}));
    spec.operations.push_back(
        Make(down, Linear{}, {absl::StrCat("act", i), absl::StrCat("w", down)}));
    const std::string segment = absl::StrCat("block ", i);
    for (size_t k = 0; k < 3; ++k) {
      (spec.operations.end() - 1 - static_cast<ptrdiff_t>(k))->segment = segment;
    }
    spec.checkpointed_segments.push_back(segment);
  }
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.memory.saved_bytes, Bytes(4 * (3200 + 320000)));
  EXPECT_EQ(a.checkpointed->saved_bytes, Bytes(4 * 3200));
  EXPECT_LT(a.checkpointed->peak_bytes, a.memory.peak_bytes);
  EXPECT_EQ(a.checkpointed->recompute.flops(), a.totals.forward.flops());
}

// The block of a transformer: sizes follow from the tensors.
TEST(Graph, WorksOutTheSizesOfATransformersBlock) {
  GraphSpec spec = {.tensors = {IdsOf("ids", {2, 8}), ParameterOf("table", {100, 16}),
                                ParameterOf("norm", {16}), ParameterOf("wq", {16, 16}),
                                ParameterOf("wkv", {16, 8}), ParameterOf("wv", {16, 8}),
                                ParameterOf("wo", {16, 16}), ParameterOf("gate", {16, 32}),
                                ParameterOf("up", {16, 32}), ParameterOf("down", {32, 16}),
                                ParameterOf("head", {16, 100}), IdsOf("targets", {2, 8})},
                    .operations = {Make("e", EmbeddingLookup{}, {"ids", "table"}),
                                   Make("n", RmsNorm{}, {"e", "norm"}),
                                   Make("q0", Linear{}, {"n", "wq"}),
                                   Make("k0", Linear{}, {"n", "wkv"}),
                                   Make("v0", Linear{}, {"n", "wv"}),
                                   Rearranged("q1", "b t (h d) -> b t h d", "q0", {{"d", 4}}),
                                   Rearranged("k1", "b t (h d) -> b t h d", "k0", {{"d", 4}}),
                                   Rearranged("v", "b t (h d) -> b h t d", "v0", {{"d", 4}}),
                                   Make("q2", Rotary{}, {"q1"}),
                                   Make("k2", Rotary{}, {"k1"}),
                                   Rearranged("q", "b t h d -> b h t d", "q2"),
                                   Rearranged("k", "b t h d -> b h t d", "k2"),
                                   Make("o0", Attention{.causal = true}, {"q", "k", "v"}),
                                   Rearranged("o", "b h t d -> b t (h d)", "o0"),
                                   Make("r", Linear{}, {"o", "wo"}),
                                   Make("h", Plain(ElementwiseFunction::kAdd), {"e", "r"}),
                                   Make("g", Linear{}, {"h", "gate"}),
                                   Make("u", Linear{}, {"h", "up"}),
                                   Make("s", SwiGlu{}, {"g", "u"}),
                                   Make("d", Linear{}, {"s", "down"}),
                                   Make("y", Plain(ElementwiseFunction::kAdd), {"h", "d"}),
                                   Make("logits", Linear{}, {"y", "head"}),
                                   Make("loss", CrossEntropy{}, {"logits", "targets"})},
                    .data_type = DataType::kBf16};
  const GraphAnalysis a = Analyzed(spec);
  ASSERT_EQ(a.operations.size(), 23u);
  const auto& attention = std::get<Attention>(a.operations[12].operation);
  EXPECT_EQ(attention.heads, 4);
  EXPECT_EQ(attention.kv_heads, 2);
  EXPECT_EQ(attention.query_length, 8);
  const auto& rotary = std::get<Rotary>(a.operations[9].operation);
  EXPECT_EQ(rotary.tokens, 16);
  EXPECT_EQ(rotary.heads, 2);
  EXPECT_EQ(a.tensors.back().array.shape, Shape{});
  // 2 x 16 tokens x (weights) and 4 x pairs x head size x heads x batch: 36 pairs.
  const double weights = 16 * 16 + 2 * 16 * 8 + 16 * 16 + 3 * 16 * 32 + 16 * 100;
  EXPECT_EQ(a.totals.forward.matrix_flops.value(), 32 * weights + 4.0 * 36 * 4 * 4 * 2);
  EXPECT_EQ(a.totals.accumulation_count, 5);  // e, n twice, h twice
  // The loss's gradient reaches every parameter.
  EXPECT_EQ(a.totals.parameters_without_gradient, 0);
  for (const GraphTensorRow& row : a.tensors) {
    EXPECT_EQ(row.has_gradient, row.array.index_bytes == 0) << row.name;
  }
  ExpectAddsUp(a.memory);
}

}  // namespace
}  // namespace sextant
