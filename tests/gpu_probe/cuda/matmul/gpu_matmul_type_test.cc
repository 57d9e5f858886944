
#include "gpu_probe/cuda/matmul/gpu_matmul_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/ascii.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

TEST(CheckGpuMultipliesTest, ByComputeCapability) {
  const auto multiplies = [](v1::DataType type, int capability) {
    return CheckGpuMultiplies(type, capability, "13.1.0").ok();
  };
  for (const auto type : {v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP16, v1::DATA_TYPE_TF32,
                          v1::DATA_TYPE_FP32, v1::DATA_TYPE_FP64, v1::DATA_TYPE_INT8}) {
    EXPECT_TRUE(multiplies(type, 80)) << v1::DataType_Name(type);
  }
  EXPECT_FALSE(multiplies(v1::DATA_TYPE_FP8_E4M3, 86));
  EXPECT_TRUE(multiplies(v1::DATA_TYPE_FP8_E4M3, 89));
  for (const auto type : {v1::DATA_TYPE_MXFP8, v1::DATA_TYPE_NVFP4}) {
    EXPECT_FALSE(multiplies(type, 90));
    EXPECT_TRUE(multiplies(type, 100));
    EXPECT_TRUE(multiplies(type, 120));
  }
  EXPECT_FALSE(multiplies(v1::DATA_TYPE_INT4, 100));
  EXPECT_FALSE(multiplies(v1::DATA_TYPE_UNSPECIFIED, 100));
}

TEST(CheckGpuMultipliesTest, ByTheLibrarysVersion) {
  EXPECT_THAT(CheckGpuMultiplies(v1::DATA_TYPE_NVFP4, 100, "12.8.4"), IsOk());
  EXPECT_THAT(CheckGpuMultiplies(v1::DATA_TYPE_BF16, 100, "12.1.0"), IsOk());
  for (const char* version : {"12.7.9", "", "new"}) {
    EXPECT_EQ(CheckGpuMultiplies(v1::DATA_TYPE_NVFP4, 100, version).code(),
              absl::StatusCode::kUnimplemented);
  }
}

TEST(CheckGpuMultipliesTest, SaysWhatIsMissing) {
  EXPECT_THAT(CheckGpuMultiplies(v1::DATA_TYPE_FP8_E4M3, 80, "13.1.0"),
              Says("FP8_E4M3 needs compute capability 8.9, and this GPU's is 8.0"));
  EXPECT_THAT(CheckGpuMultiplies(v1::DATA_TYPE_MXFP8, 100, "12.4.0"),
              Says("needs cuBLASLt 12.8, and here is 12.4.0"));
}

TEST(GpuMatmulTypesTest, AreNamedAsTheApiNamesThem) {
  for (const GpuMatmulType& type : GpuMatmulTypes()) {
    EXPECT_EQ(v1::DataType_Name(type.data_type), "DATA_TYPE_" + absl::AsciiStrToUpper(type.label));
    EXPECT_EQ(FindGpuMatmulType(type.data_type), &type);
  }
}

TEST(ToleranceOfTest, IsBelowWhatAWrongPartOfARowIsOff) {
  // With unit variance, a sum of k products is about sqrt(k); norms of a row of A and of 256
  // columns of B are sqrt(k) and 16 sqrt(k), that of C's part of a row is 16 sqrt(k). Replacing
  // that whole part by another gives an error of some 16 sqrt(2 k).
  for (const GpuMatmulType& type : GpuMatmulTypes()) {
    for (const int64_t k : {16, 1024, 16384}) {
      for (const int capability : {80, 90, 100}) {
        const auto root_k = std::sqrt(static_cast<double>(k));
        const MatmulTolerance tolerance = ToleranceOf(type, k, capability);
        const double allowed =
            tolerance.sums * root_k * 16 * root_k + tolerance.output * 16 * root_k;
        EXPECT_LT(allowed, 0.5 * 16 * std::sqrt(2.0) * root_k) << type.label << " " << k;
      }
    }
  }
}

TEST(ToleranceOfTest, OfWholeNumbersIsNone) {
  const MatmulTolerance tolerance = ToleranceOf(*FindGpuMatmulType(v1::DATA_TYPE_INT8), 16384, 90);
  EXPECT_EQ(tolerance.sums, 0);
  EXPECT_EQ(tolerance.output, 0);
}

TEST(ToleranceOfTest, ShortSumsAreThoseBeforeBlackwell) {
  const GpuMatmulType& fp8 = *FindGpuMatmulType(v1::DATA_TYPE_FP8_E4M3);
  EXPECT_GT(ToleranceOf(fp8, 4096, 90).sums, 50 * ToleranceOf(fp8, 4096, 100).sums);
}

TEST(ScaleBytesOfTest, CountsWholeTiles) {
  const GpuMatmulType& mxfp8 = *FindGpuMatmulType(v1::DATA_TYPE_MXFP8);
  const GpuMatmulType& nvfp4 = *FindGpuMatmulType(v1::DATA_TYPE_NVFP4);
  EXPECT_EQ(ScaleBytesOf(mxfp8, 128, 128), 512);
  EXPECT_EQ(ScaleBytesOf(mxfp8, 1, 128), 512);
  EXPECT_EQ(ScaleBytesOf(mxfp8, 129, 160), 4 * 512);
  EXPECT_EQ(ScaleBytesOf(nvfp4, 128, 128), 2 * 512);
  EXPECT_EQ(ScaleBytesOf(*FindGpuMatmulType(v1::DATA_TYPE_BF16), 128, 128), 0);
}

}  // namespace
}  // namespace sextant::probe
