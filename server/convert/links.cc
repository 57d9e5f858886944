#include "server/convert/links.h"

#include "server/convert/enums.h"
#include "server/convert/kernel.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

void LinkRateTo(const LinkDatum& figure, v1::LinkRate* out) {
  out->set_bytes_per_second(figure.value);
  out->set_citation(SourceOf(figure));
}

void ProcessorMemoriesTo(const NodeType& node, v1::NodeType* out) {
  for (size_t i = 0; i < node.host_memory.size(); ++i) {
    v1::ProcessorMemory* const memory = out->add_processor_memories();
    memory->set_size_bytes(static_cast<int64_t>(node.host_memory[i].value));
    memory->set_device_count(HostDevicesOf(node));
    memory->set_citation(SourceOf(node.host_memory[i]));
    const bool all = node.host_memory.size() == 1;
    for (size_t j = 0; j < node.accelerators.size(); ++j) {
      if (all || i == j) memory->add_accelerators(Text(node.accelerators[j]));
    }
  }
}

}  // namespace

NodeGroupRequest NodeGroupRequestFrom(const v1::NodeSpec& spec) {
  NodeGroupRequest out = {.node_type = spec.node_type(),
                          .accelerator = spec.device().accelerator(),
                          .node_count = spec.node_count(),
                          .ranks_per_node = spec.ranks_per_node(),
                          .network = {.name = spec.network().name(),
                                      .bytes_per_second = spec.network().bytes_per_second()}};
  if (spec.device().has_fleet()) {  // links are the product's
    out.accelerator = spec.device().fleet().accelerator();
    out.accelerator_field = "device.fleet.accelerator";
  }
  return out;
}

void NodeTypeTo(const NodeType& node, v1::NodeType* out) {
  out->set_name(Text(node.name));
  out->set_product_name(Text(node.product_name));
  for (const absl::string_view name : node.accelerators) out->add_accelerators(Text(name));
  out->set_device_count(node.device_count);
  out->set_device_count_citation(
      SourceOf(LinkDatum{.value = 0, .source = node.device_count_source, .present = true}));
  out->set_link_name(Text(node.link));
  LinkRateTo(node.link_rate, out->mutable_link());
  if (node.host_rate) LinkRateTo(node.host_rate, out->mutable_host());
  if (node.host_memory_rate) LinkRateTo(node.host_memory_rate, out->mutable_host_memory());
  ProcessorMemoriesTo(node, out);
  if (node.network_rate) LinkRateTo(node.network_rate, out->mutable_network());
  out->set_switch_reduces(node.switch_reduces);
  out->set_notes(Text(node.notes));
}

void NetworkTypeTo(const NamedNetwork& network, v1::NetworkType* out) {
  out->set_name(Text(network.name));
  out->set_product_name(Text(network.product_name));
  out->set_bytes_per_second(network.bytes_per_second);
  out->set_citation(Text(network.source));
}

void NodeSpecTo(const NodeGroupRequest& request, const NodeGroup& nodes, v1::NodeSpec* out) {
  out->set_node_type(Text(nodes.node->name));
  if (nodes.accelerator != nullptr) {
    out->mutable_device()->set_accelerator(Text(nodes.accelerator->name));
  }
  out->set_node_count(nodes.group.node_count);
  out->set_ranks_per_node(nodes.group.ranks_per_node);
  if (!nodes.network) return;
  // By the catalogue's own name, however it was written.
  const auto named = FindNetwork(request.network.name);
  if (named.ok()) {
    out->mutable_network()->set_name(Text((*named)->name));
  } else {
    out->mutable_network()->set_bytes_per_second(nodes.network->bytes_per_second);
  }
}

void LinkTimeTo(int64_t size_bytes, const KernelTime& time, const LinkSource& source,
                SourceNumbers& sources, v1::LinkTime* out) {
  const double expected = time.expected.value();
  out->set_size_bytes(size_bytes);
  IntervalTo(time.interval(), out->mutable_duration_seconds());
  if (expected > 0) out->set_bytes_per_second(static_cast<double>(size_bytes) / expected);
  out->set_basis(KernelBasisPair::To(time.basis));
  out->set_source(RateSourcePair::To(source.source));
  out->set_source_number(sources.Of(source.citation));
}

void CollectiveTimeTo(const Collective& call, const KernelTime& time, const LinkSource& source,
                      SourceNumbers& sources, v1::LinkTime* out) {
  LinkTimeTo(call.bytes.value(), time, source, sources, out);
  if (!out->has_bytes_per_second()) return;
  out->set_bus_bytes_per_second(out->bytes_per_second() * WireShare(call.op, call.ranks));
}

}  // namespace sextant::server
