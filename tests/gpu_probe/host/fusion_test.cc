#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "gpu_probe/host/elementwise.h"
#include "tests/gpu_probe/host/test_host.h"

namespace sextant::probe {
namespace {

TEST(FusionKernels, AllLevelsGiveTheSameChain) {
  constexpr int64_t kRows = 3;
  const size_t count = kRows * kFusionChannelCount;
  const std::vector<float> x = NormalNumbers(0, kRows * kFusionChannelCount);
  const std::vector<float> residual = NormalNumbers(10'000, kRows * kFusionChannelCount);
  const std::vector<float> bias = NormalNumbers(20'000, kFusionChannelCount);
  for (const SimdLevel level : LevelsHere()) {
    for (const bool fused : {false, true}) {
      std::vector<float> y(count, NAN);
      const FusionSpan span = {.x = x.data(),
                               .bias = bias.data(),
                               .residual = residual.data(),
                               .y = y.data(),
                               .row_count = kRows,
                               .scale = 0.5F};
      if (fused) {
        FusionKernelOf(level)(FusionPass::kAll, span);
      } else {
        for (const FusionPass pass : {FusionPass::kScale, FusionPass::kAddBias,
                                      FusionPass::kActivate, FusionPass::kAddResidual}) {
          FusionKernelOf(level)(pass, span);
        }
      }
      for (size_t i = 0; i < count; ++i) {
        const double z = 0.5 * x[i] + bias[i % kFusionChannelCount];
        const double wanted =
            0.5 * z + 0.39894228 * z * z - 0.06649038 * z * z * z * z + residual[i];
        ASSERT_NEAR(y[i], wanted, 1e-6 * (1 + z * z * z * z)) << i << " fused " << fused;
      }
    }
  }
}

class FusionWorkloadTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    context_ = SmallHost(/*thread_count=*/3);
    arrays_ = *FusionArrays::Create(/*row_count=*/37, *context_);
  }
  FusionWorkload Make() {
    return FusionWorkload(FusionKernelOf(WidestSimd(context_->features)), GetParam(), arrays_,
                          context_);
  }

  SharedContext context_;
  std::shared_ptr<FusionArrays> arrays_;
};

TEST_P(FusionWorkloadTest, RunsAreRight) {
  FusionWorkload workload = Make();
  EXPECT_EQ(RunAndCheck(workload), absl::OkStatus());
  ASSERT_EQ(workload.Run(3), absl::OkStatus());
  EXPECT_EQ(workload.Check(), absl::OkStatus());
}

TEST_P(FusionWorkloadTest, WhatWasNotRunIsFound) {
  FusionWorkload workload = Make();
  workload.Poison();
  EXPECT_EQ(workload.Check().code(), absl::StatusCode::kDataLoss);
}

TEST_P(FusionWorkloadTest, OneWrongElementIsFound) {
  FusionWorkload workload = Make();
  for (const int64_t i : {0, 20'000, 37 * 1024 - 1}) {
    workload.Poison();
    ASSERT_EQ(workload.Run(1), absl::OkStatus());
    arrays_->y.As<float>()[i] += 0.01F;
    EXPECT_EQ(workload.Check().code(), absl::StatusCode::kDataLoss) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Both, FusionWorkloadTest, ::testing::Bool(),
                         [](const auto& instance) { return instance.param ? "Fused" : "Unfused"; });

}  // namespace
}  // namespace sextant::probe
