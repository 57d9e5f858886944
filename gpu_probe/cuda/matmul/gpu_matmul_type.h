// The multiplications that GPUs are measured by: the types, with their properties in cuBLASLt and
// in the probe's kernels, and the sizes.
#ifndef SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_TYPE_H_
#define SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_TYPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "engine/base/matmul_grid.h"
#include "gpu_probe/cuda/cuda_driver.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/points/matmul.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/data_type.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// Formats of matrices in the kernels of kernels/matmul_*.cu.
//
// kernels/matmul_formats.cuh describes each.
enum class MatrixFormat : int {
  kFp64 = 0,
  kFp32 = 1,
  kTf32 = 2,
  kFp16 = 3,
  kBf16 = 4,
  kInt8 = 5,
  kE4m3 = 6,
  kMxE4m3 = 7,
  kNvE2m1 = 8,
  kInt32 = 9,
};

// The kernels' Matrix: passed to them as an argument, so the layouts must be equal.
struct GpuMatrix {
  cuda::Address elements = 0;
  cuda::Address scales = 0;
  int64_t row_step = 0;
  int64_t k_step = 1;
  int64_t scale_tiles = 0;
  double scale = 1;
  MatrixFormat format = MatrixFormat::kFp32;
};
static_assert(sizeof(GpuMatrix) == 56);

// The kernels' Tolerance.
struct MatmulTolerance {
  double sums = 0;
  double output = 0;
};

// Columns of C that are summed together, as in kernels/matmul_check.cu.
inline constexpr int64_t kGpuCheckedColumnCount = 256;

struct GpuMatmulType {
  v1::DataType data_type = v1::DATA_TYPE_UNSPECIFIED;
  int oldest_capability = 80;                      // of GPUs that support it: 89 for 8.9
  MatrixFormat format = {};                        // of A and B
  MatrixFormat output = MatrixFormat::kFp32;       // of C, as in frameworks
  MatrixFormat wide_output = MatrixFormat::kFp32;  // of C where sums must stay exact
  int input_type = 0;                              // cudaDataType_t
  int compute_type = cublaslt::kComputeFp32;       // cublasComputeType_t
  int factor_type = cublaslt::kFp32;               // cudaDataType_t of alpha and beta
  int64_t element_bits = 0;
  int64_t scale_block = 0;        // elements that share a scale; 0: no block scales
  bool scaled_matrices = false;   // each with a scale of its own, in fp32
  double deviation = 1;           // of the random elements
  int64_t multiple = 1;           // n and k must be multiples of it
  double sum_rounding = 0x1p-24;  // relative rounding of a sum; 0 where sums are exact
  double output_rounding = 0;     // of C's elements

  std::string label() const { return TypeLabel(data_type); }  // "bf16"
};

// All types, in the order in which they are measured.
absl::Span<const GpuMatmulType> GpuMatmulTypes();

// Null for types that are not measured on GPUs.
const GpuMatmulType* FindGpuMatmulType(v1::DataType type);

// OK where a GPU of that compute capability (90 for 9.0) multiplies in `type` with that version of
// cuBLASLt ("13.1.0").
//
// Errors: kUnimplemented, saying what is missing.
absl::Status CheckGpuMultiplies(v1::DataType type, int capability, const std::string& version);

// An output's cudaDataType_t, and the bytes of an element.
struct OutputElement {
  int cuda_type = cublaslt::kFp32;
  int64_t bytes = 4;
};
OutputElement OutputElementOf(MatrixFormat output);

// C[m,n] = A[m,k] B[k,n], row-major, `batch_count` times with consecutive operands.
struct GpuMatmulProblem {
  const GpuMatmulType* type = nullptr;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  v1::MatmulMeasurement::Layout layout = v1::MatmulMeasurement::LAYOUT_ROW_BY_COLUMN;
  int64_t batch_count = 1;
  bool fast_accumulation = true;  // of FP8_E4M3
  bool wide_output = false;       // C in the type that exact sums need

  MatrixFormat output() const { return wide_output ? type->wide_output : type->output; }
  int64_t output_bytes() const { return batch_count * m * n * OutputElementOf(output()).bytes; }
};

GpuMatmulProblem ProblemOf(v1::DataType type, const MatmulSize& size);

// The rounding error that a sum of k products may have, in both kinds of tolerance.
//
// docs/gpu_probe.md, "Matrix multiplications", derives it. `capability` determines the bits of
// e4m3's sums.
MatmulTolerance ToleranceOf(const GpuMatmulType& type, int64_t k, int capability);

// Scales of one matrix of `rows` by k: tiles of 128 rows by 4 blocks.
int64_t ScaleTilesAlongK(const GpuMatmulType& type, int64_t k);
int64_t ScaleBytesOf(const GpuMatmulType& type, int64_t rows, int64_t k);

// The first size measured of each type, an anchor of the grid (engine/base/matmul_grid.h).
MatmulSize FirstSize();

// True where STANDARD measures the type's whole grid, and some other sizes.
bool HasGrid(v1::DataType type);
// The least number of shapes for a model of the type's times
// (engine/hardware/kernels/matmul_model.h).
inline constexpr int kMinGridPoints = 24;

// The sizes of `mode` other than the first, none where the mode does not measure the type.
// docs/gpu_probe.md, "Matrix multiplications", lists them.
std::vector<MatmulSize> SizesOf(v1::ProbeMode mode, v1::DataType type);
// True where the mode measures the type's first size.
bool IsMeasuredIn(v1::ProbeMode mode, v1::DataType type);

// Seconds for which a large size runs without a pause; 0: not at all.
MatmulSize SustainedSize();
double SustainedSeconds(v1::ProbeMode mode, v1::DataType type);

// Seconds for trying algorithms, over all sizes of a type: in FULL only, since loading a kernel may
// take longer than all its samples.
double TrialSeconds(v1::ProbeMode mode);

// Multiplications that are not points of the grid, in bf16 and in FULL only, and one in fp8.
std::vector<GpuMatmulProblem> OtherMatmuls(v1::ProbeMode mode);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_TYPE_H_
