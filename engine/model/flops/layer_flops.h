// FLOPs of the layers of one kind.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_LAYER_FLOPS_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_LAYER_FLOPS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/attended_length.h"
#include "engine/model/flops/step_flops.h"
#include "engine/model/flops/training_step.h"

namespace sextant {

// True for a matrix, which is part of a product; false for a vector, which is added or scales.
bool IsMatrix(const WeightTensor& tensor);

// True for a matrix of an indexer, whose input gets no gradient.
bool IsDetached(const WeightTensor& tensor);

// FLOPs of the product of `tensor` (its active copies) with one token.
double ProductOf(const WeightTensor& tensor);

// The properties shared by all layers of one kind.
struct LayerGroup {
  const LayerSpec& layer;
  int64_t hidden_size = 0;
  absl::Span<const WeightTensor> tensors = {};  // of the kind
  double tokens = 1;                            // of their stack, per output token
  double encoder_tokens = 0;                    // projected by cross attention
  ByMask<double> attended = {};                 // TokenShares::Attended()
  ByMask<double> indexed = {};                  // the same for what an indexer scores
  double cross_pairs = 0;
  bool scores_bias_trained = false;  // of relative positions
  bool encoder_output_needs_gradient = false;
  RecomputePolicy recompute = RecomputePolicy::kNone;
  double expert_capacity = 1;
};

struct LayerState {
  int64_t layers = 0;
  bool frozen = false;
  bool input_needs_gradient = false;
};

// True where a gradient flows back to the output of such a layer.
bool OutputNeedsGradient(const LayerGroup& group, const LayerState& state);

// Adds the FLOPs of `state.layers` layers of `group`. Source: a product of an n x m matrix with a
// token is n m multiply-adds; reverse accumulation (Griewank, Walther 2008, chapter 3); derived in
// docs/transformer.md.
void AddLayerFlops(const LayerGroup& group, const LayerState& state, FlopsTally& tally);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_LAYER_FLOPS_H_
