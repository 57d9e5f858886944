// What calibrations hold of the links of the devices that they measured.
#ifndef SEXTANT_SERVER_CONVERT_MEASURED_LINKS_H_
#define SEXTANT_SERVER_CONVERT_MEASURED_LINKS_H_

#include <google/protobuf/repeated_field.h>

#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/links/node_group.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

struct MeasuredLinks {
  absl::optional<CollectiveModel> collectives = {};  // of each size the slowest device's
  absl::optional<BytesPerSecond> host_copies = {};   // the slowest device's, its slower way
};

// Appends to `violations`, under "nodes.calibrations", what is wrong with `calibrations`, each by
// itself and, where those are known, among devices of `nodes`: of another product, of more devices
// than a node has, or faster than its links can be.
MeasuredLinks MeasuredLinksFrom(
    const google::protobuf::RepeatedPtrField<v1::Calibration>& calibrations, const NodeGroup* nodes,
    FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_MEASURED_LINKS_H_
