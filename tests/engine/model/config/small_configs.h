// The smallest config.json of each family that says what it has to.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_CONFIG_SMALL_CONFIGS_H_
#define SEXTANT_TESTS_ENGINE_MODEL_CONFIG_SMALL_CONFIGS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/model/config/config_fields.h"

namespace sextant {

// 4 layers, 8 wide, 16 inside where it is given, 2 heads, 10 tokens, 6 positions, 4 experts of
// which a token meets 2; with `more`.
ConfigFields SmallConfig(absl::string_view model_type, const std::vector<ConfigField>& more = {});

// `fields` with `value` in the place of the field called `name`.
inline ConfigFields With(ConfigFields fields, const std::string& name, const ConfigValue& value) {
  fields[name] = value;
  return fields;
}

// Arrays, which a ConfigField does not hold.
ConfigValue TextArray(const std::vector<std::string>& texts);
ConfigValue NumberArray(const std::vector<int64_t>& numbers);

// gpt_neo's attention_types: `types`, `times` times.
ConfigValue AttentionTypes(const std::vector<std::string>& types, int64_t times);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_CONFIG_SMALL_CONFIGS_H_
