// The parts that a model of multiplications is made of.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/matmul_grid.h"
#include "engine/hardware/kernels/matmul_alignment.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "engine/hardware/kernels/matmul_efficiency.h"
#include "engine/hardware/kernels/matmul_roofline.h"
#include "tests/engine/hardware/kernels/made_kernels.h"

namespace sextant {
namespace {

TEST(MatmulShape, GradientsMultiplyAsMuch) {
  const MatmulShape forward = {4096, 14336, 8192};
  EXPECT_EQ(InputGradientOf(forward), (MatmulShape{4096, 8192, 14336, MatmulPass::kInputGradient}));
  EXPECT_EQ(WeightGradientOf(forward),
            (MatmulShape{14336, 8192, 4096, MatmulPass::kWeightGradient}));
  EXPECT_EQ(MatmulFlops({2, 3, 5}).value(), 60);
}

TEST(MatmulShape, TypesHaveTheNamesOfTables) {
  for (const char* name : {"bf16", "fp8", "fp8_block", "nvfp4", "int8"}) {
    EXPECT_EQ(MatmulTypeName(MatmulTypeNamed(name)), name);
    EXPECT_GT(MatmulElementBytes(MatmulTypeNamed(name).data_type), 0) << name;
  }
  EXPECT_EQ(MatmulTypeNamed("fp9").data_type, DataType::kUnspecified);
  // 16 elements of 4 bits and a scale of 8.
  EXPECT_EQ(MatmulElementBytes(DataType::kNvfp4), 0.5625);
  EXPECT_EQ(MatmulElementBytes(DataType::kUnspecified), 0);
}

TEST(MatmulRoofline, TakesTheBestRatesSeen) {
  const MatmulType fp8 = {DataType::kFp8E4m3, MatmulScaling::kTensor};
  // 2e9 FLOPs in 10 us, 2e14 FLOP/s; and 4 us, in which 1 x 1000 x 1000 move 1000 (1 + 1000) bytes
  // of operands, 2000 of results and 3000 to quantise x: 1,006,000 bytes, 2.515e11 a second.
  const MatmulPoint matmuls[] = {{{1000, 1000, 1000}, Seconds(10e-6)},
                                 {{1, 1000, 1000}, Seconds(4e-6)}};
  const MatmulRoofline roofline = MatmulRooflineOf(fp8, matmuls);
  EXPECT_DOUBLE_EQ(roofline.WorkSeconds(MatmulDimensions({1000, 1000, 1000})), 10e-6);
  // The first moves 2e6 + 2e6 + 3e6 bytes in 10 us: more a second.
  EXPECT_DOUBLE_EQ(roofline.ByteSeconds(MatmulDimensions({1000, 1000, 1000})), 10e-6);
  const MatmulRoof roof = roofline.At(MatmulDimensions({1000, 1000, 1000}));
  EXPECT_DOUBLE_EQ(roof.seconds, std::sqrt(2.0) * 10e-6 + 4e-6);
  EXPECT_DOUBLE_EQ(roof.work_share, 0.5);
}

TEST(MatmulTiles, LossesAreWorkedByHand) {
  // 257 rows: 5 tiles of 64 hold 320, 3 of 128 hold 384, 2 of 256 hold 512. 1024 columns: 3 x 4
  // tiles of 128 x 256 on 10 units are 1.2 waves of 2, 3 x 8 of 128 x 128 are 2.4 of 3.
  const MatmulTileLosses losses = MatmulTileLossesOf(MatmulDimensions({257, 1024, 1}), 10, 1);
  const double expected[] = {63.0 / 320, 127.0 / 384, 255.0 / 512, 0, 1 - 0.6, 0, 1 - 0.8};
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-15) << i;
  // On 48 units, 12 tiles fill a quarter of a wave and 24 half of one. Half of the time is
  // memory's.
  const MatmulTileLosses few = MatmulTileLossesOf(MatmulDimensions({257, 1024, 1}), 48, 0.5);
  EXPECT_EQ(few[3], 0.5 * 0.75);
  EXPECT_EQ(few[4], 0);
  EXPECT_EQ(few[5], 0.5 * 0.5);
  // Whole waves of whole tiles lose nothing.
  for (const double loss : MatmulTileLossesOf(MatmulDimensions({1280, 2560, 1}), 10, 1))
    EXPECT_EQ(loss, 0);
}

TEST(MatmulGrid, IsExactOfWhatIsLinearInEachDirection) {
  const auto law = [](double m, double n, double k) { return 3 + m - 2 * n + m * k + m * n * k; };
  MatmulNodes nodes;
  size_t at = 0;
  for (const double m : kMatmulRowNodes) {
    for (const double n : kMatmulSizeNodes) {
      for (const double k : kMatmulSizeNodes) nodes[at++] = law(m, n, k);
    }
  }
  for (const double m : {0.0, 1.7, 4.0, 5.9, 7.0, 12.99, 13.0}) {
    for (const double n : {10.0, 10.5, 11.0, 13.9, 14.0}) {
      EXPECT_NEAR(MatmulInterpolated(nodes, MatmulCellOf({m, n, 12.25})), law(m, n, 12.25), 1e-9);
    }
  }
  // Outside is the edge.
  EXPECT_NEAR(MatmulInterpolated(nodes, MatmulCellOf({40, 5, 12.25})), law(13, 10, 12.25), 1e-9);
}

TEST(MatmulPoints, TheFirstOfTheMeasuredAreChosen) {
  // Every second shape is there, and some that no list has.
  std::vector<MatmulPoint> measured = {{{7, 7, 7}, Seconds(1)}};
  const std::vector<MatmulShape> points = MatmulPointShapes();
  for (size_t i = 0; i < points.size(); i += 2) measured.push_back({points[i], Seconds(1e-3)});
  MatmulCalibration calibration;
  ChooseMatmulPoints(measured, calibration);
  ASSERT_EQ(calibration.points.size(), kMatmulPointCount);
  EXPECT_TRUE(calibration.checks.empty());
  for (size_t i = 0; i < kMatmulPointCount; ++i) {
    EXPECT_EQ(calibration.points[i].shape, points[2 * i]);
  }
}

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
