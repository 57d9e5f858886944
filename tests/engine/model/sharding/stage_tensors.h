// The tensors of a pipeline stage one by one.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_SHARDING_STAGE_TENSORS_H_
#define SEXTANT_TESTS_ENGINE_MODEL_SHARDING_STAGE_TENSORS_H_

#include <cstdint>
#include <vector>

#include "engine/model/sharding/sharded_weights.h"

namespace sextant {

// A tensor on a stage, with the number of the stage's layers that have it.
struct StageTensor {
  WeightTensor tensor;  // of the whole model
  TensorShard shard;
  int64_t layers = 0;
  int64_t trainable_layers = 0;
  bool repeated = false;  // outside the layers, and on a lower stage as well

  int64_t elements() const { return shard.elements() * layers; }
  int64_t trainable_elements() const { return shard.elements() * trainable_layers; }
};

// In the order of the whole model.
std::vector<StageTensor> TensorsOn(const ShardedWeights& weights, int64_t stage);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_SHARDING_STAGE_TENSORS_H_
