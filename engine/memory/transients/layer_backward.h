// The backward pass of one layer, step by step: which tensors each step makes and still reads.
// docs/memory_transients.md derives them.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_BACKWARD_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_BACKWARD_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/memory/transients/layer_steps.h"
#include "engine/memory/transients/transient_list.h"

namespace sextant {

// Takes what the steps make, one step after the other, and finds the one with the most bytes: what
// it made and what was computed again, less what the layer has freed by then. `steps` are sound
// (LayerSteps::all).
class BackwardPeak {
 public:
  explicit BackwardPeak(const LayerSteps& steps)
      : steps_(steps), again_(steps.any_again ? HeldFrom(steps.again, 0) : 0) {}
  // Lists what the step `listed`, the number() of another walk, makes.
  BackwardPeak(const LayerSteps& steps, size_t listed, TransientList& list)
      : steps_(steps), listed_(listed), list_(&list) {}

  void Begin(const BackwardMoment& moment);
  // Inline: most walks want sums alone.
  void Make(const Transient& transient, int64_t element_bytes) {
    made_ = made_ + transient.elements * element_bytes;
    if (list_ != nullptr) List(transient);
  }

  void End();
  // Of the step with the most, once the last one has ended.
  size_t moment() const { return best_moment_; }
  size_t number() const { return best_; }
  CheckedInt added() const { return best_added_; }  // made and computed again
  int64_t freed() const { return best_freed_; }     // of what the layer kept

 private:
  void List(const Transient& transient);

  const LayerSteps& steps_;
  size_t listed_ = 0;
  TransientList* list_ = nullptr;
  bool begun_ = false;
  size_t count_ = 0;   // moments begun
  size_t moment_ = 0;  // in work
  size_t seen_ = 0;    // steps whose bytes are in again_ and freed_
  CheckedInt made_ = 0;
  int64_t again_ = 0;
  int64_t freed_ = 0;
  int64_t best_net_ = 0;
  size_t best_ = 0;
  size_t best_moment_ = 0;
  CheckedInt best_added_ = 0;
  int64_t best_freed_ = 0;
};

// Sizes that all of a layer's steps share. Elements on this GPU.
struct BackwardSizes {
  int64_t hidden = 0;
  int64_t tokens = 0;           // of context parallelism's share
  int64_t sequence_tokens = 0;  // those, cut by sequence parallelism
  int64_t encoder_tokens = 0;
  bool gathers = false;  // sequence parallelism among several ranks
  bool dropout = false;
  bool weight_gradients = false;  // each is a tensor of its own
  int64_t compute_bytes = 2;
  int64_t gradient_bytes = 2;
};

class LayerBackward {
 public:
  LayerBackward(const TransientContext& context, const ActivationPlace& place);

  void Walk(BackwardPeak& out);

 private:
  struct Inner;     // a feed-forward's inner features
  struct Matrix;    // one with a gradient
  struct Operands;  // of an attention's core

  void WalkExperts(const ExpertsSpec& experts);
  void WalkRouted(const ExpertsSpec& experts);
  void WalkFeedForward(const Inner& inner, LayerBranch branch);
  void WalkAttention(const AttentionSpec& attention, LayerBranch branch);
  void WalkFusedCore(const Operands& core);
  void WalkUnfusedCore(const Operands& core);
  void WalkLatents(const AttentionSpec& attention, const Operands& core);
  Operands OperandsOf(const AttentionSpec& attention, bool cross) const;

  void Start(LayerBranch branch, BackwardStep step);
  void WalkEnds(LayerBranch branch, bool norm);
  void WalkBeforeNorm(LayerBranch branch, bool norm);
  // The gradient of a branch's output as its last matrix reads it.
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
  int64_t beside_ = 0;  // input gradients of branches done that wait for the one in work
  BackwardPeak* out_ = nullptr;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_TRANSIENTS_LAYER_BACKWARD_H_
