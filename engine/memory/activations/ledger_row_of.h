// A tensor of a micro-batch as a row of a ledger.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LEDGER_ROW_OF_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LEDGER_ROW_OF_H_

#include "engine/base/units.h"
#include "engine/memory/activations/activation_tensor.h"
#include "engine/memory/ledger_row.h"

namespace sextant {

// What the tensor says of itself; how often it is there, when and why is the caller's to say.
inline LedgerRow LedgerRowOf(LedgerKind kind, const ActivationTensor& tensor) {
  LedgerRow out;
  out.kind = kind;
  out.part = tensor.part;
  out.layer_kind = tensor.layer_kind;
  out.module = tensor.module;
  out.name = tensor.name;
  out.shape = tensor.shape;
  out.data_type = tensor.data_type;
  out.element_bits = tensor.element_bytes * kBitsPerByte;
  out.elements = tensor.elements;
  out.source = tensor.source;
  return out;
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_LEDGER_ROW_OF_H_
