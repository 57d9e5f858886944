#include "server/convert/memory_estimate.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/convert/layout_enums.h"
#include "server/convert/text.h"

namespace sextant {
namespace {

void IntervalTo(const BytesInterval& interval, v1::BytesInterval* out) {
  out->set_low(interval.low.value());
  out->set_expected(interval.expected.value());
  out->set_high(interval.high.value());
}

// "attention.query.bias"; parts that are empty are left out. Buffers of one optimizer are told by
// their terms, all else by its kind.
std::string RowName(const LedgerRow& row) {
  std::string out;
  const absl::string_view buffer = row.kind == LedgerKind::kOptimizerState ? row.term : "";
  for (const absl::string_view part : {row.module, row.name, row.role, buffer}) {
    if (!part.empty()) absl::StrAppend(&out, out.empty() ? "" : ".", part);
  }
  return out;
}

void DimensionsTo(const LedgerRow& row, v1::LedgerRow* out) {
  for (const int64_t dimension : row.dimensions) {
    if (dimension == 0) return;  // nothing but zeros behind it
    out->add_dimensions(dimension);
  }
}

void RowTo(const std::vector<std::string>& layer_kinds, const LedgerRow& row, v1::LedgerRow* out) {
  out->set_kind(LedgerKindTo(row.kind));
  if (row.part.has_value()) out->set_part(Text(ModelPartName(*row.part)));
  if (row.layer_kind >= 0) out->set_layer_kind(layer_kinds[static_cast<size_t>(row.layer_kind)]);
  out->set_layer_count(row.layers);
  if (row.chunk >= 0) out->set_chunk(row.chunk);
  out->set_name(RowName(row));
  out->set_shape(Text(row.shape));
  DimensionsTo(row, out);
  out->set_data_type(Text(row.data_type));
  out->set_element_bits(row.element_bits);
  out->set_elements(row.elements);
  out->set_scale_bytes(row.scale_bytes);
  out->set_micro_batch_count(row.micro_batches);
  out->set_size_bytes(row.size.value());
  out->set_alive(Text(row.alive));
  out->set_why(Text(row.why));
  out->set_source(Text(row.source));
}

void StageTo(int64_t number, const std::vector<std::string>& layer_kinds,
             const StageEstimate& stage, v1::StageMemory* out) {
  out->set_stage(number);
  out->set_layer_count(stage.layer_count);
  out->set_parameter_count(stage.parameter_count);
  out->set_moment(PeakMomentTo(stage.memory.moment));
  for (const int64_t count : stage.micro_batches_in_flight) {
    out->add_micro_batches_in_flight(count);
  }
  for (int i = 0; i < kLedgerKindCount; ++i) {
    const auto kind = static_cast<LedgerKind>(i);
    auto* sum = out->add_sums();
    sum->set_kind(LedgerKindTo(kind));
    sum->set_size_bytes(stage.memory.of(kind).value());
  }
  out->set_total_bytes(stage.memory.total().value());
  IntervalTo(stage.memory.allocated, out->mutable_allocated_bytes());
  IntervalTo(stage.memory.reserved, out->mutable_reserved_bytes());
  IntervalTo(stage.memory.process, out->mutable_process_bytes());
  out->set_host_bytes(stage.memory.host.value());
  for (const LedgerRow& row : stage.ledger) RowTo(layer_kinds, row, out->add_ledger());
}

void ChangeTo(FittingChange change, v1::FittingChange* out) {
  for (ChangedSetting& setting : change.settings) {
    auto* wire = out->add_settings();
    wire->set_field(std::move(setting.field));
    wire->set_from(std::move(setting.from));
    wire->set_to(std::move(setting.to));
  }
  out->set_cost(std::move(change.cost));
  IntervalTo(change.process, out->mutable_process_bytes());
}

}  // namespace

void MemoryEstimateTo(MemoryEstimate estimate, v1::MemoryEstimate* out) {
  int64_t number = 0;
  for (const StageEstimate& stage : estimate.stages) {
    StageTo(number++, estimate.layer_kinds, stage, out->add_stages());
  }
  out->set_peak_stage(estimate.peak_stage);
  const int64_t usable = estimate.usable.value();
  out->set_usable_bytes(usable);
  const BytesInterval& used = estimate.peak().process;
  out->mutable_headroom_bytes()->set_low(usable - used.high.value());
  out->mutable_headroom_bytes()->set_expected(usable - used.expected.value());
  out->mutable_headroom_bytes()->set_high(usable - used.low.value());
  out->set_data_parallel_size(estimate.data_parallel_size);
  out->set_micro_batch_count(estimate.micro_batch_count);
  for (FittingChange& change : estimate.changes) ChangeTo(std::move(change), out->add_changes());
  out->set_changes_considered(estimate.changes_considered);
  for (std::string& sentence : estimate.assumptions) out->add_assumptions(std::move(sentence));
}

}  // namespace sextant
