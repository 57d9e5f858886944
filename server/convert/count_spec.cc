#include "server/convert/count_spec.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/convert/model_spec.h"

namespace sextant::server {
namespace {

// Sizes that are present and 0 are mistakes: leaving a size out asks for its default.
int64_t CountOf(const v1::TrainingStep::SequenceGroup& group, size_t index,
                FieldViolations& violations) {
  if (!group.has_count()) return 1;
  SizeOrDefault(
      true, group.count(), [&] { return absl::StrCat("step.sequences[", index, "].count"); },
      violations);
  return group.count() == 0 ? 1 : group.count();
}

TrainingStepSpec StepFrom(const v1::TrainingStep& m, FieldViolations& violations) {
  TrainingStepSpec out;
  out.sequences.reserve(static_cast<size_t>(m.sequences_size()));
  for (const v1::TrainingStep::SequenceGroup& group : m.sequences()) {
    out.sequences.push_back({.count = CountOf(group, out.sequences.size(), violations),
                             .length = group.length(),
                             .encoder_length = group.encoder_length()});
  }
  out.recompute = RecomputePolicyPair::From(m.recompute(), "step.recompute", violations);
  if (m.has_expert_capacity_factor()) out.expert_capacity_factor = m.expert_capacity_factor();
  return out;
}

}  // namespace

CountSpec CountSpecFrom(const v1::CountModelRequest& request, FieldViolations& violations) {
  CountSpec out;
  out.model = ModelSpecFrom(request.model(), violations);
  if (request.has_step()) out.step = StepFrom(request.step(), violations);
  if (request.has_layout()) out.layout = ParallelLayoutFrom(request.layout(), "layout", violations);
  out.detail = FlopsDetail::kComponents;  // conventions differ by component
  out.conventions = true;
  return out;
}

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

}  // namespace sextant::server
