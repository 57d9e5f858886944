#include "gpu_probe/host/elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "tests/gpu_probe/host/test_host.h"

namespace sextant::probe {
namespace {

TEST(ElementwiseKernels, AgreeWithDoubleAtEverySize) {
  for (const SimdLevel level : LevelsHere()) {
    for (const int64_t count : {0, 1, 7, 17, 33, 47, 96, 256, 1009}) {
      for (const int64_t step_count : {1, 2, 7, 128}) {
        const std::vector<float> start = NormalNumbers(/*first=*/0, count);
        std::vector<float> x = start;
        x.push_back(-1);  // a guard
        ElementwiseKernelOf(level)(
            {.x = x.data(), .count = count, .step_count = step_count, .a = 0.99F, .b = 0.25F});
        for (size_t i = 0; i < start.size(); ++i) {
          double wanted = start[i];
          for (int64_t step = 0; step < step_count; ++step) {
            wanted = wanted * double{0.99F} + double{0.25F};
          }
          ASSERT_NEAR(x[i], wanted, 1e-4 * std::max(1.0, std::abs(wanted))) << count;
        }
        EXPECT_EQ(x.back(), -1);
      }
    }
  }
}

class ElementwiseWorkloadTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override {
    context_ = SmallHost(/*thread_count=*/3);
    array_ = *ElementwiseArray::Create(/*count=*/20'011, *context_);
  }
  ElementwiseWorkload Make(int64_t segment_count) {
    return ElementwiseWorkload({.kernel = ElementwiseKernelOf(WidestSimd(context_->features)),
                                .step_count = GetParam(),
                                .segment_count = segment_count},
                               array_, context_);
  }

  SharedContext context_;
  std::shared_ptr<ElementwiseArray> array_;
};

TEST_P(ElementwiseWorkloadTest, RunsAreRightHoweverOftenTheyPass) {
  for (const int64_t segment_count : {1, 4}) {
    ElementwiseWorkload workload = Make(segment_count);
    for (const int64_t repetition_count : {1, 3, 4, 5, 400}) {
      EXPECT_EQ(RunAndCheck(workload, repetition_count), absl::OkStatus()) << repetition_count;
    }
  }
}

TEST_P(ElementwiseWorkloadTest, APassTooFewOrTooManyIsFound) {
  ElementwiseWorkload workload = Make(/*segment_count=*/1);
  workload.Poison();
  ASSERT_EQ(workload.Run(1), absl::OkStatus());
  const std::vector<float> once(array_->x.As<float>(), array_->x.As<float>() + array_->count);
  ASSERT_EQ(workload.Run(1), absl::OkStatus());
  std::copy(once.begin(), once.end(), array_->x.As<float>());
  EXPECT_EQ(workload.Check().code(), absl::StatusCode::kDataLoss);
}

TEST_P(ElementwiseWorkloadTest, OneWrongElementIsFound) {
  ElementwiseWorkload workload = Make(/*segment_count=*/1);
  for (const int64_t i : {0, 10'000, 20'010}) {
    for (const float wrong : {0.5F, NAN, INFINITY}) {
      workload.Poison();
      ASSERT_EQ(workload.Run(1), absl::OkStatus());
      array_->x.As<float>()[i] += wrong;
      EXPECT_EQ(workload.Check().code(), absl::StatusCode::kDataLoss) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ladder, ElementwiseWorkloadTest,
                         ::testing::Values(1, 2, 4, 8, 16, 32, 64, 128));

}  // namespace
}  // namespace sextant::probe
