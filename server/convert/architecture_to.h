// An architecture onto the wire.
#ifndef SEXTANT_SERVER_CONVERT_ARCHITECTURE_TO_H_
#define SEXTANT_SERVER_CONVERT_ARCHITECTURE_TO_H_

#include "engine/model/architecture/architecture_spec.h"
#include "sextant/v1/architecture.pb.h"

namespace sextant::server {

// Fills `out`, which is empty, so that ArchitectureFrom() gives `spec` again. What only changes to
// a model bring, adapters and frozen components, is left out.
void ArchitectureTo(const ArchitectureSpec& spec, v1::Architecture* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_ARCHITECTURE_TO_H_
