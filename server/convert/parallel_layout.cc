#include "server/convert/parallel_layout.h"

#include "server/convert/optional_size.h"

namespace sextant {

ParallelLayout ParallelLayoutFrom(const v1::ParallelLayout& m, absl::string_view path,
                                  FieldViolations& violations) {
  const auto set = [&](bool present, int64_t value, absl::string_view name, int64_t& size) {
    SizeOrDefault(
        present, value, [&] { return FieldPath(path, name); }, violations);
    if (value != 0) size = value;
  };
  ParallelLayout out;
  set(m.has_tensor_parallel_size(), m.tensor_parallel_size(), "tensor_parallel_size",
      out.tensor_parallel_size);
  set(m.has_pipeline_parallel_size(), m.pipeline_parallel_size(), "pipeline_parallel_size",
      out.pipeline_parallel_size);
  set(m.has_virtual_stage_count(), m.virtual_stage_count(), "virtual_stage_count",
      out.virtual_stage_count);
  set(m.has_expert_parallel_size(), m.expert_parallel_size(), "expert_parallel_size",
      out.expert_parallel_size);
  set(m.has_expert_tensor_parallel_size(), m.expert_tensor_parallel_size(),
      "expert_tensor_parallel_size", out.expert_tensor_parallel_size);
  out.layers_per_chunk.assign(m.layers_per_chunk().begin(), m.layers_per_chunk().end());
  out.split_key_value_heads = m.split_key_value_heads();
  return out;
}

}  // namespace sextant
