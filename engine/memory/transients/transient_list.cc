#include "engine/memory/transients/transient_list.h"

#include "engine/memory/activations/activation_tensor.h"

namespace sextant {
namespace {

constexpr char kChainRule[] = "the chain rule: docs/memory_transients.md";

DataType FloatOf(int64_t bytes, const MicroBatchSpec& batch) {
  if (bytes == ComputeBytesOf(batch)) return batch.compute_data_type;
  return bytes == 4 ? DataType::kFp32 : DataType::kBf16;
}

}  // namespace

void TransientList::Add(const Transient& transient) {
  const int64_t bytes =
      transient.element_bytes == 0 ? ComputeBytesOf(batch_) : transient.element_bytes;
  const CheckedInt size = transient.elements * bytes;
  total_ = total_ + size;
  if (rows_ == nullptr || size.value() == 0) return;
  rows_->push_back({.kind = LedgerKind::kTransient,
                    .part = place_.part,
                    .layer_kind = place_.layer_kind,
                    .module = place_.module,
                    .name = transient.name,
                    .shape = transient.shape,
                    .data_type = FloatOf(bytes, batch_),
                    .element_bits = bytes * kBitsPerByte,
                    .elements = transient.elements.value(),
                    .size = Bytes(size.value()),
                    .alive = place_.alive,
                    .why = transient.why,
                    .source = kChainRule});
}

void TransientList::AddAgain(const ActivationTensor& tensor, int64_t times) {
  const CheckedInt size = CheckedInt(tensor.size.value()) * times;
  total_ = total_ + size;
  if (rows_ == nullptr || size.value() == 0) return;
  LedgerRow& row = rows_->emplace_back(LedgerRowOf(LedgerKind::kTransient, tensor));
  row.layers = times;
  row.size = Bytes(size.value());
  row.alive = place_.alive;
  row.why = "computed again instead of being kept";
}

}  // namespace sextant
