#include "engine/hardware/links/host_copy_rate.h"

namespace sextant {
namespace {

// Repeated copies of one size agree within this where nothing else runs (docs/links.md, "Host
// copies").
constexpr double kMeasuredWidening = 1.05;

Seconds At(Bytes bytes, double rate) {
  return kHostCopyLatency + Seconds(static_cast<double>(bytes.value()) / rate);
}

}  // namespace

absl::optional<BytesPerSecond> HostCopyRate(absl::Span<const MeasuredHostCopy> copies,
                                            HostCopyDirection direction, bool pageable) {
  const MeasuredHostCopy* largest = nullptr;
  for (const MeasuredHostCopy& copy : copies) {
    if (copy.direction != direction || copy.pageable != pageable || copy.bytes < kMinHostCopyBytes)
      continue;
    if (largest == nullptr || copy.bytes > largest->bytes) largest = &copy;
  }
  if (largest == nullptr) return absl::nullopt;
  // If the whole copy takes at most twice the latency (above 3 TB/s), it had no such latency.
  const Seconds moving =
      largest->time > kHostCopyLatency * 2 ? largest->time - kHostCopyLatency : largest->time;
  return BytesPerSecond(static_cast<double>(largest->bytes) / moving.value());
}

absl::optional<BytesPerSecond> SlowerHostCopyRate(absl::Span<const MeasuredHostCopy> copies,
                                                  bool pageable) {
  absl::optional<BytesPerSecond> out;
  for (const HostCopyDirection way :
       {HostCopyDirection::kToDevice, HostCopyDirection::kFromDevice}) {
    const absl::optional<BytesPerSecond> rate = HostCopyRate(copies, way, pageable);
    if (rate && (!out || *rate < *out)) out = rate;
  }
  return out;
}

absl::optional<KernelTime> PinnedCopyTime(const NodeType& node, Bytes bytes,
                                          absl::optional<BytesPerSecond> measured) {
  if (measured) {
    const Seconds expected = At(bytes, measured->value());
    return KernelTime{.expected = expected,
                      .low = expected * (1 / kMeasuredWidening),
                      .high = expected * kMeasuredWidening,
                      .basis = KernelBasis::kMeasuredRate};
  }
  if (!node.host_rate) return absl::nullopt;
  const double rate = node.host_rate.value;
  return KernelTime{.expected = At(bytes, rate * HostCopyShare::kExpected),
                    .low = At(bytes, rate * HostCopyShare::kHigh),
                    .high = At(bytes, rate * HostCopyShare::kLow),
                    .basis = KernelBasis::kDatasheet};
}

}  // namespace sextant
