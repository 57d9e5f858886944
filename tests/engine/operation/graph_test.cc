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
using ::testing::UnorderedElementsAre;

GraphAnalysis Analyzed(const GraphSpec& spec) {
  const auto analysis = AnalyzeGraph(spec);
  EXPECT_THAT(analysis, IsOk()) << analysis.status();
  return analysis.ok() ? *analysis : GraphAnalysis();
}

std::vector<std::string> SavedNames(const GraphMemory& memory) {
  std::vector<std::string> names;
  for (const SavedStorage& saved : memory.saved) names.push_back(saved.storage.name);
  return names;
}

void ExpectAddsUp(const GraphMemory& memory) {
  int64_t at_peak = 0;
  for (const GraphStorage& storage : memory.at_peak) at_peak += storage.size.value();
  EXPECT_EQ(at_peak, memory.peak_bytes.value());
  int64_t saved = 0;
  for (const SavedStorage& one : memory.saved) saved += one.storage.size.value();
  EXPECT_EQ(saved, memory.saved_bytes.value());
}

// x [B, D] through layers of w [D, D], no bias, in fp32.
GraphSpec DeepLinear(int layers, int64_t b, int64_t d) {
  GraphSpec spec = {.tensors = {InputOf("h0", {b, d})}, .data_type = DataType::kFp32};
  for (int i = 1; i <= layers; ++i) {
    const std::string w = absl::StrCat("w", i);
    spec.tensors.push_back(ParameterOf(w, {d, d}));
    spec.operations.push_back(Make(absl::StrCat("h", i), Linear{}, {absl::StrCat("h", i - 1), w}));
  }
  return spec;
}

// A layer's forward pass is 2 B D D FLOPs and its backward pass 4 B D D, but for the first
// layer's, which makes no gradient of the data.
TEST(GraphTextbook, DeepLinearModel) {
  const int64_t b = 5;
  const int64_t d = 7;
  const int layers = 4;
  const GraphAnalysis a = Analyzed(DeepLinear(layers, b, d));
  const double product = 2.0 * 5 * 7 * 7;
  EXPECT_EQ(a.totals.trainable_parameters, layers * d * d);
  EXPECT_EQ(a.totals.forward.matrix_flops.value(), layers * product);
  EXPECT_EQ(a.totals.forward.other_flops.value(), 0);
  EXPECT_EQ(a.totals.backward.flops().value(), (2 * layers - 1) * product);
  EXPECT_EQ(a.totals.backward_parameter_flops.value(), layers * product);
  EXPECT_EQ(a.totals.backward_input_flops.value(), (layers - 1) * product);
  EXPECT_EQ(a.totals.accumulation_count, 0);
  EXPECT_THAT(a.losses, ElementsAre("h4"));
  EXPECT_THAT(a.operations[0].gradients, ElementsAre("w1"));
  EXPECT_THAT(a.operations[1].gradients, ElementsAre("h1", "w2"));
  // Each layer keeps its input.
  EXPECT_THAT(SavedNames(a.memory), ElementsAre("h0", "h1", "h2", "h3"));
  EXPECT_EQ(a.memory.saved_bytes, Bytes(4 * b * d * 4));
  EXPECT_EQ(a.totals.gradient_bytes, Bytes(layers * d * d * 4));
  EXPECT_EQ(a.totals.optimizer_bytes, Bytes(2 * layers * d * d * 4));
  EXPECT_FALSE(a.checkpointed.has_value());
  ExpectAddsUp(a.memory);
}

// 16 bytes a parameter at bf16 with fp32 state and master weights: 2 + 2 + 4 + 4 + 4.
TEST(GraphTextbook, MixedPrecisionTakesSixteenBytesAParameter) {
  GraphSpec spec = DeepLinear(1, 1, 10);
  spec.data_type = DataType::kBf16;
  spec.master_weights = true;
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.totals.parameter_bytes + a.totals.gradient_bytes + a.totals.optimizer_bytes,
            Bytes(16 * 100));
  ASSERT_EQ(a.totals.optimizer.size(), 3u);
  EXPECT_EQ(a.totals.optimizer[0].name, "master weight");
  EXPECT_EQ(a.totals.optimizer[0].size, Bytes(400));
  EXPECT_EQ(a.totals.update.flops(), Flops(15 * 100));
}

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

GraphSpec TwoLayerMlp() {
  return {.tensors = {InputOf("x", {4, 3}), ParameterOf("w1", {3, 5}), ParameterOf("b1", {5}),
                      ParameterOf("w2", {5, 2}), IdsOf("labels", {4})},
          .operations = {Make("a", Linear{}, {"x", "w1", "b1"}), Make("h", Activation{}, {"a"}),
                         Make("logits", Linear{}, {"h", "w2"}),
                         Make("loss", CrossEntropy{}, {"logits", "labels"})},
          .data_type = DataType::kFp32};
}

// Forward: 2 x 4 x 3 x 5 + 4 x 5, 20, 2 x 4 x 5 x 2, 4 x 8 + 4 x 4 + 1. Backward: dw2 and dh 80
// each, relu 20, dw1 120, db1 20; dx is not asked for; dlogits 3 x 8 + 4 + 1.
TEST(GraphTextbook, TwoLayerMlp) {
  const GraphAnalysis a = Analyzed(TwoLayerMlp());
  EXPECT_EQ(a.totals.trainable_parameters, 15 + 5 + 10);
  EXPECT_EQ(a.totals.forward.matrix_flops, Flops(120 + 80));
  EXPECT_EQ(a.totals.forward.other_flops, Flops(20 + 20 + 49));
  EXPECT_EQ(a.totals.backward.matrix_flops, Flops(80 + 80 + 120));
  EXPECT_EQ(a.totals.backward.other_flops, Flops(20 + 20 + 29));
  EXPECT_EQ(a.totals.backward_parameter_flops, Flops(80 + 120 + 20));
  EXPECT_THAT(SavedNames(a.memory),
              UnorderedElementsAre("x", "h", "logits", "labels", "log-sum-exp of loss"));
  EXPECT_EQ(a.memory.saved_bytes, Bytes(48 + 80 + 32 + 32 + 16));
  const auto& h = a.memory.saved[2];
  EXPECT_EQ(h.storage.name, "h");
  ASSERT_EQ(h.by.size(), 2u);
  EXPECT_EQ(h.by[0].operation, "logits");
  EXPECT_EQ(h.by[0].reason, "dw = x^T dy reads it");
  EXPECT_EQ(h.by[1].operation, "h");
  ExpectAddsUp(a.memory);
}

// Held: x 48, labels 32, parameters 120, state 240. In the backward of `a` there are also the
// loss 4, da 80, and the gradients of w2 40, w1 60 and b1 20; in that of `h` h 80, dh 80, da 80,
// dw2 40, loss 4; in that of `logits` h 80, dlogits 32, dh 80, dw2 40, loss 4; in that of the loss
// h, logits 32, log-sums 16, the losses' two 4, dlogits 32.
TEST(GraphTextbook, PeakOfATwoLayerMlp) {
  const GraphAnalysis a = Analyzed(TwoLayerMlp());
  const int64_t held = 48 + 32 + 120 + 240;
  EXPECT_EQ(a.memory.peak_bytes, Bytes(held + 80 + 80 + 80 + 40 + 4));
  EXPECT_EQ(a.memory.peak_moment, "backward of h");
  ExpectAddsUp(a.memory);
}

// y = x + f(x): x's gradient is y's, and f's is added to it, in y's own place.
TEST(GraphTextbook, AResidualStreamAddsItsGradients) {
  GraphSpec spec = {
      .tensors = {InputOf("x", {2, 3}), ParameterOf("w0", {3, 3}), ParameterOf("w", {3, 3})},
      .operations = {Make("h", Linear{}, {"x", "w0"}), Make("f", Linear{}, {"h", "w"}),
                     Make("y", Plain(ElementwiseFunction::kAdd), {"h", "f"})},
      .data_type = DataType::kFp32};
  const GraphAnalysis a = Analyzed(spec);
  EXPECT_EQ(a.totals.accumulation_count, 1);
  EXPECT_EQ(a.totals.accumulation.flops(), Flops(6));
  EXPECT_EQ(a.totals.accumulation.read, Bytes(48));
  EXPECT_EQ(a.totals.accumulation.written, Bytes(24));
  EXPECT_EQ(a.totals.backward.flops(), Flops(3 * 36));
  EXPECT_EQ(a.tensors[3].gradient_count, 2);
  EXPECT_THAT(a.operations[2].gradients, ElementsAre("h", "f"));
  EXPECT_EQ(a.operations[2].backward->cost.sum.moved(), Bytes(0));
  // Backward of f: x 24, weights 72, state 144; h 24, y 24 (nothing reads it); dy 24, which is
  // dh and df too, df w^T 24 and dw 36.
  EXPECT_EQ(a.memory.peak_bytes, Bytes(240 + 24 + 24 + 24 + 24 + 36));
  EXPECT_EQ(a.memory.peak_moment, "backward of f");
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
// needs a place of its own. Backward of q: du, dw, dp's dz and dv beside 3 x 16, 6 x 16 and u.
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
  EXPECT_EQ(a.operations[0].kind, "rearrangement");
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

// Forward 4 products; the segment of layers 2 and 3 is done again: 2 products, or, up to what
// its backward pass reads (h2), 1. What is kept is then h0, h1 and h3 instead of h0 to h3.
TEST(GraphTextbook, CheckpointingALinearSegment) {
  GraphSpec spec = DeepLinear(4, 5, 7);
  spec.operations[1].segment = spec.operations[2].segment = "middle";
  spec.checkpointed_segments = {"middle"};
  const double product = 2.0 * 5 * 7 * 7;
  const GraphAnalysis whole = Analyzed(spec);
  ASSERT_TRUE(whole.checkpointed.has_value());
  EXPECT_EQ(whole.checkpointed->recompute.flops().value(), 2 * product);
  EXPECT_EQ(whole.checkpointed->recomputed_operations, 2);
  EXPECT_THAT(SavedNames(*whole.checkpointed), ElementsAre("h0", "h1", "h3"));
  EXPECT_THAT(SavedNames(whole.memory), ElementsAre("h0", "h1", "h2", "h3"));
  EXPECT_EQ(whole.memory.recompute.flops(), Flops(0));
  spec.extent = RecomputeExtent::kUntilLastNeeded;
  const GraphAnalysis early = Analyzed(spec);
  EXPECT_EQ(early.checkpointed->recompute.flops().value(), product);
  EXPECT_THAT(SavedNames(*early.checkpointed), ElementsAre("h0", "h1", "h3"));
  ExpectAddsUp(*whole.checkpointed);
  ExpectAddsUp(*early.checkpointed);
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
