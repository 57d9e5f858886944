#include "client/link_times_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "client/amounts.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/kernel_chart_plot.h"
#include "client/link_chart.h"
#include "client/rates_text.h"
#include "client/table.h"

namespace sextant {
namespace {

using LinkTimeList = google::protobuf::RepeatedPtrField<v1::LinkTime>;

std::string LinkBasisText(v1::KernelBasis basis) {
  switch (basis) {
    case v1::KERNEL_BASIS_MEASURED:
      return "this size, measured";
    case v1::KERNEL_BASIS_WITHIN_GRID:
      return "measured sizes around it";
    case v1::KERNEL_BASIS_OUTSIDE_GRID:
      return "beyond measured sizes or ranks";
    case v1::KERNEL_BASIS_OTHER_PASS:
      return "another operation's times";
    case v1::KERNEL_BASIS_MEASURED_RATE:
      return "a measured rate";
    case v1::KERNEL_BASIS_DATASHEET:
      return "link's rate, published share";
    default:
      return Words(EnumName(*v1::KernelBasis_descriptor(), basis));
  }
}

std::string RateCell(bool present, double bytes_per_second) {
  return present ? Scaled(bytes_per_second, "B/s") : "-";
}

// Ends in the source of all, or where a source ends, of those above.
std::string LinkTimesTable(const LinkTimeList& times) {
  const Align right = Align::kRight;
  Table table(2, {right, right, right, right, right, right, Align::kLeft});
  table.AddRow({"size", "time", "low", "high", "algbw", "busbw", "from"});
  for (const v1::LinkTime& time : times) {
    table.AddRow({ShortBytes(time.size_bytes()), TimeText(time.expected_seconds()),
                  TimeText(time.low_seconds()), TimeText(time.high_seconds()),
                  RateCell(time.has_bytes_per_second(), time.bytes_per_second()),
                  RateCell(time.has_bus_bytes_per_second(), time.bus_bytes_per_second()),
                  LinkBasisText(time.basis())});
  }
  const std::vector<std::string> rows = table.RowTexts();
  std::string out = rows.empty() ? "" : rows[0];
  for (int i = 0; i < times.size(); ++i) {
    out += rows[static_cast<size_t>(i) + 1];
    const bool last = i + 1 == times.size();
    if (!last && times[i].citation() == times[i + 1].citation() &&
        times[i].source() == times[i + 1].source()) {
      continue;
    }
    out += Wrap("  source: ",
                absl::StrCat(EnumName(*v1::RateSource_descriptor(), times[i].source()), ", ",
                             times[i].citation()),
                4);
  }
  return out;
}

std::string LinkLine(const char* first, const std::string& name, const v1::LinkRate& rate) {
  return Wrap(first,
              absl::StrCat(name, Scaled(rate.bytes_per_second(), "B/s"), " a device, one way; ",
                           rate.citation()),
              4);
}

// Operations stand for themselves below the picture: the tables have their sources.
std::string Picture(const v1::GetLinkTimesResponse& response) {
  KernelChart chart = LinkChartOf(response);
  if (chart.lines.empty()) return "";
  for (size_t i = 0; i < chart.lines.size(); ++i) chart.sources[i] = chart.lines[i].name;
  return KernelChartPlot(chart);
}

}  // namespace

std::string LinkTimesText(const v1::GetLinkTimesResponse& response) {
  const v1::NodeType& node = response.node_type();
  std::string out =
      Wrap("Exchanges among ",
           absl::StrCat(LinkGroupName(response.nodes()), " (", node.product_name(), ")"), 2);
  out += LinkLine("  link: ", absl::StrCat(node.link_name(), ", "), node.link());
  if (response.has_network()) out += LinkLine("  network: ", "", response.network());
  out += Picture(response);
  for (const v1::GetLinkTimesResponse::Exchange& exchange : response.exchanges()) {
    absl::StrAppend(&out, "\n",
                    EnumName(*v1::CollectiveOperation_descriptor(), exchange.operation()), "\n",
                    LinkTimesTable(exchange.times()));
  }
  if (!response.host_copies().empty()) {
    absl::StrAppend(&out, "\ncopies from or to the host, a device\n",
                    LinkTimesTable(response.host_copies()));
  }
  return absl::StrCat(out, AssumptionsText(response.assumptions()));
}

}  // namespace sextant
