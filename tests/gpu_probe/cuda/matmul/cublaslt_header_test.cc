// The numbers that the probe knows, against the library's own header where this host has it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <string>

#include "gpu_probe/cuda/matmul/cublaslt_abi.h"

namespace sextant::probe {
namespace {

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

}  // namespace
}  // namespace sextant::probe
