// The operations of one layer.
#ifndef SEXTANT_ENGINE_MODEL_TRACE_LAYER_TRACE_H_
#define SEXTANT_ENGINE_MODEL_TRACE_LAYER_TRACE_H_

#include <cstdint>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/block/block.h"
#include "engine/model/trace/gradient_flow.h"
#include "engine/model/trace/trace.h"
#include "engine/model/trace/trace_builder.h"

namespace sextant {

// A layer of one kind in one part, all layers of which are alike.
struct TracedLayer {
  ModelPart part = ModelPart::kDecoder;
  int layer_kind = 0;
  LayerGradientState state = {};
};

// Appends the operations of one layer of `where` to `out`: its forward pass, what it recomputes,
// and its backward pass. Collectives between the ranks of a layer are included; those of data and
// pipeline parallelism are not. Kernels are those of an eager framework with fused norms, softmax
// and activation functions; biases are added by the products' epilogues.
// Source: docs/step_time.md, "Operations of a layer".
void AppendLayerTrace(const TraceContext& context, const TraceWeights& weights,
                      const TracedLayer& where, Trace& out);

// The parts of a layer, each of which returns its output.

// The gradients that a layer needs; null: all.
struct LayerTraceParts {
  TraceBuilder& out;
  const LayerGradients* gradients = nullptr;
  bool norm_again = false;  // the branch's input is a norm's output that is computed again

  bool Needs(ActivationSite site) const {
    return gradients == nullptr || gradients->needs.Has(site);
  }
  // True where the input of the matrices that read `site` is not kept in the type that they
  // multiply in: an adapter reads it as it was computed, or its norm is computed again.
  bool KeepsComputed(ActivationSite site) const {
    const bool starts = site == ActivationSite::kAttentionInput ||
                        site == ActivationSite::kCrossInput ||
                        site == ActivationSite::kFeedForwardInput;
    return (norm_again && starts) || (gradients != nullptr && gradients->UseOf(site).adapters > 0 &&
                                      !out.batch().adapter_dropout);
  }
};

// Attention from its normed input to the sum over tensor parallel ranks.
uint8_t AddAttentionTrace(const LayerTraceParts& parts, const AttentionSpec& attention, bool cross,
                          uint8_t input);

// A block that stands where attention does, from its normed input to the sum over tensor parallel
// ranks.
uint8_t AddBlockTrace(const LayerTraceParts& parts, const Block& block, uint8_t input);

// The activation function between the matrices of a feed-forward.
struct InnerTrace {
  absl::string_view module;
  FeedForwardKind kind = FeedForwardKind::kUnspecified;
  int64_t width = 0;         // on this GPU
  int64_t output_width = 0;  // 0: hidden_size
  TokenRows rows = TokenRows::kAll;
  FlopsComponent component = FlopsComponent::kDenseFeedForward;
  ActivationSite input_site = ActivationSite::kFeedForwardInput;
  ActivationSite inner_site = ActivationSite::kFeedForwardInner;
  bool inner_needs = true;
  bool input_kept_as_computed = false;
  // Rows that unfused experts keep in addition: AddUnfusedRows() of engine/memory.
  bool unfused = false;
  bool scales = false;
};

// A feed-forward from its normed input to the sum over tensor parallel ranks; of routed experts,
// without that sum.
uint8_t AddFeedForwardTrace(const LayerTraceParts& parts, const InnerTrace& inner, uint8_t input);

// The normed inputs of experts; the shared ones read the router's.
struct ExpertInputs {
  uint8_t router = 0;
  uint8_t routed = 0;
};

// Router, routed experts and shared experts from their inputs to their sum.
uint8_t AddExpertsTrace(const LayerTraceParts& parts, const ExpertsSpec& experts,
                        const ExpertInputs& inputs);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_TRACE_LAYER_TRACE_H_
