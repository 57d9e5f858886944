#include "engine/memory/state/state_list.h"

#include "engine/base/checked_math.h"
#include "engine/tensor/data_type.h"

namespace sextant {
namespace {

absl::string_view RoleName(WeightRole role) {
  constexpr absl::string_view kNames[] = {"", "bias", "adapter_down", "adapter_up"};
  return kNames[static_cast<size_t>(role)];
}

std::array<int64_t, 3> DimensionsOf(const WeightTensor& tensor, const TensorShard& shard) {
  if (shard.copies > 1) return {shard.copies, shard.rows, shard.columns};
  if (tensor.is_vector()) return {shard.rows, 0, 0};
  return {shard.rows, shard.columns, 0};
}

}  // namespace

StateAmount ShareOf(const StateAmount& amount, int64_t ranks) {
  if (ranks == 1) return amount;
  return {.elements = CeilDivide(amount.elements * amount.layers, ranks),
          .scale_bytes = CeilDivide(amount.scale_bytes * amount.layers, ranks),
          .layers = 1};
}

int64_t SizeOf(const StateAmount& amount, int64_t element_bits) {
  const int64_t numbers = element_bits % 8 == 0 ? amount.elements * (element_bits / 8)
                                                : CeilDivide(amount.elements, 8 / element_bits);
  return (numbers + amount.scale_bytes) * amount.layers;
}

void StateList::AddTo(LedgerKind kind, int64_t size, bool offloaded) {
  (offloaded ? host_ : sums_[static_cast<size_t>(kind)]) += size;
}

void StateList::Add(const TermRule& rule, const StateAmount& amount, bool offloaded) {
  AddTo(rule.kind, SizeOf(amount, rule.element_bits), offloaded);
  if (has_rows()) AddRow(rule, amount, offloaded);
}

void StateList::AddSum(const TermRule& rule, int64_t numbers, bool offloaded) {
  AddTo(rule.kind, numbers * (rule.element_bits / 8), offloaded);
}

void StateList::AddRow(const TermRule& rule, const StateAmount& amount, bool offloaded) {
  const int64_t size = SizeOf(amount, rule.element_bits);
  if (offloaded || size == 0) return;
  rows_->push_back({.kind = rule.kind,
                    .part = tensor_->part,
                    .layer_kind = tensor_->layer_kind,
                    .module = tensor_->module,
                    .name = tensor_->name,
                    .role = RoleName(tensor_->role),
                    .term = rule.name,
                    .dimensions = DimensionsOf(*tensor_, *shard_),
                    .data_type = rule.data_type,
                    .element_bits = rule.element_bits,
                    .elements = amount.elements,
                    .scale_bytes = amount.scale_bytes,
                    .layers = amount.layers,
                    .size = Bytes(size),
                    .alive = "always",
                    .why = rule.why,
                    .source = rule.source});
}

void StateList::AddTransient(LedgerRow row) {
  const StateAmount amount = {
      .elements = row.elements, .scale_bytes = row.scale_bytes, .layers = row.layers};
  row.kind = LedgerKind::kTransient;
  row.size = Bytes(SizeOf(amount, row.element_bits));
  if (row.size > Bytes(0)) rows_->push_back(row);
}

}  // namespace sextant
