// The model of a request, in one of the forms in which it can be given, and the changes made to it
// before training.
#ifndef SEXTANT_ENGINE_MODEL_MODEL_SPEC_H_
#define SEXTANT_ENGINE_MODEL_MODEL_SPEC_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/checked_model.h"
#include "engine/model/config/read_config.h"
#include "engine/model/presets/presets.h"
#include "engine/model/transformer_spec.h"

namespace sextant {

// Changes to a model. Absent, empty or 0 means no change.
struct ModelChanges {
  absl::optional<int64_t> vocabulary_multiple = {};  // pads the vocabulary to a multiple of it
  absl::optional<AdapterSpec> adapters = {};
  bool base_frozen = false;
  std::vector<WeightComponent> frozen_components = {};
  int64_t frozen_layer_count = 0;  // the first layers of the forward pass, encoder before decoder
};

// True where `changes` change no model.
bool IsNone(const ModelChanges& changes);

// Changes `spec`, which has passed CheckArchitecture(). Appends the errors of `changes`, whose
// fields are at `path`, to `violations`; then `spec` is unusable.
void ApplyChanges(const ModelChanges& changes, absl::string_view path, ArchitectureSpec& spec,
                  FieldViolations& violations);

// Exactly one of the fields other than `changes`.
struct ModelSpec {
  absl::string_view preset;  // empty: not given
  absl::optional<TransformerSpec> transformer = {};
  absl::optional<int64_t> parameter_count = {};
  // Present but empty where it could not be read: the reader's violations say why.
  absl::optional<HuggingFaceModel> hugging_face_config = {};
  absl::optional<ArchitectureSpec> architecture = {};
  ModelChanges changes = {};
};

// Appends to `violations` all errors of `model`, whose field is "model", taken by itself. Names
// are looked up later; changes are checked once the model is known.
void CheckModel(const ModelSpec& model, FieldViolations& violations);

// True where no violation concerns the model itself, apart from its changes.
bool IsShapeSound(const FieldViolations& violations);

// A model with its shape.
struct ShapedModel {
  absl::string_view name;  // the preset's, the config.json's model_type or the way it was given
  const ArchitectureSpec* architecture = nullptr;  // into the ModelSpec, a preset or `own`
  std::shared_ptr<ArchitectureSpec> own = nullptr;
  std::shared_ptr<const CheckedModel> checked = nullptr;  // null until CheckShape()
};

// The shape of `model`, which has passed CheckModel() and is not a bare parameter_count; `preset`
// is the one it names, if any. Appends the errors of its changes to `violations`; then the shape is
// usable only for checks.
ShapedModel ShapeOf(const ModelSpec& model, const ModelPreset* preset, FieldViolations& violations);

// Counts the weights of `model`, whose shape ShapeOf() found no fault with, where that was not done
// before. Errors: CountWeights()'s.
absl::Status CheckShape(ShapedModel& model);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_MODEL_SPEC_H_
