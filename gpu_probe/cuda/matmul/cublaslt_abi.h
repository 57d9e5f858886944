// Numbers of cuBLASLt's interface, from cublasLt.h, cublas_api.h and library_types.h of cuBLAS
// 13.1. Those that exist in cuBLAS 12 are the same there.
#ifndef SEXTANT_GPU_PROBE_CUDA_MATMUL_CUBLASLT_ABI_H_
#define SEXTANT_GPU_PROBE_CUDA_MATMUL_CUBLASLT_ABI_H_

namespace sextant::probe::cublaslt {

// cublasStatus_t.
inline constexpr int kAllocationFailed = 3;
inline constexpr int kInvalidValue = 7;
inline constexpr int kArchitectureMismatch = 8;
inline constexpr int kNotSupported = 15;

// cudaDataType_t.
inline constexpr int kFp32 = 0;
inline constexpr int kFp64 = 1;
inline constexpr int kFp16 = 2;
inline constexpr int kInt8 = 3;
inline constexpr int kInt32 = 10;
inline constexpr int kBf16 = 14;
inline constexpr int kFp8E4m3 = 28;
inline constexpr int kFp4E2m1 = 33;

// cublasComputeType_t.
inline constexpr int kComputeFp32 = 68;
inline constexpr int kComputeFp64 = 70;
inline constexpr int kComputeInt32 = 72;
inline constexpr int kComputeFp32AsTf32 = 77;

// cublasLtMatmulMatrixScale_t, since cuBLAS 12.8.
inline constexpr int kE4m3ScaleOf16 = 1;
inline constexpr int kE8m0ScaleOf32 = 2;

// cublasLtMatmulDescAttributes_t.
inline constexpr int kTransposeA = 3;
inline constexpr int kTransposeB = 4;
inline constexpr int kScaleOfA = 17;
inline constexpr int kScaleOfB = 18;
inline constexpr int kFastAccumulation = 25;
inline constexpr int kScaleModeOfA = 31;
inline constexpr int kScaleModeOfB = 32;

// cublasOperation_t.
inline constexpr int kNotTransposed = 0;
inline constexpr int kTransposed = 1;

// cublasLtMatrixLayoutAttribute_t.
inline constexpr int kBatchCount = 5;
inline constexpr int kBatchStride = 6;

// cublasLtMatmulPreferenceAttributes_t.
inline constexpr int kMaxWorkspaceBytes = 1;

// cublasLtMatmulAlgoConfigAttributes_t.
inline constexpr int kTile = 1;
inline constexpr int kSplitCount = 2;
inline constexpr int kStages = 6;
inline constexpr int kCluster = 8;

}  // namespace sextant::probe::cublaslt

#endif  // SEXTANT_GPU_PROBE_CUDA_MATMUL_CUBLASLT_ABI_H_
