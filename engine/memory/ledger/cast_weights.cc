#include "engine/memory/ledger/cast_weights.h"

#include "engine/memory/optimizer_state.h"
#include "engine/memory/state/frozen_weights.h"

namespace sextant {

CastWeights::CastWeights(const CopiesContext& context, int64_t stage)
    : context_(context),
      stage_(stage),
      recomputes_(context.job.batch.recomputation.policy == RecomputePolicy::kFull),
      one_block_(recomputes_ && context.job.layout.pipeline_parallel_size == 1),
      layers_per_block_(context.job.batch.recomputation.layers_per_block) {
  if (one_block_) FindLargestBlock();
}

// Tensors of a part's layers of one kind stand together.
void CastWeights::FindLargestBlock() {
  Block block;
  ForEach([&](const WeightTensor& tensor, const TensorShard& shard, int64_t layers) {
    if (IsOfHead(tensor)) return;
    if (!block.IsOf(tensor)) block = {.part = tensor.part, .layer_kind = tensor.layer_kind};
    block.elements += shard.elements() * std::min(layers, layers_per_block_);
    if (block.elements > block_.elements) block_ = block;
  });
}

// Tables are looked up in as they are, and norms computed in fp32.
bool CastWeights::IsCast(const WeightTensor& tensor) const {
  return IsHiddenMatrix(tensor) || tensor.component == WeightComponent::kBias || IsOfHead(tensor);
}

bool CastWeights::IsOfHead(const WeightTensor& tensor) const {
  if (tensor.component == WeightComponent::kOutputHead) return true;
  const bool last = stage_ == context_.state.weights.stage_count() - 1;
  return tensor.component == WeightComponent::kTokenEmbedding && last &&
         context_.state.spec.output.head == OutputHeadKind::kTied;
}

// What nothing trains isn't cached, and a forward pass without autograd keeps no cast of it.
// Quantised matrices are counted as they are multiplied with.
int64_t CastWeights::LayersCast(const WeightTensor& tensor, const KindLayers& layers) const {
  const bool trained_alone = recomputes_ || IsQuantized(context_.state.state.frozen, tensor);
  return trained_alone ? layers.not_frozen : layers.count;
}

}  // namespace sextant
