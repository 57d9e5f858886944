#include "engine/run/run_devices.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/host_link.h"
#include "engine/hardware/links/usual_nodes.h"

namespace sextant {
namespace {

// A writer that adds one figure to `out`.
RateWriter WriterOf(Rate rate, RunDevices& out) {
  rate.device = out.device_name;
  return RateWriter(std::move(rate), out.rates);
}

void FindPeak(const RunSpec& run, DataType type, RunDevices& out, FieldViolations& violations) {
  RateWriter writer =
      WriterOf({.quantity = "peak_flops_per_second", .data_type = type, .unit = "FLOP/s"}, out);
  const DatasheetValue figure =
      out.accelerator != nullptr ? PeakFlopsPerSecond(*out.accelerator, type) : DatasheetValue();
  if (run.cluster.peak_flops_per_second.has_value()) {
    out.peak = FlopsPerSecond(writer.FromRequest(*run.cluster.peak_flops_per_second));
  } else if (figure) {
    out.peak = FlopsPerSecond(writer.FromDatasheet(*out.accelerator, figure));
  } else if (run.options.assumed_mfu.has_value()) {
    violations.Add("options.assumed_mfu",
                   absl::StrCat("is a share of a peak, and no ", DataTypeName(type), " peak of ",
                                out.device_name,
                                " is known: give cluster.peak_flops_per_second, or leave it out"));
  }
}

void FindMatmul(const RunSpec& run, RunDevices& out, FieldViolations& violations) {
  if (!out.measured.has_value() || out.measured->matmul == nullptr) return;
  const MeasuredGang& gang = *out.measured;
  const absl::optional<double>& peak = run.cluster.peak_flops_per_second;
  if (peak.has_value() && *peak < gang.matmul->rate.value()) {
    violations.Add(
        "cluster.peak_flops_per_second",
        absl::StrFormat("is %.4g, and the devices were measured at %.4g FLOP/s: give the "
                        "dense peak, which is at least that, or leave it out",
                        *peak, gang.matmul->rate.value()));
  }
  std::string citation = CitationOf(*gang.slowest, *gang.matmul);
  if (gang.measured_count > 1 && gang.source != RateSource::kMeasuredModel) {
    absl::StrAppend(&citation, "; the slowest of ", gang.measured_count, " devices");
  }
  Measurement measured = {.stable = gang.matmul->stable};
  if (gang.matmul->sample_count > 1) measured.relative_spread = gang.matmul->relative_spread;
  WriterOf({.quantity = "matmul_flops_per_second",
            .data_type = gang.matmul->data_type,
            .unit = "FLOP/s",
            .measured = measured},
           out)
      .FromMeasurement(*gang.slowest, {.value = gang.matmul->rate.value(),
                                       .source = gang.source,
                                       .citation = std::move(citation)});
}

Bytes WholeBytes(const DatasheetValue& figure) { return Bytes(static_cast<int64_t>(figure.value)); }

// The memory of one device by each source that has it; false where none does. A calibration has
// the total of CUDA (cuDeviceTotalMem), which is without the driver's reserve, or that of a
// processor's host; only the catalogue's figure includes the reserve. Doubles hold these bytes
// exactly: they are at most 1e15.
bool FindCapacity(const RunSpec& run, RunDevices& out) {
  RateWriter writer = WriterOf({.quantity = "memory_bytes", .unit = "byte"}, out);
  DeviceCapacity& found = out.capacity;
  const DeviceCalibration* const smallest =
      out.measured.has_value() ? out.measured->smallest : nullptr;
  constexpr static Accelerator kNotInCatalogue = {};
  const Accelerator& product = out.accelerator != nullptr ? *out.accelerator : kNotInCatalogue;
  if (product.reported_memory_bytes) found.reported = WholeBytes(product.reported_memory_bytes);
  if (smallest != nullptr) found.reported = smallest->memory;
  if (product.memory_bytes) found.nominal = WholeBytes(product.memory_bytes);
  double bytes = 0;
  if (run.cluster.device_memory_bytes.has_value()) {
    found.source = CapacitySource::kRequest;
    bytes = writer.FromRequest(static_cast<double>(*run.cluster.device_memory_bytes));
  } else if (smallest != nullptr) {
    found.source = CapacitySource::kReported;
    bytes =
        writer.FromMeasurement(*smallest, {.value = static_cast<double>(smallest->memory.value()),
                                           .source = out.measured->source,
                                           .citation = "as the device's host reports it"});
  } else if (out.measured.has_value()) {
    return false;
  } else if (product.reported_memory_bytes) {
    found.source = CapacitySource::kReported;
    bytes = writer.FromDatasheet(product, product.reported_memory_bytes);
    if (product.driver_reserved_bytes) {
      found.driver_reserved = WholeBytes(product.driver_reserved_bytes);
    }
  } else {
    bytes = writer.FromDatasheet(product, product.memory_bytes);
  }
  found.capacity = Bytes(static_cast<int64_t>(bytes));
  return true;
}

void CheckCapacity(const RunSpec& run, RunDevices& out, FieldViolations& violations) {
  // Out of range, these two would overflow below.
  if (violations.Mentions("cluster.device_memory_bytes") ||
      violations.Mentions("cluster.reserved_memory_bytes")) {
    return;
  }
  if (!FindCapacity(run, out)) return;
  const Bytes memory = out.capacity.capacity;
  if (memory > Bytes(kMaxDeviceMemoryBytes)) {
    violations.Add("cluster.device_memory_bytes",
                   absl::StrCat("is required, at most ", kMaxDeviceMemoryBytes,
                                ": the device reports ", memory.value(), " bytes"));
  }
  const Bytes available = out.capacity.usable();
  out.capacity.Reserve(run.cluster.reserved_memory_bytes, run.cluster.device.TakenBytes());
  if (out.capacity.reserved >= available) {
    violations.Add(
        "cluster.reserved_memory_bytes",
        absl::StrCat("must be less than the device's memory, ", available.value(), " bytes"));
  }
}

void FindPower(const RunSpec& run, RunDevices& out) {
  RateWriter writer = WriterOf({.quantity = "device_power_watts", .unit = "W"}, out);
  if (run.economics.device_power_watts.has_value()) {
    out.device_power = Watts(writer.FromRequest(*run.economics.device_power_watts));
    return;
  }
  if (out.measured.has_value() && out.measured->matmul != nullptr &&
      out.measured->matmul->power_watts.has_value()) {
    const MeasuredGang& gang = *out.measured;
    out.measured_power = true;
    out.device_power = Watts(writer.FromMeasurement(
        *gang.slowest,
        {.value = *gang.matmul->power_watts,
         .source = gang.source,
         .citation = absl::StrCat("during the ", CitationOf(*gang.slowest, *gang.matmul))}));
    return;
  }
  if (out.accelerator != nullptr && out.accelerator->thermal_design_power_watts) {
    out.device_power =
        Watts(writer.FromDatasheet(*out.accelerator, out.accelerator->thermal_design_power_watts));
  }
}

// The gang of the devices that `cluster` names, computing in `type`. Devices without a
// measurement are skipped (CheckRates() reports them). Absent where an accelerator's name is given
// instead.
absl::optional<MeasuredGang> MeasuredGangOf(const ClusterSpec& cluster, DataType type) {
  const DeviceSelection& selection = cluster.device;
  const std::vector<const DeviceModel*> models = selection.models();
  if (selection.named_count() == 0 && models.empty()) return absl::nullopt;
  MeasuredGang out;
  out.source = selection.source();
  out.measured_count = selection.measured_count(cluster.device_count);
  for (const DeviceModel* const model : models) out.Join(*model, type);
  return out;
}

// Finds the devices and their figures. Where several sources have a figure, the request's comes
// first, then the measured one, then the datasheet's.
void FindFigures(const DevicesAsked& asked, RunDevices& out, FieldViolations& violations) {
  const RunSpec& run = asked.run;
  if (violations.Mentions("cluster.device.calibrations")) return;
  out.accelerator = asked.named;
  out.measured = MeasuredGangOf(run.cluster, asked.type);
  if (out.measured.has_value()) {
    if (out.measured->smallest == nullptr) return;
    out.accelerator = out.measured->smallest->accelerator;
    out.device_name = out.measured->smallest->product_name;
  }
  if (out.accelerator != nullptr) out.device_name = out.accelerator->name;
  if (out.device_name.empty()) return;
  out.rates.reserve(4);
  FindPeak(run, asked.type, out, violations);
  FindMatmul(run, out, violations);
  CheckCapacity(run, out, violations);
  FindPower(run, out);
}

// The type of the run's nodes: the one that it names, or the usual one of its product.
const NodeType* NodeOf(const RunSpec& run, const Accelerator* accelerator,
                       FieldViolations& violations) {
  const absl::string_view name = run.cluster.node_type;
  if (name.empty()) {
    return accelerator == nullptr ? nullptr : UsualNodeOf(accelerator->name);
  }
  const absl::StatusOr<const NodeType*> found = FindNodeType(name);
  if (!found.ok()) {
    violations.Add("cluster.node_type", found.status().message());
    return nullptr;
  }
  if (accelerator != nullptr && !Holds(**found, accelerator->name)) {
    violations.Add("cluster.node_type", absl::StrCat("is ", (*found)->name, ", which comes with ",
                                                     absl::StrJoin((*found)->accelerators, ", "),
                                                     ", not with ", accelerator->name));
  }
  return *found;
}

// The network that the run names, or that of the type of nodes that it names. Without either, none
// is assumed.
void FindNodes(const RunSpec& run, RunDevices& out, FieldViolations& violations) {
  out.node = NodeOf(run, out.accelerator, violations);
  const NetworkRequest& request = run.cluster.network;
  const bool asked = !request.name.empty() || request.bytes_per_second != 0;
  constexpr static NodeType kAnyNode = {.name = "any", .product_name = "any server"};
  const NodeType& node = out.node != nullptr ? *out.node : kAnyNode;
  const bool several = out.node != nullptr && run.cluster.device_count > node.device_count;
  if (!asked && (run.cluster.node_type.empty() || !several)) return;
  absl::StatusOr<Network> network = ResolveNetwork(node, 2, request);
  if (network.ok()) {
    out.network = *std::move(network);
  } else {
    const std::vector<FieldViolation> found = FieldViolationsOf(network.status());
    violations.AddOnce("cluster.network",
                       found.empty() ? network.status().message() : found.front().description);
  }
}

// A server of the run's nodes, with the memory that the request gives or else theirs.
HostServer ServerOf(const RunSpec& run, const RunDevices& devices) {
  HostServer out;
  if (devices.node != nullptr) {
    const NodeType& node = *devices.node;
    out.name = std::string(node.name);
    out.device_count = HostDevicesOf(node);
    const LinkDatum memory =
        HostMemoryOf(node, devices.accelerator != nullptr ? devices.accelerator->name : "");
    if (memory) {
      out.memory = Bytes(static_cast<int64_t>(memory.value));
      out.citation = SourceOf(memory);
    }
  }
  if (run.cluster.host_memory_bytes.has_value()) {
    out.memory = Bytes(*run.cluster.host_memory_bytes);
    out.whole = true;
    out.citation = "the request";
  }
  return out;
}

// Fills in `out.server`, where there is a layout, and `out.host` where it offloads or a search may.
// Where it offloads, both rates are among `out.rates`.
void FindHost(const RunSpec& run, RunDevices& out) {
  if (!run.layout.has_value()) return;
  out.server = ServerOf(run, out);
  const bool offloads = run.layout->sharding.offload_optimizer;
  if (!offloads && run.options.search == SearchExtent::kNone) return;
  std::vector<Rate> used;
  out.host.link = HostLinkOf(run, out, used).value_or(BytesPerSecond());
  out.host.update = HostUpdateRate({.accelerator = out.accelerator,
                                    .node = out.node,
                                    .memory_line_rate = run.cluster.host_memory_bytes_per_second},
                                   used)
                        .value_or(BytesPerSecond());
  if (!offloads) return;
  std::move(used.begin(), used.end(), std::back_inserter(out.rates));
}

// The node type that `cluster` names, or the usual one of the product that it names or that its
// devices are; null: none is known.
const NodeType* LikelyNodeOf(const ClusterSpec& cluster) {
  if (!cluster.node_type.empty()) return FindNodeType(cluster.node_type).value_or(nullptr);
  const Accelerator* product = nullptr;
  if (!cluster.device.accelerator.empty()) {
    product = AcceleratorNamed(cluster.device.accelerator);
  } else if (const auto models = cluster.device.models(); !models.empty()) {
    product = models.front()->accelerator();
  }
  return product == nullptr ? nullptr : UsualNodeOf(product->name);
}

}  // namespace

RateSource RunDevices::matmul_source() const {
  if (measured.has_value()) return measured->source;
  return peak.has_value() ? rates.front().source : RateSource::kDatasheet;
}

void FindDevices(const DevicesAsked& asked, RunDevices& out, FieldViolations& violations) {
  FindFigures(asked, out, violations);
  FindNodes(asked.run, out, violations);
  FindHost(asked.run, out);
}

absl::optional<BytesPerSecond> HostLinkOf(const RunSpec& run, const RunDevices& devices,
                                          std::vector<Rate>& used) {
  return PinnedHostLink({.models = run.cluster.device.models(),
                         .measured_by = run.cluster.device.source(),
                         .accelerator = devices.accelerator,
                         .node = devices.node,
                         .link_line_rate = run.cluster.host_link_bytes_per_second},
                        used);
}

void AssumeNodes(ClusterSpec& cluster) {
  const NodeType* const node = LikelyNodeOf(cluster);
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
