#include "engine/run/assumed_nodes.h"

#include "engine/hardware/catalogue.h"
#include "engine/hardware/links/usual_nodes.h"

namespace sextant {
namespace {

// The product that `selection` names, or the one that its devices are; null: none is known.
const Accelerator* ProductOf(const DeviceSelection& selection) {
  if (!selection.accelerator.empty()) return AcceleratorNamed(selection.accelerator);
  const std::vector<const DeviceModel*> models = selection.models();
  return models.empty() ? nullptr : models.front()->accelerator();
}

const NodeType* NodeOf(const ClusterSpec& cluster) {
  if (!cluster.node_type.empty()) return FindNodeType(cluster.node_type).value_or(nullptr);
  const Accelerator* const product = ProductOf(cluster.device);
  return product == nullptr ? nullptr : UsualNodeOf(product->name);
}

}  // namespace

void AssumeNodes(ClusterSpec& cluster) {
  const NodeType* const node = NodeOf(cluster);
  if (node == nullptr) return;  // an unknown name is reported later
  if (cluster.device_count != 0 && cluster.device_count <= node->device_count) return;
  const bool asked = !cluster.network.name.empty() || cluster.network.bytes_per_second != 0;
  const bool comes_with_one = !cluster.node_type.empty() && node->network_rate;
  if (!asked && !comes_with_one) {
    const NamedNetwork* const network = UsualNetworkOf(*node);
    if (network == nullptr) return;
    cluster.network.name = network->name;
    cluster.network_is_assumed = true;
  }
  if (!cluster.node_type.empty()) return;
  cluster.node_type = node->name;
  cluster.node_is_assumed = true;
}

}  // namespace sextant
