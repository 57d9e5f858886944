// The textbook's graphs, scratch and tables, worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/operation/graphs.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

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

// Unfused attention keeps its probabilities; its scores are there while it runs, and the two
// square gradients while it runs back. q, k, v and o are 2 x 8 x 4 of 4 bytes, a square 2 x 8 x 8.
TEST(GraphMemory, ScratchIsThereWhileItsOperationRuns) {
  const int64_t row = 2 * 8 * 4 * 4;
  const int64_t square = 2 * 8 * 8 * 4;
  GraphSpec spec = {.operations = {Make("o", Attention{.fused = false}, {"q", "k", "v"})},
                    .data_type = DataType::kFp32};
  for (const char* name : {"q", "k", "v"}) {
    spec.tensors.push_back(InputOf(name, {1, 2, 8, 4}));
    spec.tensors.back().requires_gradient = true;
  }
  const GraphAnalysis a = Analyzed(spec);
  ASSERT_EQ(a.memory.saved.size(), 4u);
  EXPECT_EQ(a.memory.saved_bytes, Bytes(3 * row + square));
  // Backward: q, k, v, o; probabilities; do, dq, dk, dv; dp and ds.
  EXPECT_EQ(a.memory.peak_bytes, Bytes(4 * row + square + 4 * row + 2 * square));
  EXPECT_EQ(a.memory.peak_moment, "backward of o");
}

// Tables that nobody names are the operation's own, and there all along.
TEST(GraphMemory, RotaryTablesAreItsOwnUnlessTheyAreNamed) {
  GraphSpec spec = {.tensors = {InputOf("x", {2, 8, 3, 4})},
                    .operations = {Make("y", Rotary{}, {"x"})},
                    .data_type = DataType::kFp32};
  spec.tensors[0].requires_gradient = true;
  const GraphAnalysis own = Analyzed(spec);
  const int64_t x = 2 * 8 * 3 * 4 * 4;
  const int64_t table = 2 * 8 * 2 * 4;
  EXPECT_EQ(own.memory.saved_bytes, Bytes(2 * table));
  EXPECT_EQ(own.memory.saved[0].storage.name, "cosines of y");
  EXPECT_EQ(own.memory.saved[0].storage.kind, StorageKind::kTable);
  EXPECT_EQ(own.memory.peak_bytes, Bytes(2 * table + 4 * x));
  // Shared by both sequences.
  spec.tensors.push_back(InputOf("cos", {8, 2}));
  spec.tensors.push_back(InputOf("sin", {8, 2}));
  spec.operations[0].inputs = {"x", "cos", "sin"};
  const GraphAnalysis named = Analyzed(spec);
  EXPECT_EQ(named.memory.saved_bytes, Bytes(table));
  EXPECT_EQ(named.totals.forward.read, Bytes(x + table));
  EXPECT_EQ(named.memory.peak_bytes, Bytes(table + 4 * x));
}

}  // namespace
}  // namespace sextant
