// The rate of copies between a device and its host, from measured ones.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_HOST_COPY_RATE_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_HOST_COPY_RATE_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"

namespace sextant {

enum class HostCopyDirection { kToDevice, kFromDevice };

// One measured copy.
struct MeasuredHostCopy {
  HostCopyDirection direction = HostCopyDirection::kToDevice;
  bool pageable = false;  // the host's memory is, hence copied twice
  int64_t bytes = 0;
  Seconds time;
};

// What one copy of pinned memory in `direction` comes near to as it grows: the rate of the largest
// that was measured, less the latency that HostCopyTime() adds. Absent where none of at least
// kLeastHostCopyBytes was: of smaller ones the latency is too large a part.
absl::optional<BytesPerSecond> HostCopyRate(absl::Span<const MeasuredHostCopy> copies,
                                            HostCopyDirection direction);

// At 64 GB/s 16 MiB take 260 us, 50 times the latency.
inline constexpr int64_t kLeastHostCopyBytes = int64_t{1} << 24;

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_HOST_COPY_RATE_H_
