// The rates of copies between a device and its host's memory, and of that memory, from the best
// available source.
#ifndef SEXTANT_ENGINE_HARDWARE_HOST_LINK_H_
#define SEXTANT_ENGINE_HARDWARE_HOST_LINK_H_

#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/device_model.h"
#include "engine/hardware/links/node_type.h"
#include "engine/hardware/rates.h"

namespace sextant {

// Measured devices with the source of their measurements, a product, and a type of node; each may
// be absent.
struct HostLinkQuery {
  absl::Span<const DeviceModel* const> models = {};
  RateSource measured_by = RateSource::kMeasuredSupplied;
  const Accelerator* accelerator = nullptr;
  const NodeType* node = nullptr;
  absl::optional<double> link_line_rate = {};    // the caller's, of one device in one direction
  absl::optional<double> memory_line_rate = {};  // the caller's, of a node
};

// The rate that copies of pinned memory reach. The first of
//   the caller's line rate
//   the slowest device's measured copies, in their slower direction; a processor's within its
//   memory the node type's link to the host, or the slowest one of the types that the product comes
//   in the product's PCIe generation, 16 lanes
// all but the measured ones times HostCopyShare::kExpected. Appends the figure to `used`; absent,
// and nothing appended, where none is known.
absl::optional<BytesPerSecond> PinnedHostLink(const HostLinkQuery& query, std::vector<Rate>& used);

// The same of pageable memory, staging included, as measured devices have it.
// Nobody publishes it: absent where the devices didn't measure it.
absl::optional<BytesPerSecond> PageableHostLink(const HostLinkQuery& query,
                                                std::vector<Rate>& used);

// Share of the line rate of a server's memory that an optimizer's step on its processors reaches,
// all bytes that it has to read and write counted once. Ren et al. 2021 (arXiv 2101.06840, table 4,
// from memory): CPU-Adam takes 0.22 s for 1e9 parameters and 2.57 s for 1e10, of 30 bytes each, on
// two Xeon 8168, 12 channels of DDR4-2666: 0.53 and 0.46 of 256 GB/s.
inline constexpr double kHostUpdateShare = 0.5;

// The rate at which the processors of one node update an optimizer's numbers: that of the caller's
// line rate, or of the node type's, times kHostUpdateShare. Appends the figure to `used`; absent,
// and nothing appended, where neither is known.
absl::optional<BytesPerSecond> HostUpdateRate(const HostLinkQuery& query, std::vector<Rate>& used);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_HOST_LINK_H_
