#include "gpu_probe/kernel_tables.h"

#include "absl/strings/str_cat.h"
#include "gpu_probe/enum_text.h"
#include "gpu_probe/figure_text.h"
#include "gpu_probe/measurement_cells.h"
#include "gpu_probe/text_table.h"

namespace sextant {
namespace {

// "32/8": of queries, and of keys and values where they differ.
std::string PairText(int64_t first, int64_t second) {
  return first == second ? absl::StrCat(first) : absl::StrCat(first, "/", second);
}

std::string MaskText(const v1::AttentionMeasurement& attention) {
  const std::string mask = attention.causal() ? "causal" : "none";
  return attention.window() > 0 ? absl::StrCat(mask, " ", attention.window()) : mask;
}

std::string AttentionTable(const v1::Calibration& calibration) {
  TextTable table({"type", "pass", ">batch", ">tokens", "heads", "size", "mask", ">rate", ">time",
                   ">spread", ">samples", ""});
  for (const v1::AttentionMeasurement& m : calibration.attentions()) {
    table.AddRow({EnumText(m.data_type()), EnumText(m.pass()), absl::StrCat(m.batch()),
                  absl::StrCat(m.sequence_length()), PairText(m.heads(), m.kv_heads()),
                  PairText(m.head_size(), m.value_head_size()), MaskText(m),
                  RateText(m.flops_per_second(), "FLOP/s"), SecondsText(m.time().median_seconds()),
                  SpreadText(m.time()), absl::StrCat(m.time().sample_count()),
                  StableText(m.time())});
  }
  return Section("Attention in one kernel: heads and head size of queries/values, mask and window",
                 table);
}

std::string ExpertsTable(const v1::Calibration& calibration) {
  TextTable table({"type", ">tokens", ">hidden", ">expert", "experts", ">devices", ">rate", ">time",
                   ">spread", ">samples", ""});
  for (const v1::ExpertsMeasurement& m : calibration.experts()) {
    table.AddRow(
        {EnumText(m.data_type()), absl::StrCat(m.tokens()), absl::StrCat(m.hidden_size()),
         absl::StrCat(m.feed_forward_size()),
         absl::StrCat(m.experts_per_token(), " of ", m.expert_count(), m.gated() ? " gated" : ""),
         absl::StrCat(m.expert_parallel_size()), RateText(m.flops_per_second(), "FLOP/s"),
         SecondsText(m.time().median_seconds()), SpreadText(m.time()),
         absl::StrCat(m.time().sample_count()), StableText(m.time())});
  }
  return Section("Layers of experts: one device's products, of the tokens of all its group", table);
}

std::string CollectiveTable(const v1::Calibration& calibration) {
  TextTable table(
      {"collective", ">devices", ">size", ">bus rate", ">time", ">spread", ">samples", ""});
  for (const v1::CollectiveMeasurement& m : calibration.collectives()) {
    table.AddRow({EnumText(m.operation()), absl::StrCat(m.rank_count()), BytesText(m.size_bytes()),
                  RateText(m.bus_bytes_per_second(), "B/s"), SecondsText(m.time().median_seconds()),
                  SpreadText(m.time()), absl::StrCat(m.time().sample_count()),
                  StableText(m.time())});
  }
  return Section("Collectives among this host's devices", table);
}

std::string HostCopyTable(const v1::Calibration& calibration) {
  TextTable table({"copy", "host memory", ">size", ">rate", ">time", ">spread", ">samples", ""});
  for (const v1::HostCopyMeasurement& m : calibration.host_copies()) {
    table.AddRow({EnumText(m.direction()), m.pageable() ? "pageable" : "pinned",
                  BytesText(m.size_bytes()), RateText(m.bytes_per_second(), "B/s"),
                  SecondsText(m.time().median_seconds()), SpreadText(m.time()),
                  absl::StrCat(m.time().sample_count()), StableText(m.time())});
  }
  return Section("Copies between host and device", table);
}

}  // namespace

std::string KernelTables(const v1::Calibration& calibration) {
  return absl::StrCat(AttentionTable(calibration), ExpertsTable(calibration),
                      CollectiveTable(calibration), HostCopyTable(calibration));
}

}  // namespace sextant
