#include "engine/model/architecture/model_changes.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/architecture/size_limits.h"

namespace sextant {
namespace {

int64_t LayersOf(const StackSpec& stack) {
  int64_t sum = 0;
  for (const LayerRun& run : stack.layers) sum += run.count;
  return sum;
}

// Freezes up to `count` layers from the first one on, cutting a run in two where they end inside
// it. Returns how many are still to be frozen.
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
  violations.RequireRange(path, "vocabulary_multiple", multiple, 1, kMaxVocabularySize);
  if (multiple < 1 || multiple > kMaxVocabularySize) return;
  embedding.padded_vocabulary_size = PaddedVocabularySize(
      std::max(embedding.vocabulary_size, embedding.padded_vocabulary_size), multiple);
  if (embedding.padded_vocabulary_size > kMaxVocabularySize) {
    violations.Add(FieldPath(path, "vocabulary_multiple"),
                   absl::StrCat("pads the vocabulary to ", embedding.padded_vocabulary_size,
                                " tokens, more than ", kMaxVocabularySize));
  }
}

// What is frozen has to be there, and something has to be left.
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

}  // namespace

bool IsNone(const ModelChanges& changes) {
  return !changes.vocabulary_multiple.has_value() && !changes.adapters.has_value() &&
         !changes.base_frozen && changes.frozen_components.empty() &&
         changes.frozen_layer_count == 0;
}

void ApplyChanges(const ModelChanges& changes, absl::string_view path, ArchitectureSpec& spec,
                  FieldViolations& violations) {
  const size_t faults = violations.all().size();
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
  // What is left to be wrong stands in fields of the same names.
  CheckArchitecture(spec, path, violations);
  if (violations.all().size() == faults) CheckTrained(changes, path, spec, violations);
}

}  // namespace sextant
