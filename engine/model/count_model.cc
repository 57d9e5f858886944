#include "engine/model/count_model.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {
namespace {

// The preset that `model` names; null if it names none. Appends the model's errors to
// `violations`. An unknown name is one of them only if there are other errors.
absl::StatusOr<const ModelPreset*> CheckedPreset(const ModelSpec& model,
                                                 FieldViolations& violations) {
  CheckModel(model, violations);
  if (model.parameter_count.has_value()) {
    violations.Add("model.parameter_count",
                   "has no shapes to count: give the model in another way");
  }
  if (model.preset.empty()) return nullptr;
  const auto preset = FindModelPreset(model.preset);
  if (preset.ok()) return *preset;
  if (violations.empty()) return WithField(preset.status(), "model.preset");
  violations.Add("model.preset", preset.status().message());
  return nullptr;
}

void CountStep(const CountSpec& spec, CountedModel& out) {
  const CheckedModel& model = *out.model.checked;
  out.flops = CountFlops(model.spec(), model.tensors(), *spec.step, spec.detail);
  if (!spec.conventions) return;
  const ConventionInput input = {
      .spec = model.spec(), .tensors = model.tensors(), .step = *spec.step, .flops = *out.flops};
  out.conventions = FlopsByConvention(input);
  out.kaplan_table = KaplanTable(input).value_or(std::vector<KaplanRow>());
}

}  // namespace

absl::StatusOr<CountedModel> CountModel(const CountSpec& spec, FieldViolations found) {
  SEXTANT_ASSIGN_OR_RETURN(const ModelPreset* const preset, CheckedPreset(spec.model, found));
  CountedModel out;
  // A layout is checked against a valid shape, so an invalid shape has to be fixed first.
  if (!IsShapeSound(found)) {
    if (spec.step.has_value() && spec.model.architecture.has_value()) {
      CheckTrainingStep(*spec.step, *spec.model.architecture, "step", found);
    }
    return found.ToStatus();
  }
  out.model = ShapeOf(spec.model, preset, found);
  const ArchitectureSpec& architecture = *out.model.architecture;
  if (spec.step.has_value()) CheckTrainingStep(*spec.step, architecture, "step", found);
  if (spec.layout.has_value()) CheckLayout(architecture, *spec.layout, "layout", found);
  SEXTANT_RETURN_IF_ERROR(found.ToStatus());
  SEXTANT_RETURN_IF_ERROR(CheckShape(out.model));
  if (spec.step.has_value()) CountStep(spec, out);
  if (spec.layout.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(out.shards,
                             ShardedWeights::Of(out.model.checked, *spec.layout, "layout"));
  }
  return out;
}

}  // namespace sextant
