// Adds up the activations of a model, place by place, and lists them on request.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_LIST_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_LIST_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/checked_math.h"
#include "engine/memory/activations/activation_tensor.h"
#include "engine/model/flops/saved_products.h"
#include "engine/model/trace/gradient_flow.h"
#include "engine/model/trace/micro_batch.h"

namespace sextant {

// A micro-batch of a model under a layout, all checked (CheckMicroBatch()).
struct ActivationContext {
  const ArchitectureSpec& spec;
  const ParallelLayout& layout;
  const MicroBatchSpec& batch;
  // The gradients that are needed where parts are frozen; null: all parts are trained.
  const GradientFlow* flow = nullptr;

  int64_t tensor_ranks() const { return layout.tensor_parallel_size; }
};

// Tokens of a sequence of `part`'s stack, on all GPUs together.
int64_t SequenceLengthOf(const ActivationContext& context, ModelPart part);

// Tokens of the micro-batch on one GPU when only context parallelism divides them.
int64_t TokensOf(const ActivationContext& context, ModelPart part);

// Bytes per element of the compute type. TF32 is a mode of the matrix units over fp32 data.
int64_t ComputeBytesOf(const MicroBatchSpec& batch);

// True where a norm of this kind keeps an fp32 copy of an input that is narrower.
bool CopiesNormInput(NormVariant variant, const MicroBatchSpec& batch);

// True where the softmax of unfused attention is kept in fp32, and cast to fewer bits.
bool WidensSoftmax(const MicroBatchSpec& batch);

enum class ElementKind {
  kCompute,      // of the batch's compute_data_type
  kMatmulInput,  // of its matmul_input_data_type
  kFp32,
  kMask,   // one byte per element: the dropout mask
  kIndex,  // int64
};
inline constexpr size_t kElementKindCount = 5;

// A tensor with `width` elements per row on this GPU; `cut` determines the number of rows.
struct ActivationRow {
  absl::string_view name = {};
  absl::string_view shape = {};
  ElementKind kind = ElementKind::kCompute;
  ActivationCut cut = ActivationCut::kSequence;
  CheckedInt width = 0;
  BackwardStep step = BackwardStep::kAfterNorm;  // of a layer's branch: the last step to read it
  bool again = false;                            // recomputed instead of kept
  bool saved = false;                            // by recomputation by operator, too
  bool for_weights = false;                      // an operand of a weight gradient
  bool of_core = false;                          // attention's core makes it
  absl::string_view kept_for = {};
  absl::string_view source = {};
};

// A layer's bytes by the step of its backward pass that frees them. Valid only where `all` is
// ok(): then no partial sum overflows.
struct LayerSteps {
  BytesByPosition kept = {};
  BytesByPosition again = {};
  CheckedInt all = 0;
  bool any_again = false;
  ActivationTensors* again_rows = nullptr;  // receives the recomputed rows
};

struct ActivationPlace {
  ModelPart part = ModelPart::kDecoder;
  int layer_kind = -1;
  int64_t layers = 1;
  const LayerGradients* gradients = nullptr;  // of the layer; null: all trained
  LayerGradientState state = {};              // that has these gradients
};

// The inner tensors of adapters, of the adapter rank.
struct AdapterInner {
  int64_t adapters = 0;
  ActivationCut cut = ActivationCut::kSequence;
  BackwardStep step = BackwardStep::kAfterNorm;
};

struct NormUse {
  NormVariant variant = NormVariant::kUnspecified;
  bool of_residual = true;  // else of a branch's output
  bool trained = true;
};

class ActivationList {
 public:
  // Appends rows to `rows`; null: only sums, and nothing is allocated. `steps` receives the bytes
  // of layers by the step that frees them.
  explicit ActivationList(const ActivationContext& context, ActivationTensors* rows = nullptr,
                          LayerSteps* steps = nullptr);

  // From here on, counts only the operands of weight gradients: inputs of matrices, recomputed or
  // not, and gradients of their outputs, which no forward pass keeps.
  void ListForWeights() { for_weights_ = true; }

  const ActivationContext& context() const { return context_; }
  const MicroBatchSpec& batch() const { return context_.batch; }
  int64_t tensor_ranks() const { return context_.tensor_ranks(); }
  ModelPart part() const { return place_.part; }
  int64_t sequence_length() const { return SequenceLengthOf(context_, place_.part); }
  // True where a tensor kept only as a matrix input is a narrower copy of its own.
  bool narrows_matmul_inputs() const {
    return BytesOf(ElementKind::kMatmulInput) < BytesOf(ElementKind::kCompute);
  }

  // Rows added from here on belong to `place`, and to `module`.
  void GoTo(const ActivationPlace& place);
  void Enter(absl::string_view module) { module_ = module; }
  void EnterBranch(LayerBranch branch) { branch_ = branch; }
  LayerBranch branch() const { return branch_; }
  // From here on, recomputes all rows but those that recomputation by operator saves; null: again
  // as the rows say. The caller keeps `saved`.
  void RecomputeAllBut(const SavedProducts* saved) { saved_ = saved; }
  // True where the output of the matrix `name` of this module is saved.
  bool Saves(absl::string_view name) const {
    return saved_ != nullptr && saved_->Has(module_, name);
  }
  // Adds a saved tensor that no gradient reads: it only takes the place of computing it again.
  void AddSaved(ActivationRow row);
  // Adds what is saved of the last matrix of a branch.
  void AddSavedOutput(absl::string_view name);
  // Sets the routed token slots per sequence of the experts on this GPU.
  void SetExpertSlots(CheckedInt slots_per_sequence);

  // Inline, because most lists only need sums.
  void Add(const ActivationRow& row) {
    AddElements(row, row.width * rows_by_cut_[static_cast<size_t>(row.cut)]);
  }
  // Adds bytes that were summed elsewhere.
  void AddSum(CheckedInt bytes) { total_ = total_ + bytes; }
  // Adds a tensor whose size does not grow with the tokens: `row.width` elements in all.
  void AddWhole(const ActivationRow& row) { AddElements(row, row.width); }

  // True where `activation` of the layer needs a gradient.
  bool Needs(ActivationSite activation) const {
    return place_.gradients == nullptr || place_.gradients->needs.Has(activation);
  }
  // The type of the residual, which the norms read.
  ElementKind ResidualKind() const {
    return batch().wide_residual ? ElementKind::kFp32 : ElementKind::kCompute;
  }
  // The type of a frozen matrix's input and output: LLM.int8() multiplies an fp32 input in 8 bits,
  // and returns fp32. Source: bitsandbytes @95f9af30, bitsandbytes/autograd/_functions.py,
  // MatMul8bitLt.
  ElementKind ProductKind() const {
    return batch().keeps_frozen_inputs && batch().wide_residual ? ElementKind::kFp32
                                                                : ElementKind::kCompute;
  }
  // Adds `row`, the input of a norm, and what eager code keeps next to it.
  void AddNorm(ActivationRow row, const NormUse& use);
  // Adds `row`, the input of the matrices that read `activation`, if one of them is trained, and
  // the tensors that their adapters keep.
  void AddMatmulInput(ActivationRow row, ActivationSite activation);
  // The same outside the layers, or of a residual's norm; `use` describes the matrices that read
  // it, `readers` is their number.
  void AddMatmulInput(ActivationRow row, const MatmulUse& use, int64_t readers = 1);
  // Adds `row`, which `readers` matrices read: a cast of it for each where the residual is wide.
  void AddCast(ActivationRow row, int64_t readers) {
    if (batch().wide_residual) row.width = row.width * readers;
    Add(row);
  }
  // Adds the gradient of the outputs of the matrices that read `activation`, if one of them is
  // trained or has an adapter. It is alive as long as the weight gradient is deferred.
  void AddOutputGradient(const ActivationRow& row, ActivationSite activation) {
    if (WaitsFor(activation)) Add(OutputGradient(row));
  }
  void AddOutputGradient(const ActivationRow& row, const MatmulUse& use) {
    if (WaitsFor(use)) Add(OutputGradient(row));
  }
  // True where such a gradient is listed.
  bool WaitsFor(ActivationSite activation) const {
    return for_weights_ &&
           (place_.gradients == nullptr || WaitsFor(place_.gradients->UseOf(activation)));
  }
  bool WaitsFor(const MatmulUse& use) const {
    return for_weights_ && (use.trained || use.adapters > 0);
  }
  static ActivationRow OutputGradient(ActivationRow row);
  // Adds the tensors that adapters reading `activation` keep in addition to their input `row`.
  void AddAdaptersOf(const ActivationRow& row, ActivationSite activation) {
    if (place_.gradients == nullptr) return;
    const MatmulUse use = place_.gradients->UseOf(activation);
    if (use.adapters > 0) AddAdapters(row, use);
  }
  // True where a layer's frozen matrices keep their input nevertheless.
  bool KeepsFrozenInput(const MatmulUse& use) const {
    return batch().keeps_frozen_inputs && place_.gradients != nullptr && !use.trained &&
           use.needs_gradient;
  }
  // True where a matrix or an adapter that reads `activation` keeps it in the type it was computed
  // in.
  bool KeepsAsComputed(ActivationSite activation) const {
    if (place_.gradients == nullptr) return !narrows_matmul_inputs();
    const MatmulUse use = place_.gradients->UseOf(activation);
    return (use.trained && !narrows_matmul_inputs()) || KeepsFrozenInput(use) ||
           (use.adapters > 0 && !batch().adapter_dropout);
  }
  // Adds the inner tensors of adapters, which their second matrices read.
  void AddAdapterInner(const AdapterInner& inner);
  const LayerGradients* gradients() const { return place_.gradients; }

  CheckedInt total() const { return total_; }

 private:
  int64_t BytesOf(ElementKind kind) const { return element_bytes_[static_cast<size_t>(kind)]; }
  void AddElements(const ActivationRow& row, CheckedInt elements) {
    if (for_weights_ && !row.for_weights) return;
    const CheckedInt size = elements * BytesOf(row.kind);
    if (!IsAgain(row) || for_weights_) total_ = total_ + size * place_.layers;
    if (steps_ != nullptr) AddStep(row, size);
    if (lists_) ListRow(row, elements);
  }
  bool IsAgain(const ActivationRow& row) const {
    return row.again || (saved_ != nullptr && !row.saved);
  }
  void AddStep(const ActivationRow& row, CheckedInt size) {
    LayerSteps& steps = *steps_;
    steps.all = steps.all + size;
    const bool again = IsAgain(row);
    steps.any_again = steps.any_again || again;
    if (!steps.all.ok()) return;
    BytesByPosition& bytes = again ? steps.again : steps.kept;
    bytes[BackwardPosition{branch_, row.step}.index()] += size.value();
  }
  // Called where rows are listed.
  void ListRow(const ActivationRow& row, CheckedInt elements);
  void AddAdapters(ActivationRow row, const MatmulUse& use);
  DataType TypeOf(ElementKind kind) const;

  const ActivationContext& context_;
  ActivationTensors* const rows_;
  LayerSteps* const steps_;
  const bool lists_;
  bool for_weights_ = false;
  ActivationPlace place_ = {};
  absl::string_view module_;
  const SavedProducts* saved_ = nullptr;
  LayerBranch branch_ = LayerBranch::kFeedForward;
  std::array<int64_t, kElementKindCount> element_bytes_;
  std::array<CheckedInt, kActivationCutCount> rows_by_cut_ = {0, 0, 0, 0, 0};
  CheckedInt total_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_LIST_H_
