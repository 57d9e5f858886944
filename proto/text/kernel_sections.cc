#include "proto/text/kernel_sections.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/text/enum_names.h"
#include "proto/text/format.h"
#include "proto/text/table.h"
#include "proto/text/timed_table.h"

namespace sextant::text {
namespace {

std::string WordOr(const std::string& name) { return name.empty() ? kNoValue : name; }

std::string SizeText(int64_t bytes) { return WithUnit(static_cast<double>(bytes), "byte"); }

std::string Titled(absl::string_view title, const TimedTable& table, absl::string_view legend) {
  return absl::StrCat("\n", title, "\n", table.Text(), legend.empty() ? "" : Wrap("  ", legend, 2));
}

// The limit of a step of the ladder, memory or arithmetic, where the ridge is known.
std::string BoundCell(const v1::Calibration& calibration,
                      const v1::ElementwiseMeasurement& measured) {
  if (!calibration.has_ridge_flops_per_byte()) return kNoValue;
  return measured.flops_per_byte() < calibration.ridge_flops_per_byte() ? "memory" : "arithmetic";
}

// "32/8": heads of queries, and of keys and values where there are fewer.
std::string PairText(int64_t first, int64_t second) {
  return first == second ? absl::StrCat(first) : absl::StrCat(first, "/", second);
}

std::string MaskText(const v1::AttentionMeasurement& attention) {
  const std::string mask = attention.causal() ? "causal" : "none";
  return attention.window() > 0 ? absl::StrCat(mask, " ", attention.window()) : mask;
}

}  // namespace

std::string StreamSection(const v1::Calibration& calibration) {
  if (calibration.streams().empty()) return "";
  TimedTable table({"pass", "in", ">array", ">rate"});
  for (const v1::StreamMeasurement& m : calibration.streams()) {
    table.AddRow({EnumName(m.operation()), m.main_memory() ? "memory" : "cache",
                  SizeText(m.array_bytes()), Scaled(m.bytes_per_second(), "B/s")},
                 m);
  }
  return Titled("Memory (bytes read plus bytes written)", table, "");
}

std::string ElementwiseSection(const v1::Calibration& calibration) {
  if (calibration.elementwise().empty()) return "";
  TimedTable table({">multiply-adds", ">FLOP/byte", ">rate", ">bandwidth", "bound by"});
  for (const v1::ElementwiseMeasurement& m : calibration.elementwise()) {
    table.AddRow({Grouped(m.multiply_add_count()), Plain(m.flops_per_byte()),
                  Scaled(m.flops_per_second(), "FLOP/s"), Scaled(m.bytes_per_second(), "B/s"),
                  BoundCell(calibration, m)},
                 m);
  }
  const std::string ridge =
      calibration.has_ridge_flops_per_byte()
          ? absl::StrFormat("ridge: %.2f FLOP a byte; below it memory binds, above it arithmetic",
                            calibration.ridge_flops_per_byte())
          : "";
  return Titled("Elementwise (multiply-adds an fp32 element, in place)", table, ridge);
}

std::string FusionSection(const v1::Calibration& calibration) {
  if (!calibration.has_fusion()) return "";
  const v1::FusionMeasurement& fusion = calibration.fusion();
  TimedTable table({"chain"});
  table.AddRow({"one pass an operation"}, fusion.has_unfused_time(), fusion.unfused_time());
  table.AddRow({"one pass for all"}, fusion.has_fused_time(), fusion.fused_time());
  return Titled(
      "Fusion", table,
      absl::StrFormat("%d operations over %s, fused: %.2f times as fast", fusion.operation_count(),
                      SizeText(fusion.array_bytes()), fusion.speedup_ratio()));
}

std::string AttentionSection(const v1::Calibration& calibration) {
  if (calibration.attentions().empty()) return "";
  TimedTable table({"type", "pass", "batch x tokens", "heads", "size", "mask", ">rate"});
  for (const v1::AttentionMeasurement& m : calibration.attentions()) {
    table.AddRow({WordOr(EnumName(m.data_type())), WordOr(EnumName(m.training_pass())),
                  absl::StrCat(m.batch(), " x ", m.sequence_length()),
                  PairText(m.heads(), m.kv_heads()), PairText(m.head_size(), m.value_head_size()),
                  MaskText(m), Scaled(m.flops_per_second(), "FLOP/s")},
                 m);
  }
  return Titled("Attention (one kernel)", table,
                "heads: of queries/of keys and values; size: of a query's head/of a value's; mask: "
                "with its window, in tokens");
}

std::string ExpertsSection(const v1::Calibration& calibration) {
  if (calibration.experts().empty()) return "";
  TimedTable table({"type", ">tokens", "h x f", "experts", ">devices", ">rate"});
  for (const v1::ExpertsMeasurement& m : calibration.experts()) {
    table.AddRow(
        {WordOr(EnumName(m.data_type())), Grouped(m.tokens()),
         absl::StrCat(m.hidden_size(), " x ", m.feed_forward_size(), m.gated() ? " gated" : ""),
         absl::StrCat(m.experts_per_token(), " of ", m.expert_count()),
         Grouped(m.expert_parallel_size()), Scaled(m.flops_per_second(), "FLOP/s")},
        m);
  }
  return Titled("Layers of experts (the products on one device)", table,
                "tokens: of all devices that share the experts; h x f: widths of a token and of an "
                "expert");
}

std::string CollectiveSection(const v1::Calibration& calibration) {
  if (calibration.collectives().empty()) return "";
  TimedTable table({"collective", ">devices", ">size", ">bus rate"});
  for (const v1::CollectiveMeasurement& m : calibration.collectives()) {
    table.AddRow({WordOr(EnumName(m.operation())), Grouped(m.rank_count()),
                  SizeText(m.size_bytes()), Scaled(m.bus_bytes_per_second(), "B/s")},
                 m);
  }
  return Titled("Collectives (devices of one host)", table,
                "bus rate: nccl-tests' busbw, to compare with the link's");
}

std::string HostCopySection(const v1::Calibration& calibration) {
  if (calibration.host_copies().empty()) return "";
  TimedTable table({"copy", "host memory", ">size", ">rate"});
  for (const v1::HostCopyMeasurement& m : calibration.host_copies()) {
    table.AddRow({WordOr(EnumName(m.direction())), m.pageable() ? "pageable" : "pinned",
                  SizeText(m.size_bytes()), Scaled(m.bytes_per_second(), "B/s")},
                 m);
  }
  return Titled("Copies to and from the host", table, "");
}

std::string LaunchSection(const v1::Calibration& calibration) {
  if (calibration.launches().empty()) return "";
  TimedTable table({"started by"});
  for (const v1::LaunchMeasurement& m : calibration.launches()) {
    table.AddRow({WordOr(EnumName(m.kind()))}, m);
  }
  return Titled("Kernels that do nothing (stream: a call each; graph: recorded once)", table, "");
}

}  // namespace sextant::text
