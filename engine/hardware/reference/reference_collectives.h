// Published times of collectives within a node, of devices that nobody has measured here.
#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_H_
#define SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/hardware/links/collective_model.h"

namespace sextant {

// The sizes that the tables kept, ascending; see make_collectives_reference.py.
absl::Span<const int64_t> ReferenceCollectiveSizes();

// The accelerators that there are tables of, by the catalogue's names.
std::vector<absl::string_view> ReferenceCollectiveAccelerators();

// The points of one of them; empty for others.
std::vector<MeasuredCollective> ReferenceCollectivePoints(absl::string_view accelerator);

// The table_version of the published rows that were kept; empty for others.
absl::string_view ReferenceCollectivesVersion(absl::string_view accelerator);

// Where they were published; empty for others.
std::string ReferenceCollectivesCitation(absl::string_view accelerator);

// Their model, built at the first call; null for others. Its ranks are in one node: NVLink among 2,
// 4 and 8 (GB200 and GB300: 2 and 4), or PCIe (L40S, RTX PRO 6000).
const CollectiveModel* ReferenceCollectives(absl::string_view accelerator);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_H_
