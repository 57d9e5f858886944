// The model of a request, in one of the ways that it can be given.
#ifndef SEXTANT_ENGINE_MODEL_MODEL_SPEC_H_
#define SEXTANT_ENGINE_MODEL_MODEL_SPEC_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/model_changes.h"
#include "engine/model/hugging_face_model.h"
#include "engine/model/presets/presets.h"
#include "engine/model/transformer_spec.h"

namespace sextant {

// Exactly one of all but `changes`.
struct ModelSpec {
  absl::string_view preset;  // empty: not given
  absl::optional<TransformerSpec> transformer = {};
  absl::optional<int64_t> parameter_count = {};
  // Given but empty where it could not be read: the reader's violations say why.
  absl::optional<HuggingFaceModel> hugging_face_config = {};
  absl::optional<ArchitectureSpec> architecture = {};
  ModelChanges changes = {};
};

// Appends to `violations` all that is wrong with `model`, whose field is "model", taken by itself:
// names are looked up later, and changes once it is known what they change.
void CheckModel(const ModelSpec& model, FieldViolations& violations);

// Whether nothing that `violations` name is wrong with the model itself, but for its changes.
bool IsShapeSound(const FieldViolations& violations);

// A model with its shape.
struct ShapedModel {
  absl::string_view name;  // the preset's, the config.json's model_type or the way it was given
  const ArchitectureSpec* architecture = nullptr;  // into the ModelSpec, a preset or `own`
  std::unique_ptr<ArchitectureSpec> own = nullptr;
};

// The shape of `model`, which CheckModel() has passed and which is no bare parameter_count;
// `preset` is what it names, if it names one. What is wrong with its changes is appended to
// `violations`; the shape is then of use for checks alone.
ShapedModel ShapeOf(const ModelSpec& model, const ModelPreset* preset, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_MODEL_SPEC_H_
