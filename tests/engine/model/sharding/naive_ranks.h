// The elements of a small model, each put on each GPU that computes with it, one by one.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_SHARDING_NAIVE_RANKS_H_
#define SEXTANT_TESTS_ENGINE_MODEL_SHARDING_NAIVE_RANKS_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/model/sharding/sharded_weights.h"

namespace sextant {

// Elements of one tensor of WeightsOf() on one GPU.
struct NaiveCount {
  int64_t total = 0;
  int64_t trainable = 0;
};

struct NaiveRanks {
  int64_t gpus_per_stage = 0;
  // By stage, GPU of the stage, and tensor.
  std::vector<std::vector<std::vector<NaiveCount>>> held = {};
  int64_t distinct = 0;                         // elements that some GPU holds
  std::vector<int64_t> distinct_of_stage = {};  // elements that some GPU of the stage holds
};

// Walks through the forward pass layer by layer, and notes which GPU needs which element: heads
// are dealt out in order, and so are neurons, experts and rows of the vocabulary.
NaiveRanks PlaceElementwise(const ArchitectureSpec& spec, const ParallelLayout& layout);

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

#endif  // SEXTANT_TESTS_ENGINE_MODEL_SHARDING_NAIVE_RANKS_H_
