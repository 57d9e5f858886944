// A budget of compute and its division between parameters and tokens.
#ifndef SEXTANT_SERVER_CONVERT_ALLOCATE_COMPUTE_H_
#define SEXTANT_SERVER_CONVERT_ALLOCATE_COMPUTE_H_

#include "engine/base/field_violation.h"
#include "engine/search/allocate_compute.h"
#include "server/convert/device_resolver.h"
#include "sextant/v1/allocate_compute.pb.h"

namespace sextant::server {

// Converts `request`; the result's texts point into it and into what `resolver` reads. Appends to
// `violations` what only the wire can get wrong, as RunSpecFrom() does.
AllocationSpec AllocationSpecFrom(const v1::AllocateComputeRequest& request,
                                  const DeviceResolver& resolver, FieldViolations& violations);

// Fills `out`, which is empty. The allocation's texts move into it.
void ComputeAllocationTo(ComputeAllocation allocation, v1::AllocateComputeResponse* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_ALLOCATE_COMPUTE_H_
