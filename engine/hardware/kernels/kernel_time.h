// The predicted time of a kernel on a device, and its uncertainty.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_KERNEL_TIME_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_KERNEL_TIME_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/interval.h"
#include "engine/base/units.h"

namespace sextant {

// The source of a predicted time, best first.
enum class KernelBasis {
  kMeasured,      // this shape was measured
  kWithinGrid,    // shapes around it were measured
  kOutsideGrid,   // the nearest measured shape's share of the roofline
  kOtherPass,     // the kernel's forward pass, or another layout, was measured
  kOtherType,     // another data type was measured; scaled by peaks
  kMeasuredRate,  // only the device's best rates were measured
  kDatasheet,     // datasheet peaks times a published achieved fraction
};

// The error of predictions against held-out measured times: quantiles of measured over predicted
// time.
struct PredictionError {
  double p10 = 1;
  double median = 1;
  double p90 = 1;
  double median_absolute = 0;  // of |predicted / measured - 1|
  double p90_absolute = 0;
  int64_t shape_count = 0;  // 0: no data; p10 and p90 are assumed
};

// The time of one kernel on one device with nothing else running.
struct KernelTime {
  Seconds expected;
  Seconds low;   // an 80 % interval: expected x PredictionError p10
  Seconds high;  // expected x p90, both widened where the basis lacks data
  KernelBasis basis = KernelBasis::kDatasheet;

  SecondsInterval interval() const { return {low, expected, high}; }

  // As often, or that much longer.
  friend KernelTime operator*(const KernelTime& time, double by) {
    return {time.expected * by, time.low * by, time.high * by, time.basis};
  }
};

inline constexpr int64_t kMaxKernelSize = int64_t{1} << 40;
inline constexpr int64_t kMaxComputeUnits = 1'000'000;
inline constexpr size_t kMaxKernelPoints = 4096;  // fitting is linear in it, checking is not
inline constexpr double kMaxKernelSeconds = 86400;
// Relative to the datasheet's peak: an H100's is stated at 1830 MHz, and it runs at 1980 (8 %
// more); timers of bursts of milliseconds are accurate to 2 %.
inline constexpr double kMaxOfPeak = 1.10;

// `path`.seconds: finite, above 0, at most a day.
void CheckKernelTime(absl::string_view path, Seconds time, FieldViolations& out);

// `path`.seconds: long enough that the rate is at most kMaxOfPeak of `peak`, where there is one.
void CheckKernelRate(absl::string_view path, Flops flops, Seconds time,
                     absl::optional<FlopsPerSecond> peak, FieldViolations& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_KERNEL_TIME_H_
