#include "proto/words/layout_sizes.h"

#include <algorithm>

namespace sextant::words {

LayoutSizes SizesOf(const v1::RunLayout& layout) {
  const v1::ParallelLayout& parallel = layout.parallel();
  const auto or_one = [](int64_t size) { return std::max<int64_t>(size, 1); };
  return {.tensor = or_one(parallel.tensor_parallel_size()),
          .pipeline = or_one(parallel.pipeline_parallel_size()),
          .virtual_stages = or_one(parallel.virtual_stage_count()),
          .context = or_one(layout.context_parallel_size()),
          .expert = or_one(parallel.expert_parallel_size()),
          .expert_tensor = std::max<int64_t>(parallel.expert_tensor_parallel_size(), 0),
          .micro_batch = or_one(layout.micro_batch_size())};
}

}  // namespace sextant::words
