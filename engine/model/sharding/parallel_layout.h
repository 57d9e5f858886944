// How a model is cut over GPUs: within its matrices, along its layers and over its experts.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_PARALLEL_LAYOUT_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_PARALLEL_LAYOUT_H_

#include <cstdint>
#include <vector>

namespace sextant {

// Upper ends far beyond any job.
inline constexpr int64_t kMaxTensorParallelSize = 65'536;
inline constexpr int64_t kMaxExpertParallelSize = 65'536;
inline constexpr int64_t kMaxPipelineParallelSize = 4096;
inline constexpr int64_t kMaxChunks = 65'536;  // stages x virtual stages

// The layers are cut into pipeline_parallel_size x virtual_stage_count chunks in the order of the
// forward pass, an encoder's layers before a decoder's. Chunk i is on stage
// i % pipeline_parallel_size: with more than one virtual stage, chunks are interleaved.
// Source: Narayanan et al. 2021, arXiv 2104.04473, section 2.2.
struct ParallelLayout {
  int64_t tensor_parallel_size = 1;
  // Of key and value heads fewer than the ranks of tensor parallelism: whether each rank holds a
  // part of one, and ranks gather what they project; else ranks hold copies of whole ones.
  bool split_key_value_heads = false;
  int64_t pipeline_parallel_size = 1;
  int64_t virtual_stage_count = 1;
  std::vector<int64_t> layers_per_chunk = {};  // may be 0; empty: as many in each
  int64_t expert_parallel_size = 1;            // ranks among which the routed experts are dealt out
  int64_t expert_tensor_parallel_size = 0;     // ranks that share one; 0: tensor_parallel_size
};

inline int64_t ChunkCount(const ParallelLayout& layout) {
  return layout.pipeline_parallel_size * layout.virtual_stage_count;
}

inline int64_t ExpertTensorParallelSize(const ParallelLayout& layout) {
  return layout.expert_tensor_parallel_size == 0 ? layout.tensor_parallel_size
                                                 : layout.expert_tensor_parallel_size;
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_PARALLEL_LAYOUT_H_
