// The roofline time of a multiplication: its work and bytes at the best rates of its calibration,
// without efficiency.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_ROOFLINE_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_ROOFLINE_H_

#include <cmath>

#include "absl/types/span.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "engine/hardware/kernels/matmul_shape.h"

namespace sextant {

// Dimensions as real numbers: their products exceed 2^63.
struct MatmulDimensions {
  explicit MatmulDimensions(const MatmulShape& shape)
      : m(static_cast<double>(shape.m)),
        n(static_cast<double>(shape.n)),
        k(static_cast<double>(shape.k)) {}

  double m;
  double n;
  double k;
};

struct MatmulRoof {
  double seconds = 0;
  double work_share = 0;  // the work's time over that of work plus bytes
};

struct MatmulRoofline {
  double seconds_per_flop = 0;
  double seconds_per_byte = 0;
  double fixed_seconds = 0;
  double element_bytes = 0;   // of an operand
  double quantise_bytes = 0;  // moved per element of x before the multiplication

  double WorkSeconds(const MatmulDimensions& size) const {
    return 2 * size.m * size.n * size.k * seconds_per_flop;
  }

  // Both operands read and the bf16 result written once, plus the quantisation of x.
  double ByteSeconds(const MatmulDimensions& size) const {
    const double bytes = element_bytes * size.k * (size.m + size.n) + 2 * size.m * size.n +
                         quantise_bytes * size.m * size.k;
    return bytes * seconds_per_byte;
  }

  //   t = sqrt(work^2 + bytes^2) + t0
  //
  // a smooth maximum of the two (docs/kernels_matmul.md, "The form"): near the ridge a kernel
  // overlaps them less than max() says. Monotone in m, n and k.
  MatmulRoof At(const MatmulDimensions& size) const {
    const double work = WorkSeconds(size);
    const double bytes = ByteSeconds(size);
    return {std::sqrt(work * work + bytes * bytes) + fixed_seconds, work / (work + bytes)};
  }
};

// Sets the bytes per element that multiplications in `type` move.
void SetMatmulBytes(MatmulType type, MatmulRoofline& roofline);

// The best rates among `matmuls`, and the shortest of their times as t0. `matmuls` is not empty.
MatmulRoofline MatmulRooflineOf(MatmulType type, absl::Span<const MatmulPoint> matmuls);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_ROOFLINE_H_
