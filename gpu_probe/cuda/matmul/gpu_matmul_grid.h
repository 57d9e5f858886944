// The multiplications that are measured on a GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_GRID_H_
#define SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_GRID_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "engine/base/matmul_grid.h"
#include "gpu_probe/cuda/matmul/gpu_matmul_type.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

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
struct OtherMatmul {
  v1::DataType data_type = v1::DATA_TYPE_BF16;
  MatmulSize size;
  v1::MatmulMeasurement::Layout layout = v1::MatmulMeasurement::LAYOUT_ROW_BY_COLUMN;
  int64_t batch_count = 1;
  bool fast_accumulation = true;
};
std::vector<OtherMatmul> OtherMatmuls(v1::ProbeMode mode);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MATMUL_GPU_MATMUL_GRID_H_
