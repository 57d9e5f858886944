#include "engine/hardware/links/node_type.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/base/near_names.h"
#include "engine/base/reason.h"

namespace sextant {

std::string SourceOf(const LinkDatum& figure) {
  if (figure.source.empty()) return "the vendor's datasheet, from memory: not re-read";
  return std::string(figure.source);
}

absl::StatusOr<const NodeType*> FindNodeType(absl::string_view name) {
  if (const NodeType* const found = FindNamed(NodeTypes(), name)) return found;
  std::vector<KnownName> known;
  for (const NodeType& node : NodeTypes()) known.push_back({node.name, node.product_name});
  return WithReason(UnknownNameError("node type", name, known, "docs/links.md"),
                    "NODE_TYPE_UNKNOWN");
}

std::vector<const NodeType*> NodeTypesOf(absl::string_view accelerator) {
  std::vector<const NodeType*> out;
  for (const NodeType& node : NodeTypes()) {
    if (Holds(node, accelerator)) out.push_back(&node);
  }
  return out;
}

LinkDatum HostMemoryOf(const NodeType& node, absl::string_view accelerator) {
  if (node.host_memory.empty()) return {};
  if (node.host_memory.size() == 1) return node.host_memory.front();
  const auto found = std::find(node.accelerators.begin(), node.accelerators.end(), accelerator);
  if (found == node.accelerators.end()) return node.host_memory.front();
  return node.host_memory[static_cast<size_t>(found - node.accelerators.begin())];
}

int64_t HostDevicesOf(const NodeType& node) {
  return node.host_device_count != 0 ? node.host_device_count : node.device_count;
}

bool Holds(const NodeType& node, absl::string_view accelerator) {
  return std::find(node.accelerators.begin(), node.accelerators.end(), accelerator) !=
         node.accelerators.end();
}

}  // namespace sextant
