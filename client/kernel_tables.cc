#include "client/kernel_tables.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/table.h"
#include "client/time_cells.h"

namespace sextant {
namespace {

constexpr Align kAlignLeft = Align::kLeft;
constexpr Align kAlignRight = Align::kRight;

std::string WordOr(const std::string& name) { return name.empty() ? kNoValue : name; }

// "32/8": heads of queries, and of keys and values where those are fewer.
std::string PairText(int64_t first, int64_t second) {
  return first == second ? absl::StrCat(first) : absl::StrCat(first, "/", second);
}

std::string MaskText(const v1::AttentionMeasurement& attention) {
  const std::string mask = attention.causal() ? "causal" : "none";
  return attention.window() > 0 ? absl::StrCat(mask, " ", attention.window()) : mask;
}

std::string SizeCell(int64_t bytes) { return WithUnit(static_cast<double>(bytes), "byte"); }

std::string Titled(absl::string_view title, const Table& table, absl::string_view legend) {
  return absl::StrCat("\n", title, "\n", table.Text(),
                      legend.empty() ? "" : Wrap("  ", std::string(legend), 2));
}

}  // namespace

std::string AttentionSection(const v1::Calibration& calibration) {
  if (calibration.attentions().empty()) return "";
  Table table(2, Joined({kAlignLeft, kAlignLeft, kAlignLeft, kAlignLeft, kAlignLeft, kAlignLeft,
                         kAlignRight},
                        TimeAligns()));
  table.AddRow(
      Joined({"type", "pass", "batch x tokens", "heads", "size", "mask", "rate"}, TimeHeadings()));
  for (const v1::AttentionMeasurement& m : calibration.attentions()) {
    table.AddRow(
        Joined({WordOr(DataTypeName(m.data_type())),
                WordOr(EnumName(*v1::AttentionMeasurement::Pass_descriptor(), m.pass())),
                absl::StrCat(m.batch(), " x ", m.sequence_length()),
                PairText(m.heads(), m.kv_heads()), PairText(m.head_size(), m.value_head_size()),
                MaskText(m), Scaled(m.flops_per_second(), "FLOP/s")},
               TimeCells(m.has_time(), m.time())));
  }
  return Titled("Attention (one kernel)", table,
                "heads: of queries/of keys and values; size: of a query's head/of a value's; mask: "
                "with its window, in tokens");
}

std::string ExpertsSection(const v1::Calibration& calibration) {
  if (calibration.experts().empty()) return "";
  Table table(2, Joined({kAlignLeft, kAlignRight, kAlignLeft, kAlignLeft, kAlignRight, kAlignRight},
                        TimeAligns()));
  table.AddRow(Joined({"type", "tokens", "h x f", "experts", "devices", "rate"}, TimeHeadings()));
  for (const v1::ExpertsMeasurement& m : calibration.experts()) {
    table.AddRow(Joined(
        {WordOr(DataTypeName(m.data_type())), Grouped(m.tokens()),
         absl::StrCat(m.hidden_size(), " x ", m.feed_forward_size(), m.gated() ? " gated" : ""),
         absl::StrCat(m.experts_per_token(), " of ", m.expert_count()),
         Grouped(m.expert_parallel_size()), Scaled(m.flops_per_second(), "FLOP/s")},
        TimeCells(m.has_time(), m.time())));
  }
  return Titled("Layers of experts (the products on one device)", table,
                "tokens: of all devices that share the experts; h x f: widths of a token and of an "
                "expert");
}

std::string CollectiveSection(const v1::Calibration& calibration) {
  if (calibration.collectives().empty()) return "";
  Table table(2, Joined({kAlignLeft, kAlignRight, kAlignRight, kAlignRight}, TimeAligns()));
  table.AddRow(Joined({"collective", "devices", "size", "bus rate"}, TimeHeadings()));
  for (const v1::CollectiveMeasurement& m : calibration.collectives()) {
    table.AddRow(Joined({WordOr(EnumName(*v1::CollectiveOperation_descriptor(), m.operation())),
                         Grouped(m.rank_count()), SizeCell(m.size_bytes()),
                         Scaled(m.bus_bytes_per_second(), "B/s")},
                        TimeCells(m.has_time(), m.time())));
  }
  return Titled("Collectives (devices of one host)", table,
                "bus rate: nccl-tests' busbw, to compare with the link's");
}

std::string HostCopySection(const v1::Calibration& calibration) {
  if (calibration.host_copies().empty()) return "";
  Table table(2, Joined({kAlignLeft, kAlignLeft, kAlignRight, kAlignRight}, TimeAligns()));
  table.AddRow(Joined({"copy", "host memory", "size", "rate"}, TimeHeadings()));
  for (const v1::HostCopyMeasurement& m : calibration.host_copies()) {
    table.AddRow(
        Joined({WordOr(EnumName(*v1::HostCopyMeasurement::Direction_descriptor(), m.direction())),
                m.pageable() ? "pageable" : "pinned", SizeCell(m.size_bytes()),
                Scaled(m.bytes_per_second(), "B/s")},
               TimeCells(m.has_time(), m.time())));
  }
  return Titled("Copies to and from the host", table, "");
}

}  // namespace sextant
