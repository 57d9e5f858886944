// Fields of the smallest config.json of families whose layers are of several kinds.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_CONFIG_SMALL_MIXER_CONFIGS_H_
#define SEXTANT_TESTS_ENGINE_MODEL_CONFIG_SMALL_MIXER_CONFIGS_H_

#include <map>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/model/config/config_fields.h"

namespace sextant {

// Llama's fields, and `more`.
std::vector<ConfigField> LlamaWith(const std::vector<ConfigField>& more);

// By model_type.
const std::map<absl::string_view, std::vector<ConfigField>>& MixerFields();

// Adds the arrays that say which layers have attention.
void AddMixerArrays(absl::string_view model_type, ConfigFields& out);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_CONFIG_SMALL_MIXER_CONFIGS_H_
