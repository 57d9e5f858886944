#include "gpu_probe/host/matmul_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/host/test_host.h"

namespace sextant::probe {
namespace {

class MatmulCheckTest : public ::testing::TestWithParam<v1::DataType> {
 protected:
  const std::unique_ptr<ThreadTeam> team_ = UnpinnedTeam(2);
};

TEST_P(MatmulCheckTest, FindsNoFaultInAThousandRightProducts) {
  for (uint64_t i = 0; i < 1000; ++i) {
    const auto dimension = [&](uint64_t d) {
      return static_cast<int64_t>(RandomBits(10 * i + d) % 24) + 1;
    };
    const v1::MatmulShape shape = ShapeOf(GetParam(), dimension(0), dimension(1), dimension(2));
    MatmulData data(shape, /*seed=*/i << 20);
    data.Multiply();
    ASSERT_EQ(CheckMatmul(shape, data.operands(), i, team_.get()), absl::OkStatus());
  }
}

TEST_P(MatmulCheckTest, FindsASingleWrongElementInAWideRow) {
  const v1::MatmulShape shape = ShapeOf(GetParam(), 3, 700, 64);
  MatmulData data(shape);
  data.Multiply();
  ASSERT_EQ(CheckMatmul(shape, data.operands(), 1, team_.get()), absl::OkStatus());
  for (const int64_t j : {0, 255, 256, 511, 512, 699}) {
    const double right = data.C(1, j);
    // Wrong by one standard deviation of an element: sqrt(k), or INT8's by 1.
    data.SetC(1, j, right + (GetParam() == v1::DATA_TYPE_INT8 ? 1 : 8));
    const absl::Status found = CheckMatmul(shape, data.operands(), 1, team_.get());
    EXPECT_THAT(found, FailsSaying(absl::StatusCode::kDataLoss, "row 1 ")) << j;
    data.SetC(1, j, right);
  }
}

// Sums of 32 bits wrap: 255 x 127 x 70,000 is more than they hold.
TEST(Int8CheckTest, CountsModulo32Bits) {
  const v1::MatmulShape shape = ShapeOf(v1::DATA_TYPE_INT8, 1, 2, 70'000);
  const std::vector<uint8_t> a(70'000, 255);
  const std::vector<int8_t> b(140'000, 127);
  constexpr int64_t kSum = int64_t{255} * 127 * 70'000;
  std::vector<int32_t> c(2, static_cast<int32_t>(kSum - (int64_t{1} << 32)));
  const MatmulOperands operands = {.a = a.data(), .b = b.data(), .c = c.data()};
  const auto team = UnpinnedTeam(2);
  EXPECT_EQ(CheckMatmul(shape, operands, 1, team.get()), absl::OkStatus());
  ++c[1];
  EXPECT_EQ(CheckMatmul(shape, operands, 1, team.get()).code(), absl::StatusCode::kDataLoss);
}

class FloatingCheckTest : public MatmulCheckTest {};

TEST_P(FloatingCheckTest, FindsAnElementThatIsNoNumber) {
  const v1::MatmulShape shape = ShapeOf(GetParam(), 5, 300, 33);
  for (const double wrong : {NAN, INFINITY, -INFINITY}) {
    MatmulData data(shape);
    data.Multiply();
    data.SetC(4, 299, wrong);
    EXPECT_EQ(CheckMatmul(shape, data.operands(), 7, team_.get()).code(),
              absl::StatusCode::kDataLoss);
  }
}

TEST_P(MatmulCheckTest, FindsRowsThatChangedPlaces) {
  const v1::MatmulShape shape = ShapeOf(GetParam(), 6, 40, 50);
  MatmulData data(shape);
  data.Multiply();
  for (int64_t j = 0; j < shape.n(); ++j) {
    const double first = data.C(2, j);
    data.SetC(2, j, data.C(3, j));
    data.SetC(3, j, first);
  }
  EXPECT_EQ(CheckMatmul(shape, data.operands(), 3, team_.get()).code(),
            absl::StatusCode::kDataLoss);
}

TEST_P(MatmulCheckTest, FindsColumnsThatChangedPlaces) {
  const v1::MatmulShape shape = ShapeOf(GetParam(), 40, 6, 50);
  MatmulData data(shape);
  data.Multiply();
  for (int64_t i = 0; i < shape.m(); ++i) {
    const double first = data.C(i, 1);
    data.SetC(i, 1, data.C(i, 4));
    data.SetC(i, 4, first);
  }
  // Where both columns have the same sign their sum is unchanged: one of a few choices of
  // signs tells them apart.
  int found = 0;
  for (uint64_t seed = 0; seed < 32; ++seed) {
    found += CheckMatmul(shape, data.operands(), 1000 * seed, team_.get()).ok() ? 0 : 1;
  }
  EXPECT_GT(found, 4);
}

INSTANTIATE_TEST_SUITE_P(Types, FloatingCheckTest,
                         ::testing::Values(v1::DATA_TYPE_FP32, v1::DATA_TYPE_BF16),
                         [](const auto& instance) { return v1::DataType_Name(instance.param); });

INSTANTIATE_TEST_SUITE_P(Types, MatmulCheckTest,
                         ::testing::Values(v1::DATA_TYPE_FP32, v1::DATA_TYPE_BF16,
                                           v1::DATA_TYPE_INT8),
                         [](const auto& instance) { return v1::DataType_Name(instance.param); });

// An engine that leaves the last element of C as it is.
class ForgetfulMatmul : public PreparedMatmul {
 public:
  ForgetfulMatmul(v1::MatmulShape shape, bool forgets) : shape_(shape), forgets_(forgets) {}
  const std::string& kernel() const override { return kernel_; }
  absl::Status Run(const MatmulOperands& operands) override {
    const auto* const a = static_cast<const float*>(operands.a);
    const auto* const b = static_cast<const float*>(operands.b);
    auto* const c = static_cast<float*>(operands.c);
    const int64_t count = shape_.m() * shape_.n() - (forgets_ ? 1 : 0);
    for (int64_t at = 0; at < count; ++at) {
      float sum = 0;
      for (int64_t p = 0; p < shape_.k(); ++p) {
        sum += a[at / shape_.n() * shape_.k() + p] * b[at % shape_.n() * shape_.k() + p];
      }
      c[at] = sum;
    }
    return absl::OkStatus();
  }

 private:
  const v1::MatmulShape shape_;
  const bool forgets_;
  const std::string kernel_ = "loops";
};

MatmulWorkload WorkloadOf(const v1::MatmulShape& shape, std::unique_ptr<PreparedMatmul> matmul) {
  const SharedContext context = SmallHost();
  const Rotation rotation = *RotationOf(shape, /*touched_bytes=*/100'000);
  return MatmulWorkload(
      {.context = context,
       .shape = shape,
       .rotation = rotation,
       .arena = *MatmulArena::Create(shape.data_type(), *BytesOf(shape, rotation), *context),
       .matmul = std::move(matmul)});
}

TEST(MatmulWorkload, RunsOnEveryCopyOfB) {
  const v1::MatmulShape shape = ShapeOf(v1::DATA_TYPE_FP32, 5, 33, 65);
  EXPECT_GT(RotationOf(shape, 100'000)->count, 10);
  MatmulWorkload workload =
      WorkloadOf(shape, std::make_unique<ForgetfulMatmul>(shape, /*forgets=*/false));
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(RunAndCheck(workload), absl::OkStatus());
  }
}

TEST(MatmulWorkload, AnElementThatNoRunWritesIsFound) {
  const v1::MatmulShape shape = ShapeOf(v1::DATA_TYPE_FP32, 5, 33, 65);
  MatmulWorkload workload =
      WorkloadOf(shape, std::make_unique<ForgetfulMatmul>(shape, /*forgets=*/true));
  EXPECT_EQ(RunAndCheck(workload, 4).code(), absl::StatusCode::kDataLoss);
}

// A row of one that is a column of the other would have a product far from what chance gives.
TEST(MatmulArena, HasOtherBytesInBThanInA) {
  const SharedContext context = SmallHost();
  const auto arena =
      *MatmulArena::Create(v1::DATA_TYPE_INT8, {.a = 1 << 20, .b = 1 << 20, .c = 64}, *context);
  const std::vector<char> a(arena->a(), arena->a() + 4096);
  EXPECT_EQ(std::search(arena->b(), arena->b() + (1 << 20), a.begin(), a.begin() + 16),
            arena->b() + (1 << 20));
}

TEST(MatmulArena, RefusesSizesBeyondInt64) {
  const v1::MatmulShape huge =
      ShapeOf(v1::DATA_TYPE_FP32, 4'000'000'000, 4'000'000'000, 4'000'000'000);
  EXPECT_EQ(RotationOf(huge, 1).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(BytesOf(huge, {}).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace sextant::probe
