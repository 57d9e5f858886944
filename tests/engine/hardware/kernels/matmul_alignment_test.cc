#include "engine/hardware/kernels/matmul_alignment.h"

#include <gtest/gtest.h>

namespace sextant {
namespace {

constexpr MatmulSlowdown kNone;

struct AlignmentCase {
  MatmulBatch matmul;
  MatmulSlowdown slowdown;
};

TEST(MatmulSlowdown, IsOfSizesOffAMultiple) {
  const AlignmentCase cases[] = {
      {{.each = {4096, 4096, 4096}}, kNone},
      {{.each = {4097, 4096, 4096}}, kNone},  // rows off by one are in the tables
      {{.each = {257, 12288, 49152}}, kNone},
      {{.each = {2048, 14400, 14400}}, kNone},  // 225 x 64
      {{.each = {2048, 14416, 4096}}, kOffMultipleOf64},
      {{.each = {2048, 4096, 14416}}, kOffMultipleOf64},
      {{.each = {2048, 4096, 96}}, kNone},  // a size too small
      {{.each = {2048, 257, 256}}, kNone},
      {{.each = {2048, 50257, 4096}}, kOffMultipleOf8},
      {{.each = {2048, 4096, 128003}}, kOffMultipleOf8},
      {{.each = {1, 1, 1}}, kNone},
      // A weight's gradient has rows of n and m; its k is tokens.
      {{.each = {4096, 4096, 2000, MatmulPass::kWeightGradient}}, kNone},
      {{.each = {5000, 4096, 2048, MatmulPass::kWeightGradient}}, kOffMultipleOf64},
      {{.each = {5000, 4096, 2048, MatmulPass::kInputGradient}}, kNone},
      // Heads of 180 and of 182 numbers.
      {{.batch = 64, .each = {2048, 2048, 128}}, kNone},
      {{.batch = 64, .each = {2048, 2048, 80}}, kNone},
      {{.batch = 64, .each = {2048, 2048, 180}}, kBatchOffMultipleOf8},
      {{.batch = 64, .each = {2048, 182, 2048}}, kBatchOffMultipleOf8},
      {{.batch = 64, .each = {2048, 2048, 1}}, kNone},
      {{.batch = 64, .each = {2048, 2000, 2000}}, kOffMultipleOf64},
  };
  for (const AlignmentCase& each : cases) {
    EXPECT_EQ(MatmulSlowdownOf(each.matmul), each.slowdown)
        << each.matmul.batch << " x " << each.matmul.each.m << "x" << each.matmul.each.n << "x"
        << each.matmul.each.k;
  }
}

// Intervals hold both what was seen, 1.55 and 3, and no slowdown at all.
TEST(MatmulSlowdown, WidensTheInterval) {
  const KernelTime aligned = {.expected = Seconds(1), .low = Seconds(0.9), .high = Seconds(1.1)};
  const KernelTime off = Slowed(aligned, kOffMultipleOf64, 1);
  EXPECT_EQ(off.low, aligned.low);
  EXPECT_NEAR(off.expected.value(), 1.3, 1e-12);
  EXPECT_NEAR(off.high.value(), 1.55 * 1.1, 1e-12);
  EXPECT_EQ(Slowed(aligned, kOffMultipleOf64, 0).expected, aligned.expected);
  EXPECT_GE(Slowed(aligned, kBatchOffMultipleOf8, 1).high, Seconds(3));
}

}  // namespace
}  // namespace sextant
