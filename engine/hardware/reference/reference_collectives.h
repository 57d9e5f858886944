// Published times of collectives within a node, for devices that were not measured here.
#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_H_
#define SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/hardware/links/collective_model.h"

namespace sextant {

// The points of one accelerator; empty for others.
std::vector<MeasuredCollective> ReferenceCollectivePoints(absl::string_view accelerator);

// The table_version of the published rows; empty for others.
absl::string_view ReferenceCollectivesVersion(absl::string_view accelerator);

// The place of publication; empty for others.
std::string ReferenceCollectivesCitation(absl::string_view accelerator);

// The model of these points, built at the first call; null for others. Its ranks are in one node:
// NVLink among 2, 4 and 8 (GB200 and GB300: 2 and 4), or PCIe (L40S, RTX PRO 6000).
const CollectiveModel* ReferenceCollectives(absl::string_view accelerator);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_H_
