// An architecture and its kinds of layers, from the wire.
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

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_ARCHITECTURE_H_
