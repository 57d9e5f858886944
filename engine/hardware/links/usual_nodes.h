// The servers and the network that a product usually comes with.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_USUAL_NODES_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_USUAL_NODES_H_

#include "absl/strings/string_view.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/links/node_type.h"

namespace sextant {

// The server that the catalogue's `accelerator` usually comes in, the first of NodeTypesOf(); null:
// no server of it is known.
const NodeType* UsualNodeOf(absl::string_view accelerator);

// The network that usually joins servers of type `node`; null: it is not known.
const NamedNetwork* UsualNetworkOf(const NodeType& node);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_USUAL_NODES_H_
