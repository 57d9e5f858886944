#include "engine/hardware/links/node_group.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

std::string NamesOf(const std::vector<const NodeType*>& types) {
  return absl::StrJoin(types, ", ", [](std::string* out, const NodeType* type) {
    out->append(type->name.data(), type->name.size());
  });
}

// Collects errors in order: those of fields, and the first unknown name.
class Resolver {
 public:
  explicit Resolver(const NodeGroupRequest& request) : request_(request) {}

  absl::StatusOr<NodeGroup> Resolve() {
    FindAcceleratorNamed();
    FindNode();
    FindGroup();
    FindNetworkAmong();
    if (!violations_.empty()) return violations_.ToStatus();
    if (!unknown_.ok()) return unknown_;
    return out_;
  }

 private:
  // Records the error `status` of `field`.
  void Keep(const absl::Status& status, absl::string_view field) {
    if (status.code() == absl::StatusCode::kInvalidArgument) {
      violations_.AddAll(status);
    } else if (unknown_.ok()) {
      unknown_ = WithField(status, field);
    }
  }

  void FindAcceleratorNamed() {
    if (request_.accelerator.empty()) return;
    const absl::StatusOr<const Accelerator*> found = FindAccelerator(request_.accelerator);
    if (found.ok()) {
      out_.accelerator = *found;
    } else {
      Keep(found.status(), request_.accelerator_field);
    }
  }

  void FindNode() {
    if (request_.node_type.empty()) return FindOnlyNode();
    const absl::StatusOr<const NodeType*> found = FindNodeType(request_.node_type);
    if (!found.ok()) return Keep(found.status(), "node_type");
    out_.node = *found;
    if (out_.accelerator == nullptr) {
      if (request_.accelerator.empty()) TakeOnlyAccelerator();
    } else if (!Holds(*out_.node, out_.accelerator->name)) {
      violations_.Add(request_.accelerator_field,
                      absl::StrCat("is ", out_.accelerator->name, ", but a ", out_.node->name,
                                   " comes with ", absl::StrJoin(out_.node->accelerators, ", "),
                                   ": write one of these, or leave it out"));
    }
  }

  void TakeOnlyAccelerator() {
    if (out_.node->accelerators.size() != 1) return;
    const absl::StatusOr<const Accelerator*> only = FindAccelerator(out_.node->accelerators[0]);
    if (only.ok()) out_.accelerator = *only;
  }

  void FindOnlyNode() {
    if (request_.accelerator.empty()) {
      violations_.Add("node_type",
                      "is required where device names no product of the catalogue: write a kind of "
                      "server, e.g. dgx-h100 (docs/links.md lists them)");
    }
    if (out_.accelerator == nullptr) return;
    const std::vector<const NodeType*> types = NodeTypesOf(out_.accelerator->name);
    if (types.size() == 1) {
      out_.node = types[0];
    } else if (types.empty()) {
      violations_.Add(request_.accelerator_field,
                      absl::StrCat("is ", out_.accelerator->name,
                                   ", which no known kind of server comes with: what joins such "
                                   "devices is not known; docs/links.md lists the kinds that "
                                   "are"));
    } else {
      violations_.Add("node_type", absl::StrCat("is required: ", out_.accelerator->name,
                                                " comes in several kinds of servers; write one of ",
                                                NamesOf(types)));
    }
  }

  void FindGroup() {
    out_.group.node_count = request_.node_count == 0 ? 1 : request_.node_count;
    violations_.RequireRange("", "node_count", out_.group.node_count, 1, kMaxNodes);
    const bool all = request_.ranks_per_node == 0;
    if (out_.node == nullptr) {
      if (request_.ranks_per_node < 0) {
        violations_.Add("ranks_per_node",
                        absl::StrCat("must be at least 1, not ", request_.ranks_per_node));
      }
      return;
    }
    const int64_t devices = out_.node->device_count;
    out_.group.ranks_per_node = all ? devices : request_.ranks_per_node;
    if (out_.group.ranks_per_node >= 1 && out_.group.ranks_per_node <= devices) return;
    violations_.Add("ranks_per_node",
                    absl::StrCat("must be 1 to ", devices, ", the devices of a ", out_.node->name,
                                 ", not ", request_.ranks_per_node));
  }

  // Checks a network given for a single node, too: a wrong name is still an error.
  void FindNetworkAmong() {
    const bool several = request_.node_count > 1;
    const bool named = !request_.network.name.empty() || request_.network.bytes_per_second != 0;
    if (!named && (!several || out_.node == nullptr)) return;
    // A named network does not depend on the type.
    static constexpr NodeType kAnyNode;
    const NodeType& node = out_.node == nullptr ? kAnyNode : *out_.node;
    const absl::StatusOr<Network> network =
        ResolveNetwork(node, request_.node_count, request_.network);
    if (!network.ok()) return Keep(network.status(), "network.name");
    if (several) out_.network = *network;
  }

  const NodeGroupRequest& request_;
  NodeGroup out_;
  FieldViolations violations_;
  absl::Status unknown_;
};

}  // namespace

absl::StatusOr<NodeGroup> ResolveNodes(const NodeGroupRequest& request) {
  return Resolver(request).Resolve();
}

}  // namespace sextant
