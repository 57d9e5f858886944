#include "engine/hardware/links/host_copy_time.h"

namespace sextant {
namespace {

// Copies of one size repeat within this where nothing else runs (docs/links.md).
constexpr double kMeasuredWidening = 1.05;

Seconds At(Bytes bytes, double rate) {
  return kHostCopyLatency + Seconds(static_cast<double>(bytes.value()) / rate);
}

}  // namespace

absl::optional<KernelTime> HostCopyTime(const NodeType& node, Bytes bytes,
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
