// Kinds of servers, networks, and times of exchanges between the wire and the engine.
#ifndef SEXTANT_SERVER_CONVERT_LINKS_H_
#define SEXTANT_SERVER_CONVERT_LINKS_H_

#include <cstdint>
#include <string>

#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/links/collective.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/links/node_group.h"
#include "engine/hardware/links/node_type.h"
#include "engine/hardware/rates.h"
#include "server/convert/notes.h"
#include "sextant/v1/links.pb.h"

namespace sextant::server {

// From the wire, as it is: ResolveNodes() checks it.
NodeGroupRequest NodeGroupRequestFrom(const v1::NodeSpec& spec);

void NodeTypeTo(const NodeType& node, v1::NodeType* out);
void NetworkTypeTo(const NamedNetwork& network, v1::NetworkType* out);

// Writes `nodes`, which `request` was resolved to, with its defaults.
void NodeSpecTo(const NodeGroupRequest& request, const NodeGroup& nodes, v1::NodeSpec* out);

// Where a time comes from.
struct LinkSource {
  RateSource source = RateSource::kDatasheet;
  std::string citation = {};
};

// Writes the time of `size_bytes`, and their rate; `sources` numbers the citation.
void LinkTimeTo(int64_t size_bytes, const KernelTime& time, const LinkSource& source,
                SourceNumbers& sources, v1::LinkTime* out);

// LinkTimeTo() of a collective, with its bus rate.
void CollectiveTimeTo(const Collective& call, const KernelTime& time, const LinkSource& source,
                      SourceNumbers& sources, v1::LinkTime* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_LINKS_H_
