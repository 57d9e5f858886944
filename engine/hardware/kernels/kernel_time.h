// What a kernel will take on a device, and how well that is known.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_KERNEL_TIME_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_KERNEL_TIME_H_

#include <cstdint>

#include "engine/base/units.h"

namespace sextant {

// What a time was predicted from, best first.
enum class KernelBasis {
  kMeasured,      // this very shape was measured
  kWithinGrid,    // shapes around it were
  kOutsideGrid,   // the nearest measured shape's share of the roofline
  kOtherPass,     // the same kernel's forward pass was measured, or another layout of it
  kOtherType,     // another data type was measured; peaks scale it
  kMeasuredRate,  // only the device's best rates were measured
  kDatasheet,     // datasheet peaks times an achieved fraction that somebody published
};

// How far a prediction was from measured times that it had not seen: quantiles of measured over
// predicted time.
struct PredictionError {
  double p10 = 1;
  double median = 1;
  double p90 = 1;
  double median_absolute = 0;  // of |predicted / measured - 1|
  double p90_absolute = 0;
  int64_t shape_count = 0;  // 0: nothing to compare with, p10 and p90 are stated ones
};

// The time of one kernel on one device, nothing else running.
struct KernelTime {
  Seconds expected;
  Seconds low;   // an 80 % interval: expected x PredictionError p10
  Seconds high;  // expected x p90, both widened by what the basis lacks
  KernelBasis basis = KernelBasis::kDatasheet;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_KERNEL_TIME_H_
