// The gradients that a model needs where parts of it are frozen or have adapters: autograd
// computes no others, and keeps no tensors for those that it does not compute.
#ifndef SEXTANT_ENGINE_MODEL_TRACE_GRADIENT_FLOW_H_
#define SEXTANT_ENGINE_MODEL_TRACE_GRADIENT_FLOW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/activation_flow.h"

namespace sextant {

// The matrices that read an activation.
struct MatmulUse {
  bool trained = true;         // one of the matrices is
  int8_t adapters = 0;         // that read it, too
  bool needs_gradient = true;  // of the activation
};

// The gradients of one layer.
struct LayerGradients {
  ActivationSet needs;                                 // activations that need a gradient
  ActivationSet trained;                               // activations read by a trained matrix
  std::array<int8_t, kActivationCount> adapters = {};  // adapters that read each activation
  bool router_needs = false;                           // the expert probabilities need a gradient
  bool token_gate_needs = false;                       // the gate of shared experts needs one

  MatmulUse UseOf(ActivationSite activation) const {
    return {.trained = trained.Has(activation),
            .adapters = adapters[static_cast<size_t>(activation)],
            .needs_gradient = needs.Has(activation)};
  }
};

// The state, besides its kind, that determines a layer's gradients.
struct LayerGradientState {
  bool frozen = false;
  bool input_needs_gradient = true;
};
inline constexpr size_t kLayerGradientStateCount = 4;

// The gradients before and after a stack's layers.
struct StackGradients {
  bool positions_need = true;  // the sum of embeddings and positions, which dropout reads
  bool embedding_norm_needs = true;
  bool embedding_needs = true;  // the first layer's input
  int64_t first_layer = 0;      // whose output needs a gradient; the layer count: none
  bool output_needs = true;     // after the last layer
  bool final_norm_needs = true;
};

// The matrices outside layers. By default all are trained.
struct EndGradients {
  bool ids_kept = true;
  int8_t token_embedding_adapters = 0;
  MatmulUse projection_into;
  MatmulUse pooler;
  MatmulUse classifier;
  MatmulUse transform;
  bool transform_output_needs = true;  // after its norm
  MatmulUse projection_out;
  MatmulUse head;
};

// The multi-token prediction modules; all are like the last one.
struct ModuleGradients {
  bool token_norm = true;
  bool hidden_norm = true;
  bool final_norm = true;
  bool layer_input = true;  // needs a gradient
  MatmulUse projection;
  MatmulUse head;  // of the module's own pass
};

class GradientFlow {
 public:
  // `spec` has passed CheckArchitecture(). Allocates, once per model.
  explicit GradientFlow(const ArchitectureSpec& spec);

  // The gradients of a layer of `kind` in `part`: the encoder, the decoder or multi-token
  // prediction.
  const LayerGradients& Of(ModelPart part, int kind, const LayerGradientState& state) const {
    return layers_[IndexOf(part, kind, state)];
  }
  const StackGradients& StackOf(ModelPart part) const {
    return part == ModelPart::kEncoder ? encoder_ : decoder_;
  }
  const EndGradients& ends() const { return ends_; }
  const ModuleGradients& modules() const { return modules_; }
  int64_t adapter_rank() const { return adapter_rank_; }

 private:
  friend class GradientFlowBuilder;

  size_t IndexOf(ModelPart part, int kind, const LayerGradientState& state) const {
    const size_t place = part == ModelPart::kEncoder ? 0 : part == ModelPart::kDecoder ? 1 : 2;
    const size_t states = (state.frozen ? 2 : 0) + (state.input_needs_gradient ? 1 : 0);
    return (place * kind_count_ + static_cast<size_t>(kind)) * kLayerGradientStateCount + states;
  }

  size_t kind_count_;
  int64_t adapter_rank_ = 0;
  std::vector<LayerGradients> layers_;
  StackGradients encoder_;
  StackGradients decoder_;
  EndGradients ends_;
  ModuleGradients modules_;
};

// The gradients of a model with `flow`; null: all parts are trained.
inline const EndGradients& EndsOf(const GradientFlow* flow) {
  static constexpr EndGradients kAllTrained = {};
  return flow == nullptr ? kAllTrained : flow->ends();
}

inline const StackGradients& StackOf(const GradientFlow* flow, ModelPart part) {
  static constexpr StackGradients kAllTrained = {};
  return flow == nullptr ? kAllTrained : flow->StackOf(part);
}

inline const ModuleGradients& ModulesOf(const GradientFlow* flow) {
  static constexpr ModuleGradients kAllTrained = {};
  return flow == nullptr ? kAllTrained : flow->modules();
}

// True where nothing of `spec` is frozen and it has no adapters: then it needs no flow.
bool TrainsEverything(const ArchitectureSpec& spec);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_TRACE_GRADIENT_FLOW_H_
