#include "tests/engine/model/sharding/stage_tensors.h"

#include <set>

namespace sextant {

std::vector<StageTensor> TensorsOn(const ShardedWeights& weights, int64_t stage) {
  std::set<const WeightTensor*> before;
  for (int64_t lower = 0; lower < stage; ++lower) {
    weights.ForEachTensor(lower, [&](const WeightTensor& t, const auto&, const auto&) {
      if (t.layer_kind < 0) before.insert(&t);
    });
  }
  std::vector<StageTensor> out;
  weights.ForEachTensor(stage,
                        [&](const WeightTensor& t, const TensorShard& s, const KindLayers& layers) {
                          out.push_back({.tensor = t,
                                         .shard = s,
                                         .layers = layers.count,
                                         .trainable_layers = layers.not_frozen,
                                         .repeated = before.count(&t) > 0});
                        });
  return out;
}

}  // namespace sextant
