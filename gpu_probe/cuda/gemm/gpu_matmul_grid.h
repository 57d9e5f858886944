// Which multiplications are measured on a GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_GRID_H_
#define SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_GRID_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "gpu_probe/cuda/gemm/gpu_matmul_type.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// C[m,n] = A[m,k] B[k,n].
struct GpuMatmulSize {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  friend bool operator==(const GpuMatmulSize&, const GpuMatmulSize&) = default;
};

// In the order in which to measure them, as many from the front as there is time for: 63 anchors, m
// of 1, 16, 64, 256, 1024, 4096, 8192 with n and k of 1024, 4096, 16384; then a scatter of others.
// The service's own rule (engine/hardware/kernels/gemm_points.h), which a test holds this to.
std::vector<GpuMatmulSize> PointSizes();
// The same of sizes that predictions are checked with.
std::vector<GpuMatmulSize> CheckSizes();

// Whether the size is one of the anchors.
bool IsAnchor(const GpuMatmulSize& size);

// The size that is measured first of each type, an anchor.
GpuMatmulSize FirstSize();

// Whether STANDARD measures the whole grid of the type, and some others.
bool HasGrid(v1::DataType type);
// How many shapes a model of the type's times needs (engine/hardware/kernels/gemm_model.h).
inline constexpr int kFewestGridPoints = 24;

// The sizes of `mode` beside the first, none where the type is not that mode's. docs/gpu_matmul.md
// tells what they take.
std::vector<GpuMatmulSize> SizesOf(v1::ProbeMode mode, v1::DataType type);
// Whether the first size is measured in that mode.
bool IsMeasuredIn(v1::ProbeMode mode, v1::DataType type);

// For how long a large size runs without a pause; 0: not at all.
GpuMatmulSize SustainedSize();
double SustainedSeconds(v1::ProbeMode mode, v1::DataType type);

// For how long algorithms are tried, over all sizes of a type: in FULL alone, since loading a
// kernel may take longer than all its samples.
double TrialSeconds(v1::ProbeMode mode);

// Multiplications that are no points of the grid, in bf16 and in FULL alone, and one in fp8.
struct OtherMatmul {
  v1::DataType data_type = v1::DATA_TYPE_BF16;
  GpuMatmulSize size;
  v1::MatmulMeasurement::Layout layout = v1::MatmulMeasurement::LAYOUT_ROW_BY_COLUMN;
  int64_t batch_count = 1;
  bool fast_accumulation = true;
};
std::vector<OtherMatmul> OtherMatmuls(v1::ProbeMode mode);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GEMM_GPU_MATMUL_GRID_H_
