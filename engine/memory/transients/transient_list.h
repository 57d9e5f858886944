// Adds up tensors that are there only while one thing runs, and lists them where asked to.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_TRANSIENT_LIST_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_TRANSIENT_LIST_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/checked_math.h"
#include "engine/memory/activations/activation_list.h"
#include "engine/memory/ledger/job_spec.h"
#include "engine/memory/ledger_row.h"
#include "engine/model/sharding/layer_placement.h"

namespace sextant {

// A checked job as far as its transients depend on it, and where its layers stand.
struct TransientContext {
  const ActivationContext& activations;
  const LayerPlacement& placement;
  const BufferSpec& buffers;
  DataType gradient_data_type = DataType::kBf16;  // of a matrix's gradient as it is worked out
  // Autograd is given an empty tensor for a gradient of the head that went into its buffer.
  bool head_placeholder = false;
};

// One of them. Views are of literals.
struct Transient {
  absl::string_view name;
  absl::string_view shape;
  CheckedInt elements = 0;
  int64_t element_bytes = 0;  // 0: of numbers that are computed with
  absl::string_view why = {};
};

// Where and when rows are from here on.
struct TransientPlace {
  ModelPart part = ModelPart::kDecoder;
  int layer_kind = -1;
  absl::string_view module = {};
  absl::string_view alive = {};
};

class TransientList {
 public:
  explicit TransientList(const TransientContext& context, LedgerRows* rows = nullptr)
      : batch_(context.activations.batch), rows_(rows) {}

  void GoTo(const TransientPlace& place) { place_ = place; }
  void Add(const Transient& transient);
  // `times` tensors that were kept by no forward pass, or were freed: they are computed again.
  void AddAgain(const ActivationTensor& tensor, int64_t times);

  CheckedInt total() const { return total_; }

 private:
  const MicroBatchSpec& batch_;
  LedgerRows* const rows_;
  TransientPlace place_ = {};
  CheckedInt total_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_TRANSIENTS_TRANSIENT_LIST_H_
