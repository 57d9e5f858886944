// The time of a copy between host and device.
#ifndef SEXTANT_ENGINE_OPERATION_HOST_COPY_H_
#define SEXTANT_ENGINE_OPERATION_HOST_COPY_H_

#include "engine/base/units.h"
#include "engine/operation/operation.h"

namespace sextant {

// Pinned memory is sent as it is, and both are bytes / link. Pageable memory is copied into
// pinned memory first: one after the other at the latest; in chunks that overlap it
// approaches the slower of the two.
struct HostCopyTime {
  Seconds no_overlap;    // bytes / staging + bytes / link
  Seconds full_overlap;  // the larger of the two
};

// Source: NVIDIA's CUDA C++ Best Practices Guide, "Pinned Memory": transfers from pageable
// memory go through a pinned buffer. `copy` has passed CheckOperation().
HostCopyTime TimeOf(const HostCopy& copy);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_HOST_COPY_H_
