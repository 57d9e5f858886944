// The kernels of fusion.cu, on a processor.
#include "tests/gpu_probe/cuda/kernels/emulation.h"
// After what it stands on.
#include <gtest/gtest.h>

#include <vector>

#include "gpu_probe/cuda/kernels/fusion.cu"

namespace sextant::probe {
namespace {

constexpr unsigned long long kSeed = 1;
constexpr unsigned long long kBiasSeed = 1'000'000;
constexpr unsigned long long kResidualSeed = 2'000'000;
constexpr float kDataScale = 0x1p-18f;
constexpr float kScale = 0.5f;
constexpr size_t kVectors = 3 * kBiasVectorCount;  // three rows
constexpr unsigned kBlocks = 5;                    // whose threads do not divide a row
constexpr unsigned kThreads = 32;

std::vector<float4> Data(size_t vector_count, unsigned long long seed) {
  std::vector<float4> out(vector_count);
  for (size_t i = 0; i < 4 * vector_count; ++i) {
    (&out.data()->x)[i] = kDataScale * RandomWhole(seed + i);
  }
  return out;
}

class FusionKernelsTest : public ::testing::Test {
 protected:
  void Unfused() {
    Emulate(fusion_scale, kBlocks, kThreads, y_.data(), x_.data(), kVectors, kScale);
    Emulate(fusion_add_bias, kBlocks, kThreads, y_.data(), bias_.data(), kVectors);
    Emulate(fusion_activate, kBlocks, kThreads, y_.data(), kVectors);
    Emulate(fusion_add_residual, kBlocks, kThreads, y_.data(), residual_.data(), kVectors);
  }
  Report CheckOfY() const {
    return ReportOf(check_fusion, 2, 32, &y_.data()->x, 4 * kVectors, kSeed, kBiasSeed,
                    kResidualSeed, kDataScale, kScale, 10 * 0x1p-24);
  }
  // The formula of fusion_chain.h's comment.
  double ExpectedX(size_t i) const {
    const double z = 0.5 * x_[i].x + bias_[i % bias_.size()].x;
    return z * (0.5 + z * (0.39894228 - 0.06649038 * z * z)) + residual_[i].x;
  }

  const std::vector<float4> x_ = Data(kVectors, kSeed);
  const std::vector<float4> residual_ = Data(kVectors, kResidualSeed);
  const std::vector<float4> bias_ = Data(kBiasVectorCount, kBiasSeed);
  std::vector<float4> y_ = std::vector<float4>(kVectors, make_float4(NAN, NAN, NAN, NAN));
};

TEST_F(FusionKernelsTest, FusedAndUnfusedGiveTheChain) {
  Unfused();
  for (size_t i = 0; i < kVectors; ++i) ASSERT_NEAR(y_[i].x, ExpectedX(i), 5e-5) << i;
  EXPECT_EQ(CheckOfY().wrong_count, 0);
  y_.assign(kVectors, make_float4(NAN, NAN, NAN, NAN));
  Emulate(fusion_all, kBlocks, kThreads, y_.data(), x_.data(), bias_.data(), residual_.data(),
          kVectors, kScale);
  for (size_t i = 0; i < kVectors; ++i) ASSERT_NEAR(y_[i].x, ExpectedX(i), 5e-5) << i;
  EXPECT_EQ(CheckOfY().wrong_count, 0);
}

TEST_F(FusionKernelsTest, AnOperationThatIsMissingIsFoundAndSoIsOneElement) {
  EXPECT_EQ(CheckOfY().wrong_count, 4 * kVectors) << "poison is left";
  Emulate(fusion_scale, kBlocks, kThreads, y_.data(), x_.data(), kVectors, kScale);
  Emulate(fusion_add_bias, kBlocks, kThreads, y_.data(), bias_.data(), kVectors);
  Emulate(fusion_add_residual, kBlocks, kThreads, y_.data(), residual_.data(), kVectors);
  EXPECT_GT(CheckOfY().wrong_count, 4 * kVectors * 9 / 10) << "no activation";
  Unfused();
  y_[100].w += 1e-4f;
  EXPECT_EQ(CheckOfY().wrong_count, 1);
  EXPECT_EQ(CheckOfY().first_wrong, 403);
}

}  // namespace
}  // namespace sextant::probe
