#include "engine/memory/state/state_list.h"

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
  const CheckedInt scales = CheckedInt(amount.scale_bytes) * amount.layers;
  return {.elements = CeilDivide(amount.elements * amount.layers, ranks),
          .scale_bytes = scales.ok() ? CeilDivide(scales.value(), ranks) : INT64_MAX,
          .layers = 1};
}

CheckedInt SizeOf(const StateAmount& amount, int64_t element_bits) {
  const CheckedInt numbers = element_bits % 8 == 0
                                 ? CheckedInt(amount.elements) * (element_bits / 8)
                                 : CheckedInt(CeilDivide(amount.elements, 8 / element_bits));
  return (numbers + amount.scale_bytes) * amount.layers;
}

void StateList::Add(const TermRule& rule, const StateAmount& amount) {
  const CheckedInt size = SizeOf(amount, rule.element_bits);
  CheckedInt& sum = sums_[static_cast<size_t>(rule.kind)];
  sum = sum + size;
  if (rows_ != nullptr && size.value() > 0) AddRow(rule, amount, size.value());
}

void StateList::AddRow(const TermRule& rule, const StateAmount& amount, int64_t size) {
  rows_->push_back({.kind = rule.kind,
                    .part = tensor_->part,
                    .layer_kind = tensor_->layer_kind,
                    .module = tensor_->module,
                    .name = tensor_->name,
                    .role = RoleName(tensor_->role),
                    .term = rule.name,
                    .dimensions = DimensionsOf(*tensor_, *shard_),
                    .data_type = DataTypeName(rule.data_type),
                    .element_bits = rule.element_bits,
                    .elements = amount.elements,
                    .scale_bytes = amount.scale_bytes,
                    .layers = amount.layers,
                    .size = Bytes(size),
                    .alive = "always",
                    .why = rule.why,
                    .source = rule.source});
}

CheckedInt StateList::AddTransient(LedgerRow row) {
  const CheckedInt size =
      SizeOf({.elements = row.elements, .scale_bytes = row.scale_bytes, .layers = row.layers},
             row.element_bits);
  if (rows_ != nullptr && size.value() > 0) {
    row.kind = LedgerKind::kTransient;
    row.size = Bytes(size.value());
    rows_->push_back(row);
  }
  return size;
}

}  // namespace sextant
