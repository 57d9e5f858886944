// Adds up products: their totals and, where they are asked for, what they are of.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_FLOPS_TALLY_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_FLOPS_TALLY_H_

#include <array>
#include <vector>

#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/step_flops.h"

namespace sextant {

// A product of each token with one matrix, and who needs what of it.
struct Product {
  double forward = 0;  // FLOPs a token
  bool input_needs_gradient = false;
  bool trained = false;
  bool recomputed = false;
  double capacity = 1;  // what is computed for each that is asked for
};

// The passes of `product`: the backward pass is two products of the same size, one for each
// gradient that is needed.
PassFlops PassesOf(const Product& product);

class FlopsTally {
 public:
  explicit FlopsTally(bool by_component) : by_component_(by_component) {}

  // What is added from here on is of this part and kind of layer (-1: of none).
  void GoTo(ModelPart part, int layer_kind);

  // The same under every mask; by mask.
  void Add(FlopsComponent component, const PassFlops& flops);
  void Add(FlopsComponent component, const ByMask<PassFlops>& flops);

  // All that was added. Call it once.
  StepFlops Take(int64_t tokens);

 private:
  using Cells = std::array<ByMask<PassFlops>, kFlopsComponentCount>;

  void Flush();

  const bool by_component_;
  PassFlops unmasked_ = {};
  ByMask<PassFlops> masked_ = {};
  ModelPart part_ = ModelPart::kInput;
  int layer_kind_ = -1;
  Cells cells_ = {};
  std::vector<ComponentFlops> components_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_FLOPS_TALLY_H_
