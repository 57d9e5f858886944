// Which weights of a stage torch.autocast has casts of, pass by pass.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_CAST_WEIGHTS_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_CAST_WEIGHTS_H_

#include <algorithm>
#include <cstdint>

#include "engine/memory/ledger/framework_copies.h"

namespace sextant {

// Without recomputation autograd keeps all casts from the forward to the backward pass. Layers that
// are computed again have casts of a block at a time then; what stands behind them, the head, has
// kept its own. Under a pipeline one region is taken to be around the micro-batches of a step,
// which keeps all casts throughout.
class CastWeights {
 public:
  CastWeights(const CopiesContext& context, int64_t stage);

  // Calls visit(const WeightTensor&, const TensorShard&, int64_t layers) for what is cast at
  // `moment`. Allocates nothing.
  template <typename Visit>
  void ForEachAt(StageMoment moment, const Visit& visit) const {
    const bool backward = moment == StageMoment::kHead || moment == StageMoment::kLayer;
    ForEach([&](const WeightTensor& tensor, const TensorShard& shard, int64_t layers) {
      if (!backward || !one_block_) {
        visit(tensor, shard, layers);
      } else if (moment == StageMoment::kHead) {
        if (IsOfHead(tensor)) visit(tensor, shard, layers);
      } else if (!IsOfHead(tensor) && block_.IsOf(tensor)) {
        visit(tensor, shard, std::min(layers, layers_per_block_));
      }
    });
  }

 private:
  // Layers of a kind that are computed again together; -1: what is of no layer.
  struct Block {
    ModelPart part = ModelPart::kInput;
    int layer_kind = -1;
    int64_t elements = 0;

    bool IsOf(const WeightTensor& tensor) const {
      return tensor.part == part && tensor.layer_kind == layer_kind;
    }
  };

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    context_.state.weights.ForEachTensor(
        stage_, [&](const WeightTensor& tensor, const TensorShard& shard, const KindLayers& l) {
          if (IsCast(tensor)) visit(tensor, shard, LayersCast(tensor, l));
        });
  }

  bool IsCast(const WeightTensor& tensor) const;
  bool IsOfHead(const WeightTensor& tensor) const;
  int64_t LayersCast(const WeightTensor& tensor, const KindLayers& layers) const;
  void FindLargestBlock();

  const CopiesContext& context_;
  const int64_t stage_;
  const bool recomputes_;  // layers
  const bool one_block_;   // of casts in a layer's backward pass
  const int64_t layers_per_block_;
  Block block_;  // the largest
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_CAST_WEIGHTS_H_
