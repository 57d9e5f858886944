// The time of a layer of experts by multiplications that were not measured in groups.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_EXPERTS_BY_GEMMS_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_EXPERTS_BY_GEMMS_H_

#include <cstdint>

#include "engine/base/units.h"
#include "engine/hardware/kernels/grouped_gemm_shape.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/predict/gemm_predictor.h"

namespace sextant {

// Rows of an expert are filled up to a multiple of it: what matrix units take at least.
inline constexpr int64_t kGroupedRowTile = 64;

// What stands in for a device's grouped products.
struct UngroupedProducts {
  const GemmPredictor& gemms;
  BytesPerSecond memory;
  DataType type = DataType::kUnspecified;
};

// Of e experts that any row asks for, m rows each:
//
//   T(n, k) = (gemm(e m', n, k)^2 + ((e - 1) n k b / bandwidth)^2)^(1/2)
//   t = T(2 f, h) + T(h, f) + activation
//
// m' is m filled up to tiles: all tiles run as one launch, like those of one tall product, but
// every expert's weights are read. The activation reads 2 f and writes f numbers of 2 bytes a row,
// at the bandwidth. Without a gate 2 f is f. The exponent is the roofline's (docs/roofline.md).
// Finite and positive for sizes of 1 to 2^40.
Seconds ExpertsByGemms(const GroupedGemmShape& shape, const UngroupedProducts& products);

// Quantiles of measured times of published layers over ExpertsByGemms() on the published
// multiplications of the same product, of four GPUs (docs/kernels.md).
PredictionError ErrorOfExpertsByGemms(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_EXPERTS_BY_GEMMS_H_
