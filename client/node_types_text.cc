#include "client/node_types_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/format.h"
#include "client/table.h"

namespace sextant {
namespace {

constexpr double kGigabyte = 1e9;

std::string GigabytesCell(bool present, const v1::LinkRate& rate) {
  return present ? absl::StrFormat("%.1f", rate.bytes_per_second() / kGigabyte) : "-";
}

std::string NodesTable(const v1::ListNodeTypesResponse& response) {
  const Align right = Align::kRight;
  Table table(0, {Align::kLeft, right, right, right, right, Align::kLeft, Align::kLeft});
  table.AddRow({"name", "devices", "link", "host", "network", "switch", "accelerators"});
  table.AddRow({"", "", "GB/s", "GB/s", "GB/s", "adds up", ""});
  for (const v1::NodeType& node : response.node_types()) {
    table.AddRow({node.name(), Grouped(node.device_count()),
                  GigabytesCell(node.has_link(), node.link()),
                  GigabytesCell(node.has_host(), node.host()),
                  GigabytesCell(node.has_network(), node.network()),
                  node.switch_reduces() ? "yes" : "no", absl::StrJoin(node.accelerators(), ", ")});
  }
  return table.Text();
}

std::string NetworksTable(const v1::ListNodeTypesResponse& response, bool sources) {
  Table table(0, {Align::kLeft, Align::kRight, Align::kLeft, Align::kLeft});
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
  Table table(2, {Align::kLeft, Align::kRight, Align::kLeft});
  table.AddRow({"devices", Grouped(node.device_count()), node.device_count_citation()});
  AddRate("link", node.has_link(), node.link(), &table);
  AddRate("host", node.has_host(), node.host(), &table);
  AddRate("network", node.has_network(), node.network(), &table);
  return absl::StrCat(Wrap(absl::StrCat(node.name(), ": "), about, 4), table.Text(),
                      node.notes().empty() ? "" : Wrap("  note: ", node.notes(), 8));
}

}  // namespace

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

}  // namespace sextant
