// FLOPs a token by term, so that two conventions can be compared.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_TERM_FLOPS_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_TERM_FLOPS_H_

#include <array>

#include "engine/base/units.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/convention.h"
#include "engine/model/flops/step_flops.h"

namespace sextant {

// Forward and backward, a token.
class TermFlops {
 public:
  void Add(FlopsTerm term, double flops) { terms_[static_cast<size_t>(term)] += flops; }
  double of(FlopsTerm term) const { return terms_[static_cast<size_t>(term)]; }
  double Total() const;

 private:
  std::array<double, kFlopsTermCount> terms_ = {};
};

// Model FLOPs of `flops`, counted with FlopsDetail::kComponents.
TermFlops ExactTerms(const StepFlops& flops, MaskConvention mask);

// 6 for each active parameter; without those that IsEmbedding() if not `embeddings`.
TermFlops SixNTerms(const WeightTensors& tensors, bool embeddings);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_TERM_FLOPS_H_
