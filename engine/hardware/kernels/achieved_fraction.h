// The measured and published share of a datasheet's peaks.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_ACHIEVED_FRACTION_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_ACHIEVED_FRACTION_H_

#include <string>

#include "engine/hardware/accelerator.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// 0 < low <= expected <= high <= 1.
struct AchievedFraction {
  double expected = 1;
  double low = 1;
  double high = 1;
  std::string citation = {};
};

// The best matrix product of a long search, over the dense peak in `type`. A product without
// published results gets the median of its vendor's others, or of all where its vendor has none,
// with their lowest and highest as the interval. Narrow types use the fp8 results, NVIDIA's tf32
// and fp32 square products of 8192 (mli/transformers-benchmarks, README), all others the bf16
// results. Source: stas00/ml-engineering, "Maximum Achievable Matmul FLOPS comparison table"
// (compute/accelerator/README.md @744d01e18b79), row by row.
AchievedFraction AchievedMatmulFraction(const Accelerator& accelerator, DataType type);

// A copy or triad in main memory, over the datasheet's bandwidth; otherwise as above.
// Source: RRZE-HPC/gpu-benches gpu-stream's committed results for A100 80 GB, H100 PCIe and GH200;
// published H200 copies.
AchievedFraction AchievedBandwidthFraction(const Accelerator& accelerator);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_ACHIEVED_FRACTION_H_
