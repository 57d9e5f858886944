// A kind of layer from the wire.
#ifndef SEXTANT_SERVER_CONVERT_LAYER_KIND_H_
#define SEXTANT_SERVER_CONVERT_LAYER_KIND_H_

#include "engine/base/field_violation.h"
#include "engine/model/architecture/layer_spec.h"
#include "server/convert/field_checker.h"
#include "sextant/v1/architecture.pb.h"

namespace sextant {

// `m`, which stands at `path`.
LayerSpec LayerKindFrom(const v1::LayerKind& m, const MessagePath& path,
                        FieldViolations& violations);

NormVariant NormVariantFrom(v1::NormVariant wire, const MessagePath& path, absl::string_view name,
                            FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_LAYER_KIND_H_
