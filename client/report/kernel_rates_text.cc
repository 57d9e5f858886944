#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/plot/charts.h"
#include "client/report/hardware_text.h"
#include "client/report/lines.h"
#include "client/report/rates_text.h"
#include "client/text/amounts.h"
#include "client/text/sources.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

std::string CurveTable(const v1::KernelCurve& curve) {
  Table table = Titled({">size", ">time", ">low", ">high", ">rate", ">of peak", "from"});
  for (const v1::KernelCurvePoint& point : curve.points()) {
    const v1::Interval& duration = point.duration_seconds();
    table.AddRow({Grouped(point.size()), TimeText(duration.expected()), TimeText(duration.low()),
                  TimeText(duration.high()), Scaled(point.flops_per_second(), "FLOP/s"),
                  point.has_datasheet_mfu() ? Percent(point.datasheet_mfu()) : "-",
                  KernelBasisText(point.basis())});
  }
  return table.Text();
}

std::string CurveSection(const v1::KernelCurve& curve, const SourceList& sources) {
  const std::string error = PredictionErrorText(curve.error());
  const std::string source = SourceText(curve.source(), sources, curve.source_number());
  return absl::StrCat(
      "\n",
      Wrap("",
           absl::StrCat(KernelKindName(curve.kind()), ", ", EnumName(curve.data_type()), ": ",
                        KernelSizeName(curve.kind())),
           2),
      CurveTable(curve), Wrap("  source: ", source, 4),
      Wrap("  form: ",
           absl::StrCat(Words(EnumName(curve.form())), error.empty() ? "" : "; ", error), 4));
}

using LinkTimeList = google::protobuf::RepeatedPtrField<v1::LinkTime>;

std::string LinkBasisText(v1::KernelBasis basis) {
  static constexpr Worded<v1::KernelBasis> kWords[] = {
      {v1::KERNEL_BASIS_MEASURED, "this size, measured"},
      {v1::KERNEL_BASIS_WITHIN_GRID, "measured sizes around it"},
      {v1::KERNEL_BASIS_OUTSIDE_GRID, "beyond measured sizes or ranks"},
      {v1::KERNEL_BASIS_OTHER_PASS, "another operation's times"},
      {v1::KERNEL_BASIS_MEASURED_RATE, "a measured rate"},
      {v1::KERNEL_BASIS_DATASHEET, "link's rate, published share"}};
  return WordsOf(kWords, basis);
}

std::string RateCell(bool present, double bytes_per_second) {
  return present ? Scaled(bytes_per_second, "B/s") : "-";
}

// Each run of rows of one source is followed by that source.
std::string LinkTimesTable(const LinkTimeList& times, const SourceList& sources) {
  Table table = Titled({">size", ">time", ">low", ">high", ">algbw", ">busbw", "from"});
  for (const v1::LinkTime& time : times) {
    const v1::Interval& duration = time.duration_seconds();
    table.AddRow({ShortBytes(time.size_bytes()), TimeText(duration.expected()),
                  TimeText(duration.low()), TimeText(duration.high()),
                  RateCell(time.has_bytes_per_second(), time.bytes_per_second()),
                  RateCell(time.has_bus_bytes_per_second(), time.bus_bytes_per_second()),
                  LinkBasisText(time.basis())});
  }
  const std::vector<std::string> rows = table.RowTexts();
  std::string out = rows.empty() ? "" : rows[0];
  for (int i = 0; i < times.size(); ++i) {
    out += rows[static_cast<size_t>(i) + 1];
    const bool last = i + 1 == times.size();
    if (!last && times[i].source_number() == times[i + 1].source_number() &&
        times[i].source() == times[i + 1].source()) {
      continue;
    }
    out += Wrap("  source: ", SourceText(times[i].source(), sources, times[i].source_number()), 4);
  }
  return out;
}

std::string LinkLine(const char* first, const std::string& name, const v1::LinkRate& rate) {
  return Wrap(first,
              absl::StrCat(name, Scaled(rate.bytes_per_second(), "B/s"), " a device, one way; ",
                           rate.citation()),
              4);
}

}  // namespace

std::string PredictionErrorText(const v1::PredictionError& error) {
  if (error.shape_count() == 0) return "";
  return absl::StrFormat(
      "%s measured shapes, each unseen: %s off in the median, %s at the 90th percentile",
      Grouped(error.shape_count()), Percent(error.median_absolute_error_ratio()),
      Percent(error.p90_absolute_error_ratio()));
}

std::string KernelBasisText(v1::KernelBasis basis) {
  static constexpr Worded<v1::KernelBasis> kWords[] = {
      {v1::KERNEL_BASIS_MEASURED, "this shape, measured"},
      {v1::KERNEL_BASIS_WITHIN_GRID, "measured shapes around it"},
      {v1::KERNEL_BASIS_OUTSIDE_GRID, "beyond measured shapes"},
      {v1::KERNEL_BASIS_OTHER_PASS, "the forward pass"},
      {v1::KERNEL_BASIS_OTHER_TYPE, "another data type"},
      {v1::KERNEL_BASIS_MEASURED_RATE, "best measured rates"},
      {v1::KERNEL_BASIS_DATASHEET, "datasheet, published share"}};
  return WordsOf(kWords, basis);
}

std::string KernelRatesText(const v1::GetKernelRatesResponse& response, FieldWords words) {
  std::string out = Wrap("", absl::StrCat("Kernels of ", response.device()), 2);
  for (const Plot& plot : KernelPlots(response)) out += TextSection(plot);
  for (const v1::KernelCurve& curve : response.curves()) {
    out += CurveSection(curve, response.sources());
  }
  return absl::StrCat(out, NotesText("Warnings", response.warnings(), words),
                      NotesText("Assumptions", response.assumptions(), words));
}

std::string LinkTimesText(const v1::GetLinkTimesResponse& response, FieldWords words) {
  const v1::NodeType& node = response.node_type();
  std::string out =
      Wrap("Exchanges among ",
           absl::StrCat(LinkGroupName(response.nodes()), " (", node.product_name(), ")"), 2);
  out += LinkLine("  link: ", absl::StrCat(node.link_name(), ", "), node.link());
  if (response.has_network()) out += LinkLine("  network: ", "", response.network());
  if (const Plot plot = LinkPlot(response); !plot.lines.empty()) out += TextSection(plot);
  for (const v1::GetLinkTimesResponse::Exchange& exchange : response.exchanges()) {
    absl::StrAppend(&out, "\n", EnumName(exchange.operation()), "\n",
                    LinkTimesTable(exchange.times(), response.sources()));
  }
  if (!response.host_copies().empty()) {
    absl::StrAppend(&out, "\ncopies from or to the host, a device\n",
                    LinkTimesTable(response.host_copies(), response.sources()));
  }
  return absl::StrCat(out, NotesText("Warnings", response.warnings(), words),
                      NotesText("Assumptions", response.assumptions(), words));
}

}  // namespace sextant::client
