// Copies between a device and its host's memory.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_HOST_COPY_TIME_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_HOST_COPY_TIME_H_

#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/links/node_type.h"

namespace sextant {

// Of PCIe's line rate, pinned memory, one direction at a time. Published by users of nvbandwidth:
// 24.8 and 25.1 of 31.5 GB/s (A100: NVIDIA Developer Forums 352186, NVIDIA/nvbandwidth issue 42),
// 52.8 and 55.6 of 63 GB/s (H100: issue 24, a tutorial): 0.79, 0.80, 0.84, 0.88.
struct HostCopyShare {
  static constexpr double kLow = 0.75;
  static constexpr double kExpected = 0.82;
  static constexpr double kHigh = 0.89;
};

// What a copy takes before its first byte: from memory, a few microseconds on any host.
inline constexpr Seconds kHostCopyLatency{5e-6};

// One copy of pinned memory, in either direction, nothing else on the bus. `measured`: the rate
// that a probe saw in that direction, of large copies. Absent where neither it nor the node's
// rate is known.
absl::optional<KernelTime> HostCopyTime(const NodeType& node, Bytes bytes,
                                        absl::optional<BytesPerSecond> measured);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_HOST_COPY_TIME_H_
