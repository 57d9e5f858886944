#include "engine/model/model_spec.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/transformer_spec.h"

namespace sextant {
namespace {

int64_t LayersOf(const StackSpec& stack) {
  int64_t sum = 0;
  for (const LayerRun& run : stack.layers) sum += run.count;
  return sum;
}

// Freezes up to `count` layers from the first one on, splitting a run where they end inside it.
// Returns the number of layers that remain to be frozen.
int64_t FreezeLayers(StackSpec& stack, int64_t count) {
  std::vector<LayerRun> runs;
  runs.reserve(stack.layers.size() + 1);
  for (LayerRun run : stack.layers) {
    const int64_t frozen = std::min(run.count, count);
    count -= frozen;
    if (frozen > 0) {
      runs.push_back({.layer_kind = run.layer_kind, .count = frozen, .frozen = true});
    }
    run.count -= frozen;
    if (run.count > 0) runs.push_back(run);
  }
  stack.layers = std::move(runs);
  return count;
}

void PadVocabulary(const ModelChanges& changes, absl::string_view path, EmbeddingSpec& embedding,
                   FieldViolations& violations) {
  if (!changes.vocabulary_multiple.has_value()) return;
  const int64_t multiple = *changes.vocabulary_multiple;
  if (multiple < 1 || multiple > kMaxVocabularySize) return;  // reported already
  embedding.padded_vocabulary_size = PaddedVocabularySize(
      std::max(embedding.vocabulary_size, embedding.padded_vocabulary_size), multiple);
  if (embedding.padded_vocabulary_size > kMaxVocabularySize) {
    violations.Add(FieldPath(path, "vocabulary_multiple"),
                   absl::StrCat("pads the vocabulary to ", embedding.padded_vocabulary_size,
                                " tokens, more than ", kMaxVocabularySize));
  }
}

// Frozen parts must exist, and something must remain to be trained.
void CheckTrained(const ModelChanges& changes, absl::string_view path, const ArchitectureSpec& spec,
                  FieldViolations& violations) {
  const WeightTensors tensors = WeightsOf(spec);
  for (size_t i = 0; i < changes.frozen_components.size(); ++i) {
    const WeightComponent component = changes.frozen_components[i];
    if (absl::c_any_of(tensors, [component](const WeightTensor& tensor) {
          return tensor.component == component;
        })) {
      continue;
    }
    const bool tied =
        component == WeightComponent::kOutputHead && spec.output.head == OutputHeadKind::kTied;
    violations.Add(
        absl::StrCat(FieldPath(path, "frozen_components"), "[", i, "]"),
        absl::StrCat("is ", WeightComponentName(component), ", which ",
                     tied ? "is tied: write token_embedding" : "the model has not: leave it out"));
  }
  if (absl::c_none_of(tensors, [](const WeightTensor& t) { return t.trained_copies() > 0; })) {
    violations.Add(path, "leave nothing to train: freeze less, or add adapters");
  }
}

int WaysOf(const ModelSpec& model) {
  return (model.preset.empty() ? 0 : 1) + (model.transformer.has_value() ? 1 : 0) +
         (model.parameter_count.has_value() ? 1 : 0) +
         (model.hugging_face_config.has_value() ? 1 : 0) + (model.architecture.has_value() ? 1 : 0);
}

ShapedModel Owned(absl::string_view name, ArchitectureSpec architecture) {
  auto own = std::make_shared<ArchitectureSpec>(std::move(architecture));
  const ArchitectureSpec* const pointer = own.get();
  return {.name = name, .architecture = pointer, .own = std::move(own)};
}

ShapedModel Unchanged(const ModelSpec& model, const ModelPreset* preset) {
  if (preset != nullptr) {
    return {
        .name = preset->name, .architecture = &preset->architecture, .checked = preset->checked};
  }
  if (model.hugging_face_config.has_value()) {
    return {.name = model.hugging_face_config->model_type,
            .architecture = &model.hugging_face_config->architecture};
  }
  if (model.architecture.has_value())
    return {.name = "architecture", .architecture = &*model.architecture};
  return Owned("transformer", DenseDecoder(*model.transformer));
}

}  // namespace

bool IsNone(const ModelChanges& changes) {
  return !changes.vocabulary_multiple.has_value() && !changes.adapters.has_value() &&
         !changes.base_frozen && changes.frozen_components.empty() &&
         changes.frozen_layer_count == 0;
}

void ApplyChanges(const ModelChanges& changes, absl::string_view path, ArchitectureSpec& spec,
                  FieldViolations& violations) {
  const size_t faults = violations.found_count();
  PadVocabulary(changes, path, spec.embedding, violations);
  const int64_t layers = LayersOf(spec.encoder) + LayersOf(spec.decoder);
  violations.RequireRange(path, "frozen_layer_count", changes.frozen_layer_count, 0, layers);
  if (changes.frozen_layer_count >= 0 && changes.frozen_layer_count <= layers) {
    FreezeLayers(spec.decoder, FreezeLayers(spec.encoder, changes.frozen_layer_count));
  }
  if (changes.adapters.has_value()) spec.adapters = changes.adapters;
  if (changes.base_frozen) spec.base_frozen = true;
  spec.frozen_components.insert(spec.frozen_components.end(), changes.frozen_components.begin(),
                                changes.frozen_components.end());
  // The remaining errors are in fields of the same names.
  CheckArchitecture(spec, path, violations);
  if (violations.found_count() == faults) CheckTrained(changes, path, spec, violations);
}

void CheckModel(const ModelSpec& model, FieldViolations& violations) {
  const int ways = WaysOf(model);
  if (ways != 1) {
    violations.Add("model", absl::StrCat(ways == 0 ? "is required" : "is given more than once",
                                         ": write exactly one of model.preset, "
                                         "model.transformer, model.parameter_count, "
                                         "model.hugging_face_config and model.architecture"));
  }
  if (model.transformer.has_value()) {
    CheckTransformer(*model.transformer, "model.transformer", violations);
  }
  if (model.architecture.has_value()) {
    CheckArchitecture(*model.architecture, "model.architecture", violations);
  }
  if (!model.parameter_count.has_value()) return;
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

absl::Status CheckShape(ShapedModel& model) {
  if (model.checked != nullptr) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(model.checked, CheckedModel::OfSound(*model.architecture, "model"));
  return absl::OkStatus();
}

}  // namespace sextant
