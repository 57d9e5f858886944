// The kernels of elementwise.cu, on a processor.
#include "tests/gpu_probe/cuda/kernels/emulation.h"
// After what it stands on.
#include <gtest/gtest.h>

#include <vector>

#include "gpu_probe/cuda/kernels/elementwise.cu"

namespace sextant::probe {
namespace {

constexpr unsigned long long kSeed = 99;
constexpr float kScale = 0x1p-18f;
constexpr float kFactor = 1 - 0x1p-14f;
constexpr float kSummand = 0x1p-14f;

struct Step {
  void (*kernel)(float4*, unsigned long long, float, float);
  int count;
};

class ElementwiseKernelsTest : public ::testing::TestWithParam<Step> {};

std::vector<float4> Start(size_t vector_count) {
  std::vector<float4> x(vector_count);
  for (size_t i = 0; i < 4 * vector_count; ++i) (&x.data()->x)[i] = kScale * RandomWhole(kSeed + i);
  return x;
}

// After `run_count` runs of `step_count` steps.
Report CheckOf(const std::vector<float4>& x, int run_count, int step_count) {
  const double steps = run_count * step_count;
  return ReportOf(check_multiply_adds, 2, 32, &x.data()->x, 4 * x.size(), kSeed, kScale, 1.0,
                  std::pow(double{kFactor}, steps), 2 * 0x1p-24 * std::min(steps, 0x1p14));
}

TEST_P(ElementwiseKernelsTest, DoesItsStepsOnEveryElementWhateverTheTail) {
  const Step step = GetParam();
  for (const size_t vector_count : {1, 63, 64, 65, 127, 129, 1000}) {
    std::vector<float4> x = Start(vector_count);
    const std::vector<float4> start = x;
    Emulate(step.kernel, 2, 32, x.data(), vector_count, kFactor, kSummand);
    for (size_t i = 0; i < vector_count; ++i) {
      double expected = start[i].w;
      for (int s = 0; s < step.count; ++s) expected = kFactor * expected + kSummand;
      ASSERT_NEAR(x[i].w, expected, step.count * 0x1p-23) << i;
    }
    EXPECT_EQ(CheckOf(x, 1, step.count).wrong_count, 0);
    Emulate(step.kernel, 2, 32, x.data(), vector_count, kFactor, kSummand);
    EXPECT_EQ(CheckOf(x, 2, step.count).wrong_count, 0);
  }
}

TEST_P(ElementwiseKernelsTest, WhatWasNotDoneOrDoneTwiceIsFoundInNearlyAllElements) {
  const Step step = GetParam();
  constexpr size_t kVectors = 500;
  std::vector<float4> x = Start(kVectors);
  EXPECT_GT(CheckOf(x, 1, step.count).wrong_count, 4 * kVectors * 9 / 10) << "not done";
  for (int run = 0; run < 20; ++run) {
    Emulate(step.kernel, 2, 32, x.data(), kVectors, kFactor, kSummand);
  }
  EXPECT_EQ(CheckOf(x, 20, step.count).wrong_count, 0);
  EXPECT_GT(CheckOf(x, 19, step.count).wrong_count, 4 * kVectors * 9 / 10) << "done once too often";
  EXPECT_GT(CheckOf(x, 21, step.count).wrong_count, 4 * kVectors * 9 / 10) << "left out once";
  x[9].y = NAN;
  const Report report = CheckOf(x, 20, step.count);
  EXPECT_EQ(report.wrong_count, 1);
  EXPECT_EQ(report.first_wrong, 9 * 4 + 1);
}

INSTANTIATE_TEST_SUITE_P(Steps, ElementwiseKernelsTest,
                         ::testing::Values(Step{multiply_adds_2, 2}, Step{multiply_adds_4, 4},
                                           Step{multiply_adds_8, 8}, Step{multiply_adds_16, 16},
                                           Step{multiply_adds_32, 32}, Step{multiply_adds_64, 64},
                                           Step{multiply_adds_128, 128},
                                           Step{multiply_adds_256, 256}));

}  // namespace
}  // namespace sextant::probe
