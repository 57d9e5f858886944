// Adds up tensors that are alive only during one operation, and lists them on request.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_TRANSIENT_LIST_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_TRANSIENT_LIST_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/checked_math.h"
#include "engine/memory/activations/activation_list.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/memory/ledger_row.h"
#include "engine/model/sharding/layer_placement.h"

namespace sextant {

// The parts of a checked job that its transients depend on, and the placement of its layers.
struct TransientContext {
  const ActivationContext& activations;
  const LayerPlacement& placement;
  const BufferSpec& buffers;
  DataType gradient_data_type = DataType::kBf16;  // of a matrix's gradient as computed
  // True where autograd gets an empty tensor for a head gradient that was accumulated into its
  // buffer.
  bool head_placeholder = false;
  int64_t micro_batch_count = 1;        // of a step
  bool head_input_is_gathered = false;  // by a buffer that is there already
};

// One transient tensor. Views point to literals.
struct Transient {
  absl::string_view name;
  absl::string_view shape;
  CheckedInt elements = 0;
  int64_t element_bytes = 0;  // 0: of the compute type
  absl::string_view why = {};
};

// The place and lifetime of the rows that follow.
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
  // Adds `times` tensors that no forward pass kept, or that were freed: they are recomputed.
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
