// What a measured kernel can't be.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_KERNEL_LIMITS_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_KERNEL_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"

namespace sextant {

inline constexpr int64_t kMostKernelSize = int64_t{1} << 40;
inline constexpr int64_t kMostComputeUnits = 1'000'000;
inline constexpr size_t kMostKernelPoints = 4096;  // fitting is linear in them, checking is not
inline constexpr double kMostKernelSeconds = 86400;
// Of the datasheet's peak: that of an H100 is stated at 1830 MHz, and it runs at 1980 (8 % more);
// timers of a burst of milliseconds are good to 2 %.
inline constexpr double kMostOfPeak = 1.10;

// `path`.seconds: finite, above 0, at most a day.
void CheckKernelTime(absl::string_view path, Seconds time, FieldViolations& out);

// `path`.seconds: not so short that the rate is above kMostOfPeak of `peak`, where there is one.
void CheckKernelRate(absl::string_view path, Flops flops, Seconds time,
                     absl::optional<FlopsPerSecond> peak, FieldViolations& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_KERNEL_LIMITS_H_
