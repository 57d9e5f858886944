#include "engine/hardware/links/host_copy_rate.h"

#include "engine/hardware/links/host_copy_time.h"

namespace sextant {

absl::optional<BytesPerSecond> HostCopyRate(absl::Span<const MeasuredHostCopy> copies,
                                            HostCopyDirection direction) {
  const MeasuredHostCopy* largest = nullptr;
  for (const MeasuredHostCopy& copy : copies) {
    if (copy.direction != direction || copy.pageable || copy.bytes < kLeastHostCopyBytes) continue;
    if (largest == nullptr || copy.bytes > largest->bytes) largest = &copy;
  }
  if (largest == nullptr) return absl::nullopt;
  // A link of more than 3 TB/s would move it within twice the latency; then the latency was none.
  const Seconds moving =
      largest->time > kHostCopyLatency * 2 ? largest->time - kHostCopyLatency : largest->time;
  return BytesPerSecond(static_cast<double>(largest->bytes) / moving.value());
}

}  // namespace sextant
