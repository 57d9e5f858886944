// The link measurements of devices in one kind of server.
#ifndef SEXTANT_ENGINE_HARDWARE_MEASURED_LINKS_H_
#define SEXTANT_ENGINE_HARDWARE_MEASURED_LINKS_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/field_violation.h"
#include "engine/base/units.h"
#include "engine/hardware/device_model.h"
#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/links/node_group.h"

namespace sextant {

// Appends to `violations`, below `path`, those measurements of `model` that devices of `nodes`
// can't have made: another product, calls among more devices than a node has, or calls and copies
// faster than its links. Members are named as those of a calibration: collectives[i],
// host_copies[i].
void CheckMeasuredAmong(const NodeGroup& nodes, const DeviceModel& model, absl::string_view path,
                        FieldViolations& violations);

struct MeasuredLinks {
  absl::optional<CollectiveModel> collectives = {};  // the slowest device's, for each size
  absl::optional<BytesPerSecond> host_copies = {};  // the slowest device's, in its slower direction
};

// Errors: those of MeasuredCollectives().
absl::StatusOr<MeasuredLinks> MeasuredLinksOf(absl::Span<const DeviceModel* const> models);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_MEASURED_LINKS_H_
