// The rate of copies between a device and its host's memory, from the best available source.
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
};

// The rate that copies of pinned memory reach. The first of
//   the slowest device's measured copies, in their slower direction
//   the node type's link to the host, or the slowest one of the types that the product comes in
//   the product's PCIe generation, 16 lanes
// the last two times HostCopyShare::kExpected. Appends the figure to `used`; absent, and nothing
// appended, where none is known.
absl::optional<BytesPerSecond> PinnedHostLink(const HostLinkQuery& query, std::vector<Rate>& used);

// The same of pageable memory, staging included, as measured devices have it.
// Nobody publishes it: absent where the devices didn't measure it.
absl::optional<BytesPerSecond> PageableHostLink(const HostLinkQuery& query,
                                                std::vector<Rate>& used);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_HOST_LINK_H_
