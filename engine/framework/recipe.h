// Recipes that a framework itself publishes for a model, where their types of gradients and of the
// optimizer's state are others than the framework's defaults.
#ifndef SEXTANT_ENGINE_FRAMEWORK_RECIPE_H_
#define SEXTANT_ENGINE_FRAMEWORK_RECIPE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/framework/framework.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// A recipe to pretrain a model in bf16, with fp32 master weights and Adam.
struct Recipe {
  absl::string_view name;  // "moonlight_16b"
  Framework framework = Framework::kMegatronBridge;
  // The model: its size, its decoder's layers, its tokens, and the experts of a layer; 0: none.
  // DeepSeek-V2-Lite differs from Moonlight in its tokens alone.
  int64_t hidden_size = 0;
  int64_t layer_count = 0;
  int64_t vocabulary_size = 0;
  int64_t expert_count = 0;
  DataType gradients = DataType::kFp32;
  DataType moments = DataType::kFp32;
  absl::string_view source;
};

// The framework's recipe for a model of that shape; nullptr where there is none, where it has the
// framework's own types, and where a part of the model is frozen: those for tuning have other
// types.
const Recipe* FindRecipe(Framework framework, const ArchitectureSpec& model);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_FRAMEWORK_RECIPE_H_
