// What is done to a model before it is trained.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_MODEL_CHANGES_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_MODEL_CHANGES_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// What is absent, empty or 0 stays as the model has it.
struct ModelChanges {
  absl::optional<int64_t> vocabulary_multiple = {};  // the vocabulary is padded to a multiple of it
  absl::optional<AdapterSpec> adapters = {};
  bool base_frozen = false;
  std::vector<WeightComponent> frozen_components = {};
  int64_t frozen_layer_count = 0;  // the first ones of the forward pass, encoder before decoder
};

// Whether `changes` leave any model as it is.
bool IsNone(const ModelChanges& changes);

// Changes `spec`, which CheckArchitecture() has passed. What is wrong with `changes`, whose fields
// stand at `path`, is appended to `violations`; then `spec` is of no use.
void ApplyChanges(const ModelChanges& changes, absl::string_view path, ArchitectureSpec& spec,
                  FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_MODEL_CHANGES_H_
