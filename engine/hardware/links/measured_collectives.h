// A model of the collectives that probes measured.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_MEASURED_COLLECTIVES_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_MEASURED_COLLECTIVES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/hardware/links/collective_model.h"

namespace sextant {

// What each of several devices measured among so many of one node, as one model: of each size that
// any of them measured the slowest time, since all ranks wait for the slowest. A device that
// measured sizes around it takes part by the line between (CollectiveCurve); a single size of an
// operation and a number of ranks says nothing of others, and is passed over. Absent where nothing
// is left.
//
// Errors: those of CollectiveModel::Make(), naming the points of `devices` as devices[i].points[j].
absl::StatusOr<absl::optional<CollectiveModel>> MeasuredCollectives(
    absl::Span<const std::vector<MeasuredCollective>> devices);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_MEASURED_COLLECTIVES_H_
