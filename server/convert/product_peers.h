// This host's measured devices of one product, whose median stands for the product.
#ifndef SEXTANT_SERVER_CONVERT_PRODUCT_PEERS_H_
#define SEXTANT_SERVER_CONVERT_PRODUCT_PEERS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "engine/hardware/accelerator.h"
#include "server/calibration_snapshot.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

struct ProductPeers {
  std::vector<const v1::Calibration*> calibrations;  // of the snapshot
  std::vector<std::string> assumptions;              // who is left out, or taken part on trust
};

// Those of `snapshot` that are of `accelerator`, were measured at `measured_since` or later, and
// under the power limit of its datasheet: a GPU that is limited further is slower. One that says
// no limit, and all where the catalogue has none, take part.
ProductPeers PeersOf(const Accelerator& accelerator, const CalibrationSnapshot& snapshot,
                     absl::optional<absl::Time> measured_since);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_PRODUCT_PEERS_H_
