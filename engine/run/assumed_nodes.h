// The servers and network that a run is taken to be on where it says nothing of them.
#ifndef SEXTANT_ENGINE_RUN_ASSUMED_NODES_H_
#define SEXTANT_ENGINE_RUN_ASSUMED_NODES_H_

#include "engine/run/run_spec.h"

namespace sextant {

// Where `cluster` has more devices than a server, or leaves their number open, fills in what it
// says nothing of: the usual server of its product, and that server's usual network. Leaves it as
// it is where the network is neither given nor known. `cluster` is as the request has it.
void AssumeNodes(ClusterSpec& cluster);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_ASSUMED_NODES_H_
