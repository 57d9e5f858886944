#include "engine/time/model_operations.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

ArchitectureSpec Biased(bool bias) {
  LayerSpec layer;
  layer.experts.emplace();
  layer.experts->expert.output_bias = bias;
  ArchitectureSpec out;
  out.layer_kinds = {layer};
  return out;
}

// Two experts of 10 rows, from 3 features to 5.
TraceOp Down(TracePass pass) {
  const bool forward = pass == TracePass::kForward;
  return {.module = "experts",
          .name = "down",
          .pass = pass,
          .work = GroupedMatmulWork{2, 10, forward ? 5 : 3, forward ? 3 : 5}};
}

PassWork WorkOf(const absl::optional<TraceOp>& op) { return std::get<PassWork>(op.value().work); }

// 100 elements of 2 bytes: 2 + 12 read and 2 + 12 written; backward 4 + 20 and 4 + 12.
TEST(ExpertBias, AddsAKernelAtATime) {
  const PassWork forward = WorkOf(ExpertBias(Down(TracePass::kForward), Biased(true), 0, 2));
  EXPECT_EQ(forward.read_bytes, 1400);
  EXPECT_EQ(forward.written_bytes, 1400);
  const PassWork back = WorkOf(ExpertBias(Down(TracePass::kInputGradient), Biased(true), 0, 2));
  EXPECT_EQ(back.read_bytes, 2400);
  EXPECT_EQ(back.written_bytes, 1600);
}

TEST(ExpertBias, IsOfBiasedExpertsOutputs) {
  const ArchitectureSpec biased = Biased(true);
  EXPECT_FALSE(ExpertBias(Down(TracePass::kForward), Biased(false), 0, 2).has_value());
  EXPECT_FALSE(ExpertBias(Down(TracePass::kForward), biased, -1, 2).has_value());
  EXPECT_FALSE(ExpertBias(Down(TracePass::kWeightGradient), biased, 0, 2).has_value());
  TraceOp up = Down(TracePass::kForward);
  up.name = "gate_up";
  EXPECT_FALSE(ExpertBias(up, biased, 0, 2).has_value());
  TraceOp product = Down(TracePass::kForward);
  product.work = MatmulWork{1, 20, 5, 3};
  EXPECT_FALSE(ExpertBias(product, biased, 0, 2).has_value());
}

}  // namespace
}  // namespace sextant
