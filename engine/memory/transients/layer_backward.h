// The backward pass of one layer, step by step: the tensors that each step frees, recomputes,
// makes and still reads. docs/memory_transients.md, "A layer's backward pass", derives it.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_BACKWARD_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_BACKWARD_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/memory/activations/activation_list.h"
#include "engine/memory/transients/transient_list.h"
#include "engine/model/block/block.h"

namespace sextant {

// The bytes that one layer at `place` keeps and recomputes, by the step of its backward pass that
// frees them. Under full recomputation it keeps its input and recomputes the rest; every layer of
// a block is treated alike. `again_rows` receives the recomputed tensors.
LayerSteps LayerStepsOf(const ActivationContext& context, const ActivationPlace& place,
                        ActivationTensors* again_rows = nullptr);

// Bytes that are freed at or after `index`.
int64_t HeldFrom(const BytesByPosition& bytes, size_t index);

// Consumes the tensors that steps make, step by step, and finds the step with the most bytes:
// those it made and those recomputed, minus those that the layer has freed by then.
// LayerSteps::all of `steps` is ok().
class BackwardPeak {
 public:
  explicit BackwardPeak(const LayerSteps& steps)
      : steps_(steps), again_(steps.any_again ? HeldFrom(steps.again, 0) : 0) {}
  // Lists the tensors made by step `listed`, the number() of another walk.
  BackwardPeak(const LayerSteps& steps, size_t listed, TransientList& list)
      : steps_(steps), listed_(listed), list_(&list) {}

  void Begin(const BackwardPosition& position);
  // Inline: most walks only need sums.
  void Make(const Transient& transient, int64_t element_bytes) {
    made_ = made_ + transient.elements * element_bytes;
    if (list_ != nullptr) List(transient);
  }

  void End();
  // The step with the most bytes, valid after the last End(). Where a step is listed, index() is
  // that one's.
  size_t index() const { return best_index_; }
  size_t number() const { return best_; }
  CheckedInt added() const { return best_added_; }  // made and recomputed
  int64_t freed() const { return best_freed_; }     // of what the layer kept

 private:
  void List(const Transient& transient);

  const LayerSteps& steps_;
  size_t listed_ = 0;
  TransientList* list_ = nullptr;
  bool begun_ = false;
  size_t count_ = 0;  // positions begun
  size_t index_ = 0;  // in work
  size_t seen_ = 0;   // steps whose bytes are in again_ and freed_
  CheckedInt made_ = 0;
  int64_t again_ = 0;
  int64_t freed_ = 0;
  int64_t best_net_ = 0;
  size_t best_ = 0;
  size_t best_index_ = 0;
  CheckedInt best_added_ = 0;
  int64_t best_freed_ = 0;
};

// Sizes that all steps of a layer share. Elements on this GPU.
struct BackwardSizes {
  int64_t hidden = 0;
  int64_t tokens = 0;           // of the context parallel share
  int64_t sequence_tokens = 0;  // the same, divided by sequence parallelism
  int64_t encoder_tokens = 0;
  bool gathers = false;  // sequence parallelism over several ranks
  bool dropout = false;
  bool weight_gradients = false;  // each is a separate tensor
  int64_t compute_bytes = 2;
  int64_t gradient_bytes = 2;
};

// Walks the steps of the backward pass of the layer at `place`.
class LayerBackward {
 public:
  LayerBackward(const TransientContext& context, const ActivationPlace& place);

  void Walk(BackwardPeak& out);

 private:
  // The inner features of a feed-forward on this GPU.
  struct Inner {
    int64_t features = 0;
    bool gated = false;
    ActivationSite inner = ActivationSite::kFeedForwardInner;
  };

  // The matrices that read one activation.
  struct Matrix {
    absl::string_view shape;
    CheckedInt elements = 0;
    ActivationSite reads = ActivationSite::kLayerInput;
  };

  // The operands of an attention on this GPU, in elements over all of its tokens.
  struct Operands {
    LayerBranch branch = LayerBranch::kAttention;
    bool cross = false;
    int64_t heads = 0;
    CheckedInt query = 0;
    CheckedInt key = 0;
    CheckedInt value = 0;
    CheckedInt output = 0;  // the heads' output
    // Keys and values as the core reads them: more where ranks that exchange heads copy some.
    CheckedInt core_keys = 0;
    CheckedInt expanded = 0;  // keys and values repeated for each query head; 0: not repeated
    CheckedInt scores = 0;
    CheckedInt gate = 0;
    CheckedInt projections = 0;  // weights of query, key, value and gate
    CheckedInt output_weights = 0;
  };

  void WalkBlock(const Block& block);
  void MakeCore(const Block& block, const BlockOp& op);
  void MakeBlockGradient(const Block& block, BlockValueId id);
  // Routed experts on this GPU, in elements.
  struct Routed {
    bool narrow = false;  // of another width than the residual
    absl::string_view shape;
    CheckedInt own = 0;       // of a rank's tokens, one each
    CheckedInt received = 0;  // of the experts' slots
    CheckedInt features = 0;
    int64_t inputs = 1;  // matrices that read a token
    CheckedInt weights = 0;
    CheckedInt latent_weights = 0;
  };

  void WalkExperts(const ExpertsSpec& experts);
  Routed RoutedOf(const ExpertsSpec& experts) const;
  void WalkRouted(const ExpertsSpec& experts);
  void WalkExpertSum(const Routed& routed);
  void WalkRoutedProducts(const Routed& routed);
  void MakeRoutedOutputGradient();
  void WalkFeedForward(const Inner& inner, LayerBranch branch);
  void WalkAttention(const AttentionSpec& attention, LayerBranch branch);
  void WalkHeadNorms(const AttentionSpec& attention, const Operands& core);
  void WalkGate(const Operands& core, LayerBranch branch);
  void WalkFusedCore(const Operands& core);
  void WalkUnfusedCore(const Operands& core);
  // Where context parallel ranks exchange heads: the output's gradient to the core, what stays
  // during the core, and its gradients back.
  void WalkExchangeBefore(const Operands& core);
  void MakeExchanged(const Operands& core);
  void WalkExchangeAfter(const Operands& core);
  void WalkLatents(const AttentionSpec& attention, const Operands& core);
  Operands OperandsOf(const AttentionSpec& attention, bool cross) const;

  void Start(LayerBranch branch, BackwardStep step);
  void WalkEnds(LayerBranch branch, bool norm);
  void WalkBeforeNorm(LayerBranch branch, bool norm);
  // The gradient of a branch's output, as its last matrix reads it.
  void MakeOutputGradient(bool normed);
  void MakeInputGradient(absl::string_view name);
  void MakeBranchInput();
  void MakeWeightGradient(const Matrix& matrix);
  void Make(absl::string_view name, absl::string_view shape, CheckedInt elements,
            absl::string_view why) {
    out_->Make({.name = name, .shape = shape, .elements = elements, .why = why},
               sizes_.compute_bytes);
  }

  CheckedInt Whole() const { return CheckedInt(sizes_.tokens) * sizes_.hidden; }
  CheckedInt Cut() const { return CheckedInt(sizes_.sequence_tokens) * sizes_.hidden; }

  const TransientContext& context_;
  const ActivationPlace& place_;
  const LayerSpec& layer_;
  BackwardSizes sizes_;
  int64_t waiting_gradients_ =
      0;  // input gradients of finished branches that wait for the current one
  CheckedInt waiting_gate_ = 0;  // elements of the gradient of attention's gate
  BackwardPeak* out_ = nullptr;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_BACKWARD_H_
