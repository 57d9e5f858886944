#include "gpu_probe/host/builtin_matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/host/test_host.h"

namespace sextant::probe {
namespace {

// The product of `engine`, element by element against three plain loops.
void ExpectRight(MatmulEngine* engine, const v1::MatmulShape& shape) {
  MatmulData data(shape);
  MatmulData wanted(shape);
  wanted.Multiply();
  ASSERT_TRUE(engine->Prepare(shape).value()->Run(data.operands()).ok());
  for (int64_t i = 0; i < shape.m(); ++i) {
    for (int64_t j = 0; j < shape.n(); ++j) {
      ASSERT_NEAR(data.C(i, j), wanted.C(i, j), 1e-6 * static_cast<double>(shape.k() + 10))
          << shape.m() << "x" << shape.n() << "x" << shape.k() << " at " << i << ", " << j;
    }
  }
}

class BuiltinMatmulTest : public ::testing::TestWithParam<SimdLevel> {};

TEST_P(BuiltinMatmulTest, IsRightAtEdgeSizes) {
  for (const int thread_count : {1, 2, 3}) {
    const SharedContext context = SmallHost(thread_count);
    BuiltinEngine engine(GetParam(), context->team.get(), context->memory.get());
    for (const int64_t m : {1, 7, 17, 33}) {
      for (const int64_t n : {1, 7, 17, 33, 67}) {
        for (const int64_t k : {1, 7, 17, 33}) {
          ExpectRight(&engine, ShapeOf(v1::DATA_TYPE_FP32, m, n, k));
        }
      }
    }
  }
}

TEST_P(BuiltinMatmulTest, IsRightAcrossItsBlocks) {
  const SharedContext context = SmallHost(/*thread_count=*/2);
  BuiltinEngine engine(GetParam(), context->team.get(), context->memory.get());
  ExpectRight(&engine, ShapeOf(v1::DATA_TYPE_FP32, 521, 37, 521));   // rows and depth
  ExpectRight(&engine, ShapeOf(v1::DATA_TYPE_FP32, 13, 2111, 259));  // columns
}

INSTANTIATE_TEST_SUITE_P(Levels, BuiltinMatmulTest, ::testing::ValuesIn(LevelsHere()));

TEST(BuiltinMatmul, MultipliesFp32Alone) {
  const SharedContext context = SmallHost();
  EXPECT_THAT(context->builtin->Prepare(ShapeOf(v1::DATA_TYPE_BF16, 8, 8, 8)),
              FailsSaying(absl::StatusCode::kUnimplemented, "oneDNN"));
}

TEST(BuiltinMatmul, SaysWhenThereIsNoRoomToPack) {
  const SharedContext context = SmallHost(/*thread_count=*/2, /*cap_bytes=*/1000);
  const auto refused = context->builtin->Prepare(ShapeOf(v1::DATA_TYPE_FP32, 8, 8, 8));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(BuiltinMatmul, PacksAllShapesInOneRoom) {
  const SharedContext context = SmallHost();
  const auto one = context->builtin->Prepare(ShapeOf(v1::DATA_TYPE_FP32, 8, 8, 8)).value();
  const int64_t used_bytes = context->memory->used_bytes();
  EXPECT_GT(used_bytes, 0);
  const auto other = context->builtin->Prepare(ShapeOf(v1::DATA_TYPE_FP32, 99, 98, 97)).value();
  EXPECT_EQ(context->memory->used_bytes(), used_bytes);
}

TEST(PackPanels, TurnsRowsAndFillsUpWithZeros) {
  std::vector<float> rows;  // 5 rows of 6, 7 apart; row r, depth p holds 10 r + p
  for (int r = 0; r < 5; ++r) {
    for (int p = 0; p < 7; ++p) rows.push_back(static_cast<float>(10 * r + p));
  }
  std::vector<float> packed(2 * 4 * 6, NAN);
  PackPanels({.data = rows.data(), .row_stride = 7, .row_count = 5, .depth = 6}, 4, packed.data());
  for (int panel = 0; panel < 2; ++panel) {
    for (int p = 0; p < 6; ++p) {
      for (int r = 0; r < 4; ++r) {
        const int row = panel * 4 + r;
        const float wanted = row < 5 ? static_cast<float>(10 * row + p) : 0;
        EXPECT_EQ(packed[static_cast<size_t>((panel * 6 + p) * 4 + r)], wanted);
      }
    }
  }
}

TEST(GridOf, MakesRectanglesNearToSquares) {
  EXPECT_EQ(GridOf(1000, 1000, 4).row_count, 2);
  EXPECT_EQ(GridOf(16, 2048, 4).column_count, 4);
  EXPECT_EQ(GridOf(2048, 16, 4).row_count, 4);
  const ThreadGrid grid = GridOf(1, 1, 7);
  EXPECT_EQ(grid.row_count * grid.column_count, 7);
}

}  // namespace
}  // namespace sextant::probe
