#include "client/link_chart.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/enum_names.h"
#include "client/format.h"

namespace sextant {
namespace {

constexpr double kGiga = 1e9;

bool IsPositive(double value) { return std::isfinite(value) && value > 0; }

KernelChartLine BandwidthLine(const v1::GetLinkTimesResponse::Exchange& exchange) {
  KernelChartLine out;
  out.name = EnumName(*v1::CollectiveOperation_descriptor(), exchange.operation());
  for (const v1::LinkTime& time : exchange.times()) {
    if (time.size_bytes() < 1 || !IsPositive(time.bus_bytes_per_second()) ||
        !IsPositive(time.expected_seconds()) || !IsPositive(time.low_seconds()) ||
        !IsPositive(time.high_seconds())) {
      continue;
    }
    const double rate = time.bus_bytes_per_second() / kGiga;
    out.points.push_back({.size = static_cast<double>(time.size_bytes()),
                          .share = rate,
                          .low = rate * time.expected_seconds() / time.high_seconds(),
                          .high = rate * time.expected_seconds() / time.low_seconds()});
  }
  const auto smaller = [](const auto& a, const auto& b) { return a.size < b.size; };
  const auto same = [](const auto& a, const auto& b) { return a.size == b.size; };
  std::sort(out.points.begin(), out.points.end(), smaller);
  out.points.erase(std::unique(out.points.begin(), out.points.end(), same), out.points.end());
  return out;
}

// The least number at or above `value` whose quarters are short.
double RoundTop(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double digits : {1.0, 1.2, 1.6, 2.0, 2.4, 3.2, 4.0, 6.0, 8.0}) {
    if (digits * power >= value) return digits * power;
  }
  return 10 * power;
}

// A byte's powers of two around all sizes, rates from 0.
void FitAxes(KernelChart& chart) {
  double low = INFINITY;
  double high = 0;
  double top = 0;
  for (const KernelChartLine& line : chart.lines) {
    low = std::min(low, line.points.front().size);
    high = std::max(high, line.points.back().size);
    for (const KernelChartPoint& point : line.points)
      top = std::max({top, point.share, point.high});
  }
  chart.size = {.low = std::log10(low) - 0.05, .high = std::log10(high) + 0.05};
  chart.top = RoundTop(top);
  chart.tick = chart.top / 4;
}

std::string SourceLine(const std::string& name, const v1::LinkTime& time) {
  return absl::StrCat(name, ": ", EnumName(*v1::RateSource_descriptor(), time.source()), ", ",
                      time.citation());
}

}  // namespace

KernelChart LinkChartOf(const v1::GetLinkTimesResponse& response) {
  KernelChart out = {.title = absl::StrCat("Bus bandwidth: ", LinkGroupName(response.nodes())),
                     .size_label = "bytes of a rank's buffer, as nccl-tests counts them",
                     .share_label = "bus bandwidth, GB/s",
                     .scale = ChartScale::kRate};
  for (const v1::GetLinkTimesResponse::Exchange& exchange : response.exchanges()) {
    KernelChartLine line = BandwidthLine(exchange);
    if (line.points.size() < 2) continue;
    line.letter = static_cast<char>('A' + out.lines.size() % 26);
    out.sources.push_back(SourceLine(line.name, exchange.times(0)));
    out.lines.push_back(std::move(line));
  }
  if (!out.lines.empty()) FitAxes(out);
  return out;
}

std::string LinkGroupName(const v1::NodeSpec& nodes) {
  const std::string ranks = absl::StrCat(Grouped(nodes.ranks_per_node()),
                                         nodes.ranks_per_node() == 1 ? " rank" : " ranks");
  if (nodes.node_count() == 1) return absl::StrCat(ranks, " of a node, ", nodes.node_type());
  return absl::StrCat(Grouped(nodes.node_count()), " nodes of ", ranks, ", ", nodes.node_type());
}

}  // namespace sextant
