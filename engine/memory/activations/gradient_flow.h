// What of a model needs a gradient where parts of it are frozen or have adapters: autograd works
// out no other gradient, and keeps nothing for those that it does not work out.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_GRADIENT_FLOW_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_GRADIENT_FLOW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/activation_flow.h"

namespace sextant {

// What reads an activation.
struct MatmulUse {
  bool trained = true;         // one of the matrices is
  int8_t adapters = 0;         // beside them
  bool needs_gradient = true;  // the activation does
};

// Of one layer.
struct LayerGradients {
  ActivationSet needs;                                 // activations that need one
  ActivationSet trained;                               // those that a trained matrix reads
  std::array<int8_t, kActivationCount> adapters = {};  // that read them
  bool router_needs = false;                           // the probabilities of experts do
  bool token_gate_needs = false;                       // the gate of shared experts does

  MatmulUse UseOf(ActivationSite activation) const {
    return {.trained = trained.Has(activation),
            .adapters = adapters[static_cast<size_t>(activation)],
            .needs_gradient = needs.Has(activation)};
  }
};

// Of a layer: all that its gradients depend on besides its kind.
struct LayerGradientState {
  bool frozen = false;
  bool input_needs_gradient = true;
};
inline constexpr size_t kLayerGradientStateCount = 4;

// Of what stands before and behind a stack's layers.
struct StackGradients {
  bool positions_need = true;  // the sum of embeddings and positions, which dropout reads
  bool embedding_norm_needs = true;
  bool embedding_needs = true;  // what the first layer reads
  int64_t first_layer = 0;      // of the stack, whose output needs one; as many as it has: none
  bool output_needs = true;     // behind the last layer
  bool final_norm_needs = true;
};

// Of the matrices outside layers. As they stand, all is trained.
struct EndGradients {
  bool ids_kept = true;
  int8_t token_embedding_adapters = 0;
  MatmulUse projection_into;
  MatmulUse pooler;
  MatmulUse classifier;
  MatmulUse transform;
  bool transform_output_needs = true;  // behind its norm
  MatmulUse projection_out;
  MatmulUse head;
};

// Of modules of multi-token prediction: all as the last one.
struct ModuleGradients {
  bool token_norm = true;
  bool hidden_norm = true;
  bool final_norm = true;
  bool layer_input = true;  // needs one
  MatmulUse projection;
  MatmulUse head;  // its own pass of it
};

class GradientFlow {
 public:
  // `spec` has passed CheckArchitecture(). Allocates, once a model.
  explicit GradientFlow(const ArchitectureSpec& spec);

  // Of a layer of `kind` in `part`: the encoder, the decoder or multi-token prediction.
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

// Whether nothing of `spec` is frozen and no adapters stand beside it: then it needs no flow.
bool TrainsEverything(const ArchitectureSpec& spec);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_GRADIENT_FLOW_H_
