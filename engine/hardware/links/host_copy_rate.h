// Copies between a device and its host's memory: their measured rate, and their time.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_HOST_COPY_RATE_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_HOST_COPY_RATE_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/links/node_type.h"

namespace sextant {

enum class HostCopyDirection { kToDevice, kFromDevice };

// One measured copy.
struct MeasuredHostCopy {
  HostCopyDirection direction = HostCopyDirection::kToDevice;
  bool pageable = false;  // the host memory is pageable, so it is copied twice
  int64_t bytes = 0;
  Seconds time;
};

// The asymptotic rate of copies of pinned memory in `direction`, or of pageable memory: that of the
// largest measured copy, without the latency that PinnedCopyTime() adds. Absent where no copy has
// at least kMinHostCopyBytes: in smaller ones the latency is too large a part.
absl::optional<BytesPerSecond> HostCopyRate(absl::Span<const MeasuredHostCopy> copies,
                                            HostCopyDirection direction, bool pageable = false);

// HostCopyRate() of the slower direction that was measured.
absl::optional<BytesPerSecond> SlowerHostCopyRate(absl::Span<const MeasuredHostCopy> copies,
                                                  bool pageable = false);

// At 64 GB/s, 16 MiB take 260 us, 50 times the latency.
inline constexpr int64_t kMinHostCopyBytes = int64_t{1} << 24;

// Share of PCIe's line rate, pinned memory, one direction at a time. Published by users of
// nvbandwidth: 24.8 and 25.1 of 31.5 GB/s (A100: NVIDIA Developer Forums 352186,
// NVIDIA/nvbandwidth issue 42), 52.8 and 55.6 of 63 GB/s (H100: issue 24, a tutorial): 0.79, 0.80,
// 0.84, 0.88.
struct HostCopyShare {
  static constexpr double kLow = 0.75;
  static constexpr double kExpected = 0.82;
  static constexpr double kHigh = 0.89;
};

// The time before a copy's first byte. From memory: a few microseconds on any host.
inline constexpr Seconds kHostCopyLatency{5e-6};

// The time of one copy of pinned memory, in either direction, with nothing else on the bus.
// `measured`: the measured rate of large copies in that direction. Absent where neither it nor the
// node's rate is known.
absl::optional<KernelTime> PinnedCopyTime(const NodeType& node, Bytes bytes,
                                          absl::optional<BytesPerSecond> measured);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_HOST_COPY_RATE_H_
