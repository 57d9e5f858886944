#include "client/report/hardware_text.h"

#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/report/lines.h"
#include "client/text/text.h"
#include "proto/stable_points.h"

namespace sextant::client {
namespace {

using google::protobuf::FieldDescriptor;

// `figure` in units of `unit`, e.g. 1e12 for tera.
std::string FigureCell(bool present, const v1::DatasheetFigure& figure, double unit, int decimals) {
  return present ? absl::StrFormat("%.*f", decimals, figure.value() / unit) : kNoValue;
}

std::string PeakCell(const v1::Accelerator& accelerator, v1::DataType type) {
  for (const v1::PeakRate& peak : accelerator.peak_rates()) {
    if (peak.data_type() == type) return FigureCell(true, peak.flops_per_second(), 1e12, 1);
  }
  return kNoValue;
}

std::vector<std::string> AcceleratorRow(const v1::Accelerator& a) {
  return {a.name(),
          FigureCell(a.has_memory_bytes(), a.memory_bytes(), 1073741824.0, 2),
          FigureCell(a.has_reported_memory_bytes(), a.reported_memory_bytes(), 1073741824.0, 2),
          FigureCell(a.has_memory_bandwidth_bytes_per_second(),
                     a.memory_bandwidth_bytes_per_second(), 1e12, 2),
          PeakCell(a, v1::DATA_TYPE_BF16),
          PeakCell(a, v1::DATA_TYPE_FP16),
          PeakCell(a, v1::DATA_TYPE_FP8),
          PeakCell(a, v1::DATA_TYPE_FP32),
          FigureCell(a.has_link_bandwidth_bytes_per_second(), a.link_bandwidth_bytes_per_second(),
                     1e9, 0),
          FigureCell(a.has_thermal_design_power_watts(), a.thermal_design_power_watts(), 1, 0),
          a.product_name()};
}

// Suffixes of figures' names, the longest first, and the units that they mean.
struct UnitSuffix {
  const char* suffix;
  const char* unit;
};

constexpr UnitSuffix kUnitSuffixes[] = {
    {"_bytes_per_second", "byte/s"}, {"_bytes", "byte"}, {"_watts", "W"}, {"_hertz", "Hz"}};

// A figure's name and unit, from its field: "memory_bandwidth_bytes_per_second" is
// "memory bandwidth" in "byte/s".
struct FigureName {
  std::string name;
  std::string unit;
};

FigureName FigureNameOf(const FieldDescriptor& field) {
  for (const auto& [suffix, unit] : kUnitSuffixes) {
    if (absl::EndsWith(field.name(), suffix)) {
      const absl::string_view stem = absl::StripSuffix(field.name(), suffix);
      return {absl::StrReplaceAll(stem, {{"_", " "}}), unit};
    }
  }
  return {absl::StrReplaceAll(field.name(), {{"_", " "}}), ""};
}

// Reads figures by reflection, so that none that the API gains is left out.
void AddFigures(const v1::Accelerator& accelerator, Table* table) {
  std::vector<const FieldDescriptor*> fields;
  accelerator.GetReflection()->ListFields(accelerator, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated() || field->message_type() != v1::DatasheetFigure::descriptor()) {
      continue;
    }
    v1::DatasheetFigure figure;
    figure.CopyFrom(accelerator.GetReflection()->GetMessage(accelerator, field));
    const FigureName name = FigureNameOf(*field);
    table->AddRow({name.name, WithUnit(figure.value(), name.unit), figure.source()});
  }
}

void AddPeaks(const v1::Accelerator& accelerator, Table* table) {
  for (const v1::PeakRate& peak : accelerator.peak_rates()) {
    const v1::DatasheetFigure& figure = peak.flops_per_second();
    table->AddRow({absl::StrCat("peak ", DataTypeName(peak.data_type()),
                                peak.matrix_unit() ? " (matrix unit)" : ""),
                   WithUnit(figure.value(), "FLOP/s"), figure.source()});
  }
}

std::string SourcesOf(const v1::Accelerator& a) {
  const std::string about = absl::StrJoin(
      {a.product_name(), a.vendor(), a.architecture(), a.form_factor(),
       absl::StrCat("memory ", a.memory_type()), absl::StrCat("link ", a.link_type())},
      ", ");
  Table table = Titled({"", ">", ""});
  AddFigures(a, &table);
  AddPeaks(a, &table);
  return absl::StrCat(Wrap(absl::StrCat(a.name(), ": "), about, 4), table.Text(),
                      a.notes().empty() ? "" : Wrap("  note: ", a.notes(), 8));
}

constexpr double kGigabyte = 1e9;

std::string GigabytesCell(bool present, const v1::LinkRate& rate) {
  return present ? absl::StrFormat("%.1f", rate.bytes_per_second() / kGigabyte) : "-";
}

// "1000 or 2000" GB, where it depends on the accelerator.
std::string ProcessorMemoryCell(const v1::NodeType& node) {
  if (node.processor_memories().empty()) return "-";
  return absl::StrJoin(
      node.processor_memories(), " or ", [](std::string* out, const v1::ProcessorMemory& memory) {
        absl::StrAppendFormat(out, "%.0f", static_cast<double>(memory.size_bytes()) / kGigabyte);
      });
}

std::string NodesTable(const v1::ListNodeTypesResponse& response) {
  Table table = Titled(
      {"name", ">devices", ">link", ">host", ">network", ">memory", "switch", "accelerators"}, 0);
  table.AddRow({"", "", "GB/s", "GB/s", "GB/s", "GB", "adds up", ""});
  for (const v1::NodeType& node : response.node_types()) {
    table.AddRow({node.name(), Grouped(node.device_count()),
                  GigabytesCell(node.has_link(), node.link()),
                  GigabytesCell(node.has_host(), node.host()),
                  GigabytesCell(node.has_network(), node.network()), ProcessorMemoryCell(node),
                  node.switch_reduces() ? "yes" : "no", absl::StrJoin(node.accelerators(), ", ")});
  }
  return table.Text();
}

std::string NetworksTable(const v1::ListNodeTypesResponse& response, bool sources) {
  Table table = Titled({"", ">", "", ""}, 0);
  table.AddRow({"network", "GB/s", "product", sources ? "source" : ""});
  for (const v1::NetworkType& network : response.networks()) {
    table.AddRow({network.name(), absl::StrFormat("%.1f", network.bytes_per_second() / kGigabyte),
                  network.product_name(), sources ? network.citation() : ""});
  }
  return table.Text();
}

void AddRate(const char* name, bool present, const v1::LinkRate& rate, Table* table) {
  if (!present) return;
  table->AddRow({name, Scaled(rate.bytes_per_second(), "B/s"), rate.citation()});
}

std::string SourcesOf(const v1::NodeType& node) {
  const std::string about = absl::StrCat(
      node.product_name(), ", with ", absl::StrJoin(node.accelerators(), ", "), ", joined by ",
      node.link_name(), node.switch_reduces() ? ", whose switch adds up (NVLink SHARP)" : "");
  Table table = Titled({"", ">", ""});
  table.AddRow({"devices", Grouped(node.device_count()), node.device_count_citation()});
  AddRate("link", node.has_link(), node.link(), &table);
  AddRate("host", node.has_host(), node.host(), &table);
  AddRate("host memory", node.has_host_memory(), node.host_memory(), &table);
  AddRate("network", node.has_network(), node.network(), &table);
  for (const v1::ProcessorMemory& memory : node.processor_memories()) {
    table.AddRow({absl::StrCat("memory of ", memory.device_count(), " devices"),
                  Scaled(static_cast<double>(memory.size_bytes()), "B"), memory.citation()});
  }
  return absl::StrCat(Wrap(absl::StrCat(node.name(), ": "), about, 4), table.Text(),
                      node.notes().empty() ? "" : Wrap("  note: ", node.notes(), 8));
}

std::string MeasuredText(const v1::ListDevicesResponse::Entry& entry) {
  if (entry.distrusted()) {
    return "WRONG RESULTS in the last probe: have it looked at, and run sextant probe";
  }
  if (!entry.has_measured_time()) return "never; sextant probe measures it";
  const std::string when = InstantText(entry.measured_time());
  return entry.has_age_seconds() ? absl::StrCat(when, ", ", AgeText(entry.age_seconds())) : when;
}

std::string EntryText(const v1::ListDevicesResponse::Entry& entry) {
  Table table = Titled({"", ""});
  AddDeviceRows(entry.device(), &table);
  table.AddRow({"measured", MeasuredText(entry)});
  if (entry.has_fingerprint()) table.AddRow({"fingerprint", entry.fingerprint()});
  return absl::StrCat(Wrap("", DeviceTitle(entry.device()), 2), table.Text());
}

std::string Ending(const std::string& engine_version, const std::string& fingerprint) {
  return Wrap("", absl::StrCat("engine ", engine_version, ", calibration ", fingerprint), 0);
}

std::string UseText(const v1::RunProbeResponse::Result& result) {
  const PointCounts points = CountPoints(result.calibration());
  if (result.in_use() && points.AreFewStable()) {
    return absl::StrCat("In use, for want of a better one: ", points.stable, " of its ", points.all,
                        " times are stable, which plans warn of. Probe again while the device does "
                        "nothing else.");
  }
  if (result.in_use()) return "In use: plans on this device stand on it from now on.";
  if (result.unused_text().empty()) return "Not in use: plans on this device go on as before.";
  return absl::StrCat("Not in use. ", result.unused_text());
}

}  // namespace

std::string AcceleratorTable(const v1::ListAcceleratorsResponse& response) {
  Table table = Titled({"name", ">memory", ">driver", ">bw", ">BF16", ">FP16", ">FP8", ">FP32",
                        ">link", ">TDP", "product"},
                       0);
  table.AddRow({"", "GiB", "GiB", "TB/s", "", "", "", "", "GB/s", "W", ""});
  for (const v1::Accelerator& accelerator : response.accelerators()) {
    table.AddRow(AcceleratorRow(accelerator));
  }
  return absl::StrCat(
      table.Text(), "\n",
      Wrap("",
           "memory: the datasheet's nominal size, with its bandwidth; driver: what its driver "
           "reports. BF16 to FP32: dense peaks in TFLOP/s; link: one direction; TDP: power. 1 TB = "
           "1e12 bytes, "
           "1 GiB = 2^30 bytes; - is not published.",
           0));
}

std::string AcceleratorSources(const v1::ListAcceleratorsResponse& response) {
  return absl::StrJoin(response.accelerators(), "\n",
                       [](std::string* out, const v1::Accelerator& accelerator) {
                         out->append(SourcesOf(accelerator));
                       });
}

std::string NodeTypeTable(const v1::ListNodeTypesResponse& response) {
  return absl::StrCat(
      NodesTable(response), "\n", NetworksTable(response, false), "\n",
      Wrap("",
           "Rates of one device in one direction; 1 GB = 1e9 bytes. - : the host's link is not "
           "known, or whoever builds the server chooses the network. Sources: sextant nodes "
           "--sources",
           0));
}

std::string NodeTypeSources(const v1::ListNodeTypesResponse& response) {
  std::string out = absl::StrJoin(
      response.node_types(), "\n",
      [](std::string* text, const v1::NodeType& node) { text->append(SourcesOf(node)); });
  if (response.node_types_size() == 1) return out;
  return absl::StrCat(out, "\n", NetworksTable(response, true));
}

std::string DevicesText(const v1::ListDevicesResponse& response) {
  if (response.devices().empty()) {
    return "The server's host has no device that can be measured.\n";
  }
  return absl::StrJoin(response.devices(), "\n",
                       [](std::string* out, const v1::ListDevicesResponse::Entry& entry) {
                         out->append(EntryText(entry));
                       });
}

std::string HeldCalibrationText(const v1::GetCalibrationResponse& response) {
  return absl::StrCat(CalibrationText(response.calibration(), response.age_seconds()), "\n",
                      Ending(response.engine_version(), response.fingerprint()));
}

std::string ProbeResultText(const v1::RunProbeResponse::Result& result) {
  return absl::StrCat(
      CalibrationText(result.calibration(), std::nullopt), "\n", Wrap("", UseText(result), 0),
      result.storage_warning().empty() ? "" : Wrap("Warning: ", result.storage_warning(), 2),
      Ending(result.engine_version(), result.fingerprint()));
}

}  // namespace sextant::client
