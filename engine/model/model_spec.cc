#include "engine/model/model_spec.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/dense_decoder.h"

namespace sextant {
namespace {

int WaysOf(const ModelSpec& model) {
  return (model.preset.empty() ? 0 : 1) + (model.transformer.has_value() ? 1 : 0) +
         (model.parameter_count.has_value() ? 1 : 0) +
         (model.hugging_face_config.has_value() ? 1 : 0) + (model.architecture.has_value() ? 1 : 0);
}

ShapedModel Owned(absl::string_view name, ArchitectureSpec architecture) {
  auto own = std::make_unique<ArchitectureSpec>(std::move(architecture));
  const ArchitectureSpec* const pointer = own.get();
  return {.name = name, .architecture = pointer, .own = std::move(own)};
}

ShapedModel Unchanged(const ModelSpec& model, const ModelPreset* preset) {
  if (preset != nullptr) return {.name = preset->name, .architecture = &preset->architecture};
  if (model.hugging_face_config.has_value()) {
    return {.name = model.hugging_face_config->model_type,
            .architecture = &model.hugging_face_config->architecture};
  }
  if (model.architecture.has_value())
    return {.name = "architecture", .architecture = &*model.architecture};
  return Owned("transformer", DenseDecoder(*model.transformer));
}

}  // namespace

void CheckModel(const ModelSpec& model, FieldViolations& violations) {
  const int ways = WaysOf(model);
  if (ways != 1) {
    violations.Add("model", absl::StrCat(ways == 0 ? "is required" : "is given more than once",
                                         ": write exactly one of preset, transformer, "
                                         "parameter_count, hugging_face_config and architecture"));
  }
  if (model.transformer.has_value()) {
    CheckTransformer(*model.transformer, "model.transformer", violations);
  }
  if (model.architecture.has_value()) {
    CheckArchitecture(*model.architecture, "model.architecture", violations);
  }
  if (!model.parameter_count.has_value()) return;
  violations.RequireRange("model", "parameter_count", *model.parameter_count, 1,
                          kMaxParameterCount);
  if (!IsNone(model.changes)) {
    violations.Add("model.changes",
                   "need the shapes of the model's tensors, which a bare parameter_count does not "
                   "have: give the model in another way");
  }
}

bool IsShapeSound(const FieldViolations& violations) {
  return absl::c_none_of(violations.all(), [](const FieldViolation& violation) {
    return violation.field == "model" || (absl::StartsWith(violation.field, "model.") &&
                                          !absl::StartsWith(violation.field, "model.changes"));
  });
}

ShapedModel ShapeOf(const ModelSpec& model, const ModelPreset* preset,
                    FieldViolations& violations) {
  ShapedModel out = Unchanged(model, preset);
  if (IsNone(model.changes)) return out;
  if (out.own == nullptr) out = Owned(out.name, *out.architecture);
  ApplyChanges(model.changes, "model.changes", *out.own, violations);
  return out;
}

}  // namespace sextant
