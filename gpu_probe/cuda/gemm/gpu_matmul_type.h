// The types that GPUs multiply in, and what each is to cuBLASLt and to the probe's kernels.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_TYPE_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_TYPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gpu_probe/cuda/gemm/gpu_matrix.h"
#include "sextant/v1/data_type.pb.h"

namespace sextant {

struct GpuMatmulType {
  v1::DataType data_type = v1::DATA_TYPE_UNSPECIFIED;
  const char* label = "";         // "bf16"
  int oldest_capability = 80;     // of GPUs that have it: 89 for 8.9
  MatrixFormat format = {};       // of A and B
  MatrixFormat output = {};       // of C, as frameworks have it
  MatrixFormat wide_output = {};  // of C where sums must stay exact
  int input_type = 0;             // cudaDataType_t
  int compute_type = 0;           // cublasComputeType_t
  int factor_type = 0;            // cudaDataType_t of alpha and beta
  int64_t element_bits = 0;
  int64_t scale_block = 0;        // elements that share a scale; 0: there are none such
  bool scaled_matrices = false;   // each with a scale of its own, in fp32
  double deviation = 1;           // of the random elements
  int64_t multiple = 1;           // of which n and k must be one
  double sum_rounding = 0x1p-24;  // of one rounding of a sum, relative; 0 where sums are exact
  double output_rounding = 0;     // of C's elements
};

// In the order in which they are measured.
const std::vector<GpuMatmulType>& GpuMatmulTypes();

// Null where GPUs are not measured in it.
const GpuMatmulType* FindGpuMatmulType(v1::DataType type);

// OK where a GPU of that compute capability (90 for 9.0), with that version of cuBLASLt
// ("13.1.0"), multiplies in `type`.
//
// Errors: kUnimplemented, saying what is missing.
absl::Status CheckGpuMultiplies(v1::DataType type, int capability, const std::string& version);

// Numbers of a format to cuBLASLt, and their bytes.
int CudaTypeOf(MatrixFormat output);
int64_t OutputBytesOf(MatrixFormat output);

// What rounding explains of a sum of k products, in both kinds of tolerance.
//
// docs/gpu_matmul.md derives it. `capability` tells how many bits the sums of e4m3 have.
MatmulTolerance ToleranceOf(const GpuMatmulType& type, int64_t k, int capability);

// Scales of one matrix of `rows` by k: tiles of 128 rows by 4 blocks.
int64_t ScaleTilesAlongK(const GpuMatmulType& type, int64_t k);
int64_t ScaleBytesOf(const GpuMatmulType& type, int64_t rows, int64_t k);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_TYPE_H_
