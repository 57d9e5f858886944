#include "server/handler/link_times_answer.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/note.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/device_selection.h"
#include "engine/hardware/links/host_copy_rate.h"
#include "engine/hardware/links/link_times.h"
#include "engine/hardware/links/node_group.h"
#include "engine/hardware/measured_links.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "server/convert/calibration.h"
#include "server/convert/enums.h"
#include "server/convert/links.h"
#include "server/convert/notes.h"

namespace sextant::server {
namespace {

constexpr int kMaxOperations = 6;
constexpr int kMaxSizes = 64;
constexpr int64_t kMaxSizeBytes = 1'000'000'000'000'000;

std::vector<CollectiveOp> OperationsOf(const v1::GetLinkTimesRequest& request,
                                       FieldViolations& violations) {
  if (request.operations().empty()) return {kCollectiveOps.begin(), kCollectiveOps.end()};
  std::vector<CollectiveOp> out;
  if (request.operations_size() > kMaxOperations) {
    violations.Add("operations", absl::StrCat("are ", request.operations_size(), ": name at most ",
                                              kMaxOperations));
    return out;
  }
  for (int i = 0; i < request.operations_size(); ++i) {
    const int number = request.operations(i);
    if (number == v1::COLLECTIVE_OPERATION_UNSPECIFIED) {
      violations.Add(absl::StrCat("operations[", i, "]"),
                     "names no operation: write one, e.g. COLLECTIVE_OPERATION_ALL_REDUCE");
    } else if (const auto op =
                   CollectiveOpPair::Find(static_cast<v1::CollectiveOperation>(number),
                                          absl::StrCat("operations[", i, "]"), violations)) {
      out.push_back(*op);
    }
  }
  return out;
}

// 1 KiB to 16 GiB, each four times the one before.
std::vector<int64_t> DefaultSizes() {
  std::vector<int64_t> out;
  for (int64_t bytes = int64_t{1} << 10; bytes <= int64_t{1} << 34; bytes *= 4) {
    out.push_back(bytes);
  }
  return out;
}

std::vector<int64_t> SizesOf(const v1::GetLinkTimesRequest& request, FieldViolations& violations) {
  if (request.sizes_bytes().empty()) return DefaultSizes();
  if (request.sizes_bytes_size() > kMaxSizes) {
    violations.Add("sizes_bytes",
                   absl::StrCat("are ", request.sizes_bytes_size(), ": give at most ", kMaxSizes));
    return {};
  }
  for (int i = 0; i < request.sizes_bytes_size(); ++i) {
    violations.RequireRange("", absl::StrCat("sizes_bytes[", i, "]"), request.sizes_bytes(i), 1,
                            kMaxSizeBytes);
  }
  return {request.sizes_bytes().begin(), request.sizes_bytes().end()};
}

constexpr char kNodesDevicePath[] = "nodes.device";
constexpr char kCalibrations[] = "nodes.device.calibrations.calibrations";

// The product of the devices that `selection` names one by one; null: none, or in no catalogue.
const Accelerator* ProductOf(const DeviceSelection& selection) {
  if (!selection.devices.empty()) {
    return AcceleratorReportedAs(selection.devices.front().product_name);
  }
  return selection.calibrations.empty() ? nullptr : selection.calibrations.front()->accelerator();
}

// The request's nodes. Where no kind of server is named, the product of the devices stands for an
// accelerator's name.
NodeGroupRequest NodeGroupRequestOf(const v1::NodeSpec& wire, const DeviceSelection& selection) {
  NodeGroupRequest out = NodeGroupRequestFrom(wire);
  const Accelerator* const product = ProductOf(selection);
  if (!out.node_type.empty() || product == nullptr) return out;
  out.accelerator = std::string(product->name);
  const std::string field = selection.FieldOf(0, "device");
  out.accelerator_field =
      selection.devices.empty() ? FieldPath(field, "device.product_name") : field;
  return out;
}

// Checks what was measured of the devices against the devices of `nodes`. The measurements of the
// host's devices are not fields of the request: their first fault is one of the device's name.
void CheckMeasuredDevices(const NodeGroup& nodes, const DeviceSelection& selection,
                          FieldViolations& violations) {
  for (size_t i = 0; i < selection.calibrations.size(); ++i) {
    const std::string field = selection.FieldOf(i, kNodesDevicePath);
    if (violations.Mentions(field)) continue;
    CheckMeasuredAmong(nodes, *selection.calibrations[i], field, violations);
  }
  for (size_t i = 0; i < selection.devices.size(); ++i) {
    const NamedDevice& device = selection.devices[i];
    if (device.model == nullptr) continue;
    FieldViolations measured;
    CheckMeasuredAmong(nodes, *device.model, "", measured);
    if (measured.empty()) continue;
    const FieldViolation& first = measured.all().front();
    violations.Add(selection.FieldOf(i, kNodesDevicePath),
                   absl::StrCat("is ", device.uuid, ", in whose calibration ", first.field, " ",
                                first.description));
  }
}

// Joins the links that the devices measured.
absl::StatusOr<MeasuredLinks> MeasuredLinksFrom(const DeviceSelection& selection,
                                                FieldViolations& violations) {
  if (violations.Mentions(kNodesDevicePath)) return MeasuredLinks();
  absl::StatusOr<MeasuredLinks> out = MeasuredLinksOf(selection.models());
  if (!out.ok()) violations.Add(selection.ListField(kNodesDevicePath), out.status().message());
  return out;
}

// "a calibration in the request", "the slowest of 2 devices of this host".
std::string CitationOf(const DeviceSelection& selection) {
  const size_t count = selection.named_count();
  if (!selection.devices.empty()) {
    return count == 1 ? absl::StrCat("the calibration in use of ", selection.devices[0].uuid)
                      : absl::StrCat("the slowest of ", count, " devices of this host");
  }
  return count == 1 ? "a calibration in the request"
                    : absl::StrCat("the slowest of ", count, " calibrations in the request");
}

// Computes times among `nodes`, and cites the source of each.
class LinkAnswer {
 public:
  // `measured` outlives this.
  LinkAnswer(NodeGroup nodes, const MeasuredLinks& measured, const DeviceSelection& selection)
      : nodes_(std::move(nodes)),
        measured_(measured),
        measured_source_{selection.source(), CitationOf(selection)},
        published_(ReferenceCollectives(nodes_.node->collectives)),
        times_(nodes_.node, {Supplied(), published_}, nodes_.network) {}

  absl::Status AddExchange(CollectiveOp op, const std::vector<int64_t>& sizes,
                           SourceNumbers& sources, v1::GetLinkTimesResponse* out) const {
    v1::GetLinkTimesResponse::Exchange* exchange = out->add_exchanges();
    exchange->set_operation(CollectiveOpPair::To(op));
    const LinkSource source = StandsOn(op);
    for (const int64_t bytes : sizes) {
      SEXTANT_ASSIGN_OR_RETURN(const KernelTime time,
                               times_.TimeOf(op, Bytes(bytes), nodes_.group));
      CollectiveTimeTo({op, Bytes(bytes), nodes_.group.ranks()}, time, source, sources,
                       exchange->add_times());
    }
    return absl::OkStatus();
  }

  // Returns what the copies' times take for granted.
  Note AddHostCopies(const std::vector<int64_t>& sizes, SourceNumbers& sources,
                     v1::GetLinkTimesResponse* out) const {
    const NodeType& node = *nodes_.node;
    const LinkSource source = measured_.host_copies
                                  ? measured_source_
                                  : LinkSource{RateSource::kDatasheet,
                                               absl::StrCat("host link: ", SourceOf(node.host_rate),
                                                            "; published share (docs/links.md)")};
    for (const int64_t bytes : sizes) {
      const absl::optional<KernelTime> time =
          PinnedCopyTime(node, Bytes(bytes), measured_.host_copies);
      if (!time) {
        return {.kind = NoteKind::kHostLinkUnknown,
                .text = absl::StrCat("Nothing is known of a ", node.name,
                                     "'s link to its host: there are no times of copies. ",
                                     kCalibrations, " with copies would give them."),
                .fields = {kCalibrations}};
      }
      LinkTimeTo(bytes, *time, source, sources, out->add_host_copies());
    }
    return {NoteKind::kHostCopiesAlone,
            "Host memory is pinned, and copies go one way at a time with nothing else on the bus."};
  }

  // Adds a note where what the devices measured does not cover `op`.
  void AddIfNotMeasured(CollectiveOp op, Notes& out) const {
    const RankGroup& group = nodes_.group;
    if (group.ranks_per_node < 2 || !IsWithinNodes(op)) return;
    const CollectiveModel* const model = times_.Answering(op, group.ranks_per_node);
    if (model != nullptr && model == Supplied()) return;
    out.push_back({.kind = NoteKind::kCollectiveNotMeasured,
                   .text = absl::StrCat("The calibrations (", kCalibrations, ") hold no ",
                                        CollectiveOpName(op), " that would tell its times among ",
                                        group.ranks_per_node,
                                        model == nullptr ? " ranks: the datasheet stands in."
                                                         : " ranks: published times stand in."),
                   .fields = {kCalibrations}});
  }

 private:
  const CollectiveModel* Supplied() const {
    return measured_.collectives ? &*measured_.collectives : nullptr;
  }

  // True where part of `op` stays within a node; a send to another node does not.
  bool IsWithinNodes(CollectiveOp op) const {
    return nodes_.group.node_count == 1 || op != CollectiveOp::kSendReceive;
  }

  // The source of the times of calls within one node.
  LinkSource WithinNode(CollectiveOp op, int64_t ranks) const {
    if (ranks < 2) return {RateSource::kRequest, "one rank: there is nobody to wait for"};
    const CollectiveModel* const model = times_.Answering(op, ranks);
    const NodeType& node = *nodes_.node;
    if (model == nullptr) {
      return {RateSource::kDatasheet,
              absl::StrCat(node.link, ": ", SourceOf(node.link_rate),
                           "; NCCL's latencies and published shares (docs/links.md)")};
    }
    if (model == Supplied()) return measured_source_;
    return {RateSource::kReference, ReferenceCollectivesCitation(node.collectives)};
  }

  LinkSource StandsOn(CollectiveOp op) const {
    const RankGroup& group = nodes_.group;
    if (group.node_count == 1) return WithinNode(op, group.ranks_per_node);
    std::string citation =
        absl::StrCat("network: ", nodes_.network->citation, "; NCCL's latencies (docs/links.md)");
    if (IsWithinNodes(op) && group.ranks_per_node > 1) {
      absl::StrAppend(&citation,
                      "; within the node: ", WithinNode(op, group.ranks_per_node).citation);
    }
    return {RateSource::kDatasheet, std::move(citation)};
  }

  NodeGroup nodes_;
  const MeasuredLinks& measured_;
  const LinkSource measured_source_;
  const CollectiveModel* published_;
  LinkTimes times_;
};

Notes NotesOf(const NodeGroup& nodes, const v1::GetLinkTimesRequest& request) {
  Notes out = {{NoteKind::kLinksIdle,
                "Nothing else uses the links at the same time; calls are launched one by one, not "
                "by a graph."}};
  if (nodes.group.node_count > 1) {
    out.push_back(
        {NoteKind::kNetworkNotModelled,
         "Across nodes, times follow from the adapters' line rate and NCCL's latencies; "
         "congestion, oversubscription and the order of nodes are not modelled, and from 1 to 4 "
         "MiB calls may take up to twice as long."});
  } else if (request.nodes().has_network()) {
    out.push_back({.kind = NoteKind::kNetworkUnused,
                   .text = "One node uses no network: nodes.network changes nothing.",
                   .fields = {"nodes.network"}});
  }
  if (nodes.group.ranks() == 1) {
    out.push_back(
        {NoteKind::kSingleRank, "One rank has nobody to exchange with: its calls take no time."});
  }
  return out;
}

// A request's nodes and devices, resolved.
struct LinkDevices {
  NodeGroupRequest named;
  DeviceSelection selection;
  NodeGroup nodes;
  MeasuredLinks measured;
};

// Resolves the request's nodes. Errors: as AnswerLinkTimes(), together with `violations`.
absl::StatusOr<LinkDevices> LinkDevicesOf(const v1::NodeSpec& wire, const DeviceResolver& resolver,
                                          FieldViolations& violations) {
  LinkDevices out;
  if (wire.has_device()) {
    out.selection = resolver.Resolve(wire.device(), kNodesDevicePath, absl::nullopt, violations);
  }
  CheckSelection(out.selection, kNodesDevicePath, violations);
  std::vector<UnknownName> unknown;
  FindSelected(out.selection, kNodesDevicePath, unknown);
  const bool is_product_open = violations.Mentions(kNodesDevicePath) || !unknown.empty();
  out.named = NodeGroupRequestOf(wire, out.selection);
  absl::StatusOr<NodeGroup> nodes = ResolveNodes(out.named);
  for (const FieldViolation& v : FieldViolationsOf(nodes.status())) {
    // A product that is not known yet may decide the kind of server.
    if (v.field == "node_type" && is_product_open) continue;
    violations.Add(FieldPath("nodes", v.field), v.description);
  }
  if (nodes.ok()) CheckMeasuredDevices(*nodes, out.selection, violations);
  absl::StatusOr<MeasuredLinks> measured = MeasuredLinksFrom(out.selection, violations);
  SEXTANT_RETURN_IF_ERROR(StatusOfAll(unknown, violations));
  SEXTANT_RETURN_IF_ERROR(BelowField(nodes.status(), "nodes"));
  SEXTANT_RETURN_IF_ERROR(CheckMeasured(out.selection, "name it by nodes.device.accelerator"));
  if (nodes->accelerator == nullptr) nodes->accelerator = ProductOf(out.selection);
  out.nodes = *std::move(nodes);
  out.measured = *std::move(measured);
  return out;
}

}  // namespace

absl::Status AnswerListNodeTypes(const v1::ListNodeTypesRequest& request,
                                 v1::ListNodeTypesResponse* response) {
  if (request.has_name()) {
    const absl::StatusOr<const NodeType*> node = FindNodeType(request.name());
    if (!node.ok()) return WithField(node.status(), "name");
    NodeTypeTo(**node, response->add_node_types());
  } else {
    for (const NodeType& node : NodeTypes()) NodeTypeTo(node, response->add_node_types());
  }
  for (const NamedNetwork& network : NamedNetworks()) {
    NetworkTypeTo(network, response->add_networks());
  }
  return absl::OkStatus();
}

absl::Status AnswerLinkTimes(const v1::GetLinkTimesRequest& request, const DeviceResolver& resolver,
                             v1::GetLinkTimesResponse* response) {
  FieldViolations violations;
  const std::vector<CollectiveOp> operations = OperationsOf(request, violations);
  const std::vector<int64_t> sizes = SizesOf(request, violations);
  SEXTANT_ASSIGN_OR_RETURN(const LinkDevices devices,
                           LinkDevicesOf(request.nodes(), resolver, violations));
  const NodeGroup& nodes = devices.nodes;
  NodeSpecTo(devices.named, nodes, response->mutable_nodes());
  NodeTypeTo(*nodes.node, response->mutable_node_type());
  if (nodes.network) {
    response->mutable_network()->set_bytes_per_second(nodes.network->bytes_per_second);
    response->mutable_network()->set_citation(nodes.network->citation);
  }
  Notes notes = NotesOf(nodes, request);
  SourceNumbers numbers(response->mutable_sources());
  const LinkAnswer answer(nodes, devices.measured, devices.selection);
  for (const CollectiveOp op : operations) {
    SEXTANT_RETURN_IF_ERROR(answer.AddExchange(op, sizes, numbers, response));
    if (devices.selection.named_count() > 0) answer.AddIfNotMeasured(op, notes);
  }
  if (request.host_copies()) notes.push_back(answer.AddHostCopies(sizes, numbers, response));
  NotesTo(std::move(notes), response->mutable_warnings(), response->mutable_assumptions());
  return absl::OkStatus();
}

}  // namespace sextant::server
