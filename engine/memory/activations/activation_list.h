// Adds up the activations of one place of a model after another, and lists them where asked to.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_LIST_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_LIST_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/checked_math.h"
#include "engine/memory/activations/activation_tensor.h"
#include "engine/memory/activations/micro_batch.h"

namespace sextant {

// A micro-batch of a model under a layout, all checked (CheckMicroBatch()).
struct ActivationContext {
  const ArchitectureSpec& spec;
  const ParallelLayout& layout;
  const MicroBatchSpec& batch;
};

// Tokens of a sequence of `part`'s stack, on all GPUs together.
int64_t SequenceLengthOf(const ActivationContext& context, ModelPart part);

// Tokens of the micro-batch on one GPU that shares them with those of context parallelism alone.
int64_t TokensOf(const ActivationContext& context, ModelPart part);

enum class ElementKind {
  kCompute,      // of the batch's compute_data_type
  kMatmulInput,  // of its matmul_input_data_type
  kFp32,
  kMask,   // a byte: whether dropout kept it
  kIndex,  // int64
};

// A tensor of `width` elements a row on this GPU; `cut` says how many rows there are.
struct ActivationRow {
  absl::string_view name;
  absl::string_view shape;
  ElementKind kind = ElementKind::kCompute;
  ActivationCut cut = ActivationCut::kSequence;
  CheckedInt width = 0;
  absl::string_view kept_for;
  absl::string_view source;
};

struct ActivationPlace {
  ModelPart part = ModelPart::kDecoder;
  int layer_kind = -1;
  int64_t layers = 1;
};

class ActivationList {
 public:
  // Rows are appended to `rows`; null: sums alone, and nothing is allocated.
  explicit ActivationList(const ActivationContext& context, ActivationTensors* rows = nullptr)
      : context_(context), rows_(rows) {}

  const ActivationContext& context() const { return context_; }
  const MicroBatchSpec& batch() const { return context_.batch; }
  int64_t tensor_ranks() const { return context_.layout.tensor_parallel_size; }
  int64_t sequence_length() const { return SequenceLengthOf(context_, place_.part); }
  // Whether what is kept only to multiply weights with is a copy of its own.
  bool narrows_matmul_inputs() const;

  // Rows added from here on are of `place`, and of `module`.
  void GoTo(const ActivationPlace& place);
  void Enter(absl::string_view module) { module_ = module; }
  // Routed token slots a sequence of the experts on this GPU.
  void SetExpertSlots(CheckedInt slots_per_sequence);

  void Add(const ActivationRow& row);
  // A tensor that doesn't grow with the tokens of the stack: `row.width` elements in all.
  void AddWhole(const ActivationRow& row) { AddElements(row, row.width); }

  CheckedInt total() const { return total_; }

 private:
  void AddElements(const ActivationRow& row, CheckedInt elements);
  DataType TypeOf(ElementKind kind) const;

  const ActivationContext& context_;
  ActivationTensors* const rows_;
  ActivationPlace place_ = {};
  absl::string_view module_;
  int64_t tokens_ = 0;
  int64_t sequence_tokens_ = 0;
  CheckedInt expert_slots_ = 0;
  CheckedInt total_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_LIST_H_
