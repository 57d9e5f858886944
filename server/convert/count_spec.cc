#include "server/convert/count_spec.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "engine/run/job.h"
#include "server/convert/enums.h"
#include "server/convert/layout.h"
#include "server/convert/message_fields.h"
#include "server/convert/model_spec.h"

namespace sextant::server {
namespace {

TrainingStepSpec StepFrom(const v1::TrainingStep& m, FieldViolations& violations) {
  TrainingStepSpec out;
  out.sequences.reserve(static_cast<size_t>(m.sequences_size()));
  for (const v1::TrainingStep::SequenceGroup& group : m.sequences()) {
    out.sequences.push_back({.count = group.has_count() ? group.count() : 1,
                             .length = group.length(),
                             .encoder_length = group.encoder_length()});
  }
  out.recompute = RecomputePolicyPair::From(m.recompute(), "step.recompute", violations);
  if (m.has_expert_capacity_factor()) out.expert_capacity_factor = m.expert_capacity_factor();
  return out;
}

}  // namespace

CountSpec CountSpecFrom(const v1::CountModelRequest& request, FieldViolations& violations) {
  static const check::NumberLimits limits(*v1::CountModelRequest::descriptor());
  CheckNumbers(limits, request, "", violations);
  CountSpec out;
  out.model = ModelSpecFrom(request.model(), violations);
  if (request.has_step()) out.step = StepFrom(request.step(), violations);
  if (request.has_layout()) out.layout = LayoutOf(ParallelSizesFrom(request.layout()));
  out.detail = FlopsDetail::kComponents;  // conventions differ by component
  out.conventions = true;
  return out;
}

}  // namespace sextant::server
