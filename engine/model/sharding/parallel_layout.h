// The division of a model over GPUs: within its matrices, along its layers and over its experts.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_PARALLEL_LAYOUT_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_PARALLEL_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// Upper limits far beyond any job.
inline constexpr int64_t kMaxTensorParallelSize = 65'536;
inline constexpr int64_t kMaxExpertParallelSize = 65'536;
inline constexpr int64_t kMaxPipelineParallelSize = 4096;

inline constexpr int64_t kMaxChunks = 16'384;  // stages x virtual stages

// The layers are divided into pipeline_parallel_size x virtual_stage_count chunks in the order of
// the forward pass, an encoder's layers before a decoder's. Chunk i is on stage i %
// pipeline_parallel_size: with more than one virtual stage, chunks are interleaved.
// Source: Narayanan et al. 2021, arXiv 2104.04473, section 2.2.
struct ParallelLayout {
  int64_t tensor_parallel_size = 1;
  // Matters where there are fewer key and value heads than tensor parallel ranks. True: each rank
  // holds a part of a head, and ranks gather their projections. False: ranks hold copies of whole
  // heads.
  bool split_key_value_heads = false;
  int64_t pipeline_parallel_size = 1;
  int64_t virtual_stage_count = 1;
  std::vector<int64_t> layers_per_chunk = {};  // may be 0; empty: an equal number in each
  int64_t expert_parallel_size = 1;            // ranks that divide the routed experts
  int64_t expert_tensor_parallel_size = 0;  // ranks that share one expert; 0: tensor_parallel_size
};

inline int64_t ChunkCount(const ParallelLayout& layout) {
  return layout.pipeline_parallel_size * layout.virtual_stage_count;
}

inline int64_t ExpertTensorParallelSize(const ParallelLayout& layout) {
  return layout.expert_tensor_parallel_size == 0 ? layout.tensor_parallel_size
                                                 : layout.expert_tensor_parallel_size;
}

// Appends to `violations` the sizes of `layout` that are out of range; true: none is.
bool CheckLayoutRanges(const ParallelLayout& layout, absl::string_view path,
                       FieldViolations& violations);

// Appends to `violations` all errors of `layout` for `spec`, which has passed CheckArchitecture(),
// under paths that start with `path` (e.g. "layout"): sizes out of range, layers that don't divide
// into chunks, and a parallel size that doesn't divide its axis, with the nearest smaller one that
// does.
void CheckLayout(const ArchitectureSpec& spec, const ParallelLayout& layout, absl::string_view path,
                 FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_PARALLEL_LAYOUT_H_
