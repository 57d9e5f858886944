// This host's measured devices of one product, whose median stands for the product.
#ifndef SEXTANT_SERVER_CONVERT_PRODUCT_PEERS_H_
#define SEXTANT_SERVER_CONVERT_PRODUCT_PEERS_H_

#include <string>
#include <vector>

#include "engine/hardware/accelerator.h"
#include "server/calibration_snapshot.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

struct ProductPeers {
  std::vector<const v1::Calibration*> calibrations;  // of the snapshot
  std::vector<std::string> assumptions;              // who is left out, or taken part on trust
};

// Those in use of `snapshot` that are of `accelerator`, were measured within `query.maximum_age`,
// and under the power limit of its datasheet: a GPU that is limited further is slower. One that
// says no limit, and all where the catalogue has none, take part.
ProductPeers PeersOf(const Accelerator& accelerator, const CalibrationSnapshot& snapshot,
                     const CalibrationQuery& query);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_PRODUCT_PEERS_H_
