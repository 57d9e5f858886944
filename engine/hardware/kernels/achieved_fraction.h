// What share of a datasheet's peaks somebody has measured and published.
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

// The best matrix product of a long search, over the dense peak in `type`. A product that nobody
// published has the median of its vendor's others, and where its vendor has none that of all,
// between the lowest and the highest of these. Types of 16 bits and wider stand on bf16, others on
// fp8.
// Source: stas00/ml-engineering, "Maximum Achievable Matmul FLOPS comparison table"
// (compute/accelerator/README.md @744d01e18b79), row by row.
AchievedFraction AchievedMatmulFraction(const Accelerator& accelerator, DataType type);

// A copy or triad in main memory, over the datasheet's bandwidth; as above.
// Source: RRZE-HPC/gpu-benches gpu-stream's committed results for A100 80 GB, H100 PCIe and GH200;
// published H200 copies.
AchievedFraction AchievedBandwidthFraction(const Accelerator& accelerator);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_ACHIEVED_FRACTION_H_
