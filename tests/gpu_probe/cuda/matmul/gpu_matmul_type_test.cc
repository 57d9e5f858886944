// The types and sizes that a GPU multiplies; and the numbers of cuBLASLt's that the probe knows,
// against the library's own header where this host has it.
#include "gpu_probe/cuda/matmul/gpu_matmul_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <tuple>

#include "engine/base/matmul_grid.h"
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

TEST(GpuMatmulTypesTest, AreFoundByTheirType) {
  for (const GpuMatmulType& type : GpuMatmulTypes()) {
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
        EXPECT_LT(allowed, 0.5 * 16 * std::sqrt(2.0) * root_k) << type.label() << " " << k;
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

// Enumerators with a number, of all headers together: "CUBLAS_OP_T" is 1.
std::map<std::string, int> Enumerators() {
  std::map<std::string, int> out;
  const std::regex enumerator(R"(^\s*(CU[A-Za-z0-9_]+)\s*=\s*(\d+)\s*,?.*)");
  for (const char* name : {"cublasLt.h", "cublas_api.h", "library_types.h"}) {
    std::ifstream file(std::string("/usr/local/cuda/include/") + name);
    std::smatch match;
    for (std::string line; std::getline(file, line);) {
      if (std::regex_match(line, match, enumerator)) out[match[1]] = std::stoi(match[2]);
    }
  }
  return out;
}

class CublasLtHeaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (numbers_.count("CUBLASLT_MATMUL_DESC_TRANSA") == 0) {
      GTEST_SKIP() << "there is no cublasLt.h here";
    }
  }
  const std::map<std::string, int> numbers_ = Enumerators();
};

TEST_F(CublasLtHeaderTest, AttributesAndTypes) {
  const std::map<std::string, int> known = {
      {"CUBLAS_STATUS_ALLOC_FAILED", cublaslt::kAllocationFailed},
      {"CUBLAS_STATUS_INVALID_VALUE", cublaslt::kInvalidValue},
      {"CUBLAS_STATUS_ARCH_MISMATCH", cublaslt::kArchitectureMismatch},
      {"CUBLAS_STATUS_NOT_SUPPORTED", cublaslt::kNotSupported},
      {"CUDA_R_32F", cublaslt::kFp32},
      {"CUDA_R_64F", cublaslt::kFp64},
      {"CUDA_R_16F", cublaslt::kFp16},
      {"CUDA_R_8I", cublaslt::kInt8},
      {"CUDA_R_32I", cublaslt::kInt32},
      {"CUDA_R_16BF", cublaslt::kBf16},
      {"CUDA_R_8F_E4M3", cublaslt::kFp8E4m3},
      {"CUDA_R_4F_E2M1", cublaslt::kFp4E2m1},
      {"CUBLAS_COMPUTE_32F", cublaslt::kComputeFp32},
      {"CUBLAS_COMPUTE_64F", cublaslt::kComputeFp64},
      {"CUBLAS_COMPUTE_32I", cublaslt::kComputeInt32},
      {"CUBLAS_COMPUTE_32F_FAST_TF32", cublaslt::kComputeFp32AsTf32},
      {"CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3", cublaslt::kE4m3ScaleOf16},
      {"CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0", cublaslt::kE8m0ScaleOf32},
      {"CUBLASLT_MATMUL_DESC_TRANSA", cublaslt::kTransposeA},
      {"CUBLASLT_MATMUL_DESC_TRANSB", cublaslt::kTransposeB},
      {"CUBLASLT_MATMUL_DESC_A_SCALE_POINTER", cublaslt::kScaleOfA},
      {"CUBLASLT_MATMUL_DESC_B_SCALE_POINTER", cublaslt::kScaleOfB},
      {"CUBLASLT_MATMUL_DESC_FAST_ACCUM", cublaslt::kFastAccumulation},
      {"CUBLASLT_MATMUL_DESC_A_SCALE_MODE", cublaslt::kScaleModeOfA},
      {"CUBLASLT_MATMUL_DESC_B_SCALE_MODE", cublaslt::kScaleModeOfB},
      {"CUBLAS_OP_N", cublaslt::kNotTransposed},
      {"CUBLAS_OP_T", cublaslt::kTransposed},
      {"CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT", cublaslt::kBatchCount},
      {"CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET", cublaslt::kBatchStride},
      {"CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES", cublaslt::kMaxWorkspaceBytes},
      {"CUBLASLT_ALGO_CONFIG_TILE_ID", cublaslt::kTile},
      {"CUBLASLT_ALGO_CONFIG_SPLITK_NUM", cublaslt::kSplitCount},
      {"CUBLASLT_ALGO_CONFIG_STAGES_ID", cublaslt::kStages},
      {"CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID", cublaslt::kCluster}};
  for (const auto& [name, number] : known) {
    ASSERT_EQ(numbers_.count(name), 1u) << name;
    EXPECT_EQ(numbers_.at(name), number) << name;
  }
}

std::vector<std::tuple<int64_t, int64_t, int64_t>> Plain(const std::vector<MatmulSize>& sizes) {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> out;
  for (const MatmulSize& size : sizes) out.emplace_back(size.m, size.n, size.k);
  return out;
}

// With the first.
std::vector<MatmulSize> AllOf(v1::ProbeMode mode, v1::DataType type) {
  std::vector<MatmulSize> out = SizesOf(mode, type);
  if (IsMeasuredIn(mode, type)) out.push_back(FirstSize());
  return out;
}

TEST(GpuMatmulGridTest, NoSizeComesTwice) {
  for (const auto mode : {v1::PROBE_MODE_QUICK, v1::PROBE_MODE_STANDARD, v1::PROBE_MODE_FULL}) {
    for (const GpuMatmulType& type : GpuMatmulTypes()) {
      const auto sizes = Plain(AllOf(mode, type.data_type));
      EXPECT_EQ(std::set(sizes.begin(), sizes.end()).size(), sizes.size()) << type.label();
    }
  }
}

TEST(GpuMatmulGridTest, FullHasWhatACalibrationHolds) {
  const auto sizes = Plain(AllOf(v1::PROBE_MODE_FULL, v1::DATA_TYPE_BF16));
  EXPECT_EQ(sizes.size(), kMatmulPointCount + kMatmulCheckCount);
  const std::set<std::tuple<int64_t, int64_t, int64_t>> measured(sizes.begin(), sizes.end());
  const auto points = Plain(MatmulGridPoints());
  EXPECT_TRUE(std::all_of(points.begin(), points.begin() + kMatmulPointCount,
                          [&](const auto& size) { return measured.count(size) > 0; }));
}

TEST(GpuMatmulGridTest, StandardHasAllAnchorsOfTwoTypes) {
  for (const auto type : {v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP8_E4M3}) {
    const auto sizes = Plain(AllOf(v1::PROBE_MODE_STANDARD, type));
    const std::set<std::tuple<int64_t, int64_t, int64_t>> measured(sizes.begin(), sizes.end());
    const auto points = Plain(MatmulGridPoints());
    EXPECT_TRUE(std::all_of(points.begin(), points.begin() + 63,
                            [&](const auto& size) { return measured.count(size) > 0; }));
    EXPECT_EQ(sizes.size(), 92u);
  }
  EXPECT_EQ(AllOf(v1::PROBE_MODE_STANDARD, v1::DATA_TYPE_TF32).size(), 12u);
  EXPECT_TRUE(AllOf(v1::PROBE_MODE_STANDARD, v1::DATA_TYPE_FP64).empty());
}

TEST(GpuMatmulGridTest, TheGridTakesLittleTime) {
  // The time of one run of each size on an H100 SXM, at 0.7 PFLOP/s in bf16 and twice that in fp8.
  double operations = 0;
  for (const MatmulSize& size : AllOf(v1::PROBE_MODE_STANDARD, v1::DATA_TYPE_BF16)) {
    operations += 2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) *
                  static_cast<double>(size.k);
  }
  EXPECT_LT(operations / 7e14, 0.03);
  // Types with few tensor cores have none that takes long.
  for (const MatmulSize& size : AllOf(v1::PROBE_MODE_FULL, v1::DATA_TYPE_FP64)) {
    EXPECT_LE(size.m * size.n * size.k, int64_t{1} << 37);
  }
}

TEST(GpuMatmulGridTest, EverySizeSuitsEveryType) {
  for (const GpuMatmulType& type : GpuMatmulTypes()) {
    for (const MatmulSize& size : AllOf(v1::PROBE_MODE_FULL, type.data_type)) {
      EXPECT_EQ(size.n % type.multiple, 0) << type.label();
      EXPECT_EQ(size.k % type.multiple, 0) << type.label();
    }
  }
}

}  // namespace
}  // namespace sextant::probe
