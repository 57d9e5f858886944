// The division of a model over GPUs: within its matrices, along its layers and over its experts.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_PARALLEL_LAYOUT_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_PARALLEL_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// Upper limits far beyond any job.
inline constexpr int64_t kMaxTensorParallelSize = 65'536;
inline constexpr int64_t kMaxExpertParallelSize = 65'536;
inline constexpr int64_t kMaxPipelineParallelSize = 4096;

inline constexpr int64_t kMaxChunks = 16'384;  // stages x virtual stages

// The size of a layout that is not divided. A request's is absent: left open.
template <typename Size>
inline constexpr Size kUndivided = Size(1);
template <>
inline constexpr absl::optional<int64_t> kUndivided<absl::optional<int64_t>> = absl::nullopt;

// The layers are divided into pipeline_parallel_size x virtual_stage_count chunks in the order of
// the forward pass, an encoder's layers before a decoder's. Chunk i is on stage i %
// pipeline_parallel_size: with more than one virtual stage, chunks are interleaved.
// Source: Narayanan et al. 2021, arXiv 2104.04473, section 2.2.
template <typename Size>
struct ParallelSizesOf {
  Size tensor_parallel_size = kUndivided<Size>;
  // Matters where there are fewer key and value heads than tensor parallel ranks. True: each rank
  // holds a part of a head, and ranks gather their projections. False: ranks hold copies of whole
  // heads.
  bool split_key_value_heads = false;
  Size pipeline_parallel_size = kUndivided<Size>;
  Size virtual_stage_count = kUndivided<Size>;
  std::vector<int64_t> layers_per_chunk = {};    // may be 0; empty: an equal number in each
  Size expert_parallel_size = kUndivided<Size>;  // ranks that divide the routed experts
  Size expert_tensor_parallel_size = {};  // ranks that share one expert; 0: tensor_parallel_size
};

using ParallelLayout = ParallelSizesOf<int64_t>;
// The sizes that a request gives. A search chooses the others.
using ParallelSizes = ParallelSizesOf<absl::optional<int64_t>>;

// Calls `visit` with each size of two layouts.
template <typename A, typename B, typename Visit>
void ForEachSize(A& a, B& b, Visit visit) {
  visit(a.tensor_parallel_size, b.tensor_parallel_size);
  visit(a.pipeline_parallel_size, b.pipeline_parallel_size);
  visit(a.virtual_stage_count, b.virtual_stage_count);
  visit(a.expert_parallel_size, b.expert_parallel_size);
  visit(a.expert_tensor_parallel_size, b.expert_tensor_parallel_size);
}

// `sizes` with the defaults of those that are absent.
ParallelLayout LayoutOf(const ParallelSizes& sizes);

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

// `layout` with 1 for each of these sizes, so that no other field is blamed for them.
ParallelLayout WithSoundSizes(ParallelLayout layout);

// Appends to `violations` all errors of `layout` for `spec`, which has passed CheckArchitecture(),
// under paths that start with `path` (e.g. "layout"): sizes out of range, layers that don't divide
// into chunks, and a parallel size that doesn't divide its axis, with the nearest smaller one that
// does.
void CheckLayout(const ArchitectureSpec& spec, const ParallelLayout& layout, absl::string_view path,
                 FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_PARALLEL_LAYOUT_H_
