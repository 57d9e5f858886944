#include "server/convert/count_spec.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/convert/enums.h"
#include "server/convert/model_spec.h"
#include "server/convert/optional_size.h"
#include "server/convert/parallel_layout.h"

namespace sextant {
namespace {

// Sizes that are present and 0 are mistakes: what stands for the default is to leave them out.
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
  out.recompute = RecomputePolicyFrom(m.recompute(), "step.recompute", violations);
  if (m.has_expert_capacity_factor()) out.expert_capacity_factor = m.expert_capacity_factor();
  return out;
}

}  // namespace

RecomputePolicy RecomputePolicyFrom(v1::RecomputePolicy wire, absl::string_view field,
                                    FieldViolations& violations) {
  switch (wire) {
    case v1::RECOMPUTE_POLICY_UNSPECIFIED:
    case v1::RECOMPUTE_POLICY_NONE:
      return RecomputePolicy::kNone;
    case v1::RECOMPUTE_POLICY_SELECTIVE:
      return RecomputePolicy::kSelective;
    case v1::RECOMPUTE_POLICY_FULL:
      return RecomputePolicy::kFull;
    default:
      violations.Add(field, UnknownEnumNumber(wire));
      return RecomputePolicy::kNone;
  }
}

CountSpec CountSpecFrom(const v1::CountModelRequest& request, FieldViolations& violations) {
  CountSpec out;
  out.model = ModelSpecFrom(request.model(), violations);
  if (request.has_step()) out.step = StepFrom(request.step(), violations);
  if (request.has_layout()) out.layout = ParallelLayoutFrom(request.layout(), "layout", violations);
  out.detail = FlopsDetail::kComponents;  // which conventions are told apart by
  out.conventions = true;
  return out;
}

}  // namespace sextant
