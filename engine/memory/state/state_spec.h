// How model state is stored and shared out among the ranks that train on different data.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_STATE_SPEC_H_
#define SEXTANT_ENGINE_MEMORY_STATE_STATE_SPEC_H_

#include <cstdint>

#include "engine/memory/training_policy.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// What data parallel ranks share out instead of each holding all of it.
// Source: Rajbhandari et al. 2020 (arXiv 1910.02054) section 5.
enum class ZeroStage {
  kNone,        // 0: every rank holds all
  kOptimizer,   // 1: optimizer buffers and master weights
  kGradients,   // 2: and gradients
  kParameters,  // 3: and weights, gathered unit by unit (ZeRO-3, FSDP)
};

struct StateSharding {
  int64_t data_parallel_size = 1;  // without context parallelism, whose ranks share state too
  ZeroStage zero_stage = ZeroStage::kNone;
  // Ranks among which a shard is divided; the others hold copies (HSDP). 0: all of them.
  int64_t shard_group_size = 0;
  bool reshard_after_forward = true;  // of stage 3: else gathered weights stay until the backward
  int64_t prefetched_unit_count = 1;  // of stage 3: units gathered ahead of the one in work
  bool offload_optimizer = false;     // buffers and master weights live in host memory
  bool offload_parameters = false;    // of stage 3: weight shards live in host memory
};

// How matrices inside layers that nothing trains are stored, where that differs from all other
// weights. A block_size of 0 is 64 elements of 4 bits, and a row of 8: Dettmers et al. 2023 (QLoRA,
// arXiv 2305.14314) section 3; Dettmers et al. 2022 (LLM.int8(), arXiv 2208.07339) section 2.
struct FrozenWeightFormat {
  DataType data_type = DataType::kUnspecified;  // as all weights; else kInt8, kInt4 or kFp4 (NF4)
  int64_t block_size = 0;                       // elements that share a scale; 0: see below
  bool double_quantization = false;             // scales in 8 bits, an fp32 a 256 of them
};

// Scales beside fp8 weights.
enum class WeightScaling {
  kNone,
  kTensor,  // an fp32 a tensor
  kBlock,   // an fp32 a 128 x 128 block
  kMx,      // a byte a 32 elements
};

struct StateSpec {
  PrecisionPolicy precision = {};  // with its defaults
  OptimizerSpec optimizer = {};
  StateSharding sharding = {};
  FrozenWeightFormat frozen = {};
  WeightScaling weight_scaling = WeightScaling::kNone;  // of fp8 weights and of fp8 copies
  // Copies in fp8 kept beside 16-bit weights for the matrix units: 1, or 2 with the transpose.
  int64_t fp8_weight_copies = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_STATE_SPEC_H_
