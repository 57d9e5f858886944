#include "gpu_probe/host/cpu_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Leaf 1: FMA (12), OSXSAVE (27), AVX (28), F16C (29).
constexpr uint32_t kLeaf1Avx = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29;
constexpr uint32_t kLeaf7Avx2 = 1u << 5;
constexpr uint32_t kLeaf7Avx512 = kLeaf7Avx2 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
constexpr uint64_t kSavesAvx = 0x7;
constexpr uint64_t kSavesAvx512 = 0xE7;
constexpr uint64_t kSavesAmx = 0x600E7;

TEST(CpuFeatures, OfAProcessorWithoutAvxAreNone) {
  EXPECT_THAT(InstructionSetNames(FeaturesFrom({})), IsEmpty());
  EXPECT_EQ(WidestSimd(FeaturesFrom({})), SimdLevel::kBase);
}

TEST(CpuFeatures, OfHaswell) {
  const CpuFeatures features =
      FeaturesFrom({.leaf1_ecx = kLeaf1Avx, .leaf7_ebx = kLeaf7Avx2, .xcr0 = kSavesAvx});
  EXPECT_THAT(InstructionSetNames(features), ElementsAre("avx", "f16c", "fma", "avx2"));
  EXPECT_EQ(WidestSimd(features), SimdLevel::kAvx2);
  EXPECT_FALSE(MultipliesBf16(features));
  EXPECT_FALSE(MultipliesInt8(features));
}

TEST(CpuFeatures, OfZen4) {
  const CpuFeatures features = FeaturesFrom({.leaf1_ecx = kLeaf1Avx,
                                             .leaf7_ebx = kLeaf7Avx512,
                                             .leaf7_ecx = 1u << 11,
                                             .leaf7_1_eax = 1u << 5,
                                             .xcr0 = kSavesAvx512});
  EXPECT_THAT(InstructionSetNames(features),
              ElementsAre("avx", "f16c", "fma", "avx2", "avx512f", "avx512dq", "avx512bw",
                          "avx512vl", "avx512_vnni", "avx512_bf16"));
  EXPECT_EQ(WidestSimd(features), SimdLevel::kAvx512);
}

TEST(CpuFeatures, OfSapphireRapidsNeedTheSystemToSaveTiles) {
  CpuidRegisters registers = {.leaf1_ecx = kLeaf1Avx,
                              .leaf7_ebx = kLeaf7Avx512,
                              .leaf7_ecx = 1u << 11,
                              .leaf7_edx = 1u << 22 | 1u << 23 | 1u << 24 | 1u << 25,
                              .leaf7_1_eax = 1u << 4 | 1u << 5,
                              .xcr0 = kSavesAmx};
  EXPECT_TRUE(FeaturesFrom(registers).amx_bf16);
  EXPECT_TRUE(FeaturesFrom(registers).amx_int8);
  EXPECT_TRUE(FeaturesFrom(registers).avx512_fp16);
  EXPECT_TRUE(FeaturesFrom(registers).avx_vnni);
  registers.xcr0 = kSavesAvx512;
  EXPECT_FALSE(FeaturesFrom(registers).amx_bf16);
}

TEST(CpuFeatures, CountOnlyWhereTheSystemSavesTheRegisters) {
  CpuidRegisters registers = {.leaf1_ecx = kLeaf1Avx, .leaf7_ebx = kLeaf7Avx512, .xcr0 = 0x3};
  EXPECT_THAT(InstructionSetNames(FeaturesFrom(registers)), IsEmpty());
  registers.xcr0 = kSavesAvx;
  EXPECT_EQ(WidestSimd(FeaturesFrom(registers)), SimdLevel::kAvx2);
}

TEST(CpuFeatures, Avx2WithoutFmaIsNotALevel) {
  const CpuFeatures features = FeaturesFrom(
      {.leaf1_ecx = kLeaf1Avx & ~(1u << 12), .leaf7_ebx = kLeaf7Avx2, .xcr0 = kSavesAvx});
  EXPECT_TRUE(features.avx2);
  EXPECT_EQ(WidestSimd(features), SimdLevel::kBase);
}

}  // namespace
}  // namespace sextant::probe
