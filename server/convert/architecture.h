// An architecture and its kinds of layers, from the wire and to it.
#ifndef SEXTANT_SERVER_CONVERT_ARCHITECTURE_H_
#define SEXTANT_SERVER_CONVERT_ARCHITECTURE_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"
#include "sextant/v1/architecture.pb.h"

namespace sextant::server {

// `m`, whose field is `path`. Layers name their kinds on the wire and number them in the engine; a
// name of no kind, an enum's unknown number and a size that is present and 0 are appended to
// `violations`.
ArchitectureSpec ArchitectureFrom(const v1::Architecture& m, absl::string_view path,
                                  FieldViolations& violations);

// Writes `spec`, which has passed CheckArchitecture(), but for what the wire says elsewhere: its
// adapters and frozen components. Leaves out what is a field's default, so that ArchitectureFrom()
// reads the same.
void ArchitectureTo(const ArchitectureSpec& spec, v1::Architecture* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_ARCHITECTURE_H_
