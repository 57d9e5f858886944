// What becomes of the fields of a config.json that its family does not read.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_UNREAD_FIELDS_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_UNREAD_FIELDS_H_

#include <string>
#include <vector>

#include "engine/model/config/config_reader.h"

namespace sextant {

// Refuses unread fields that say that the model has parameters beyond its family's, or another
// mask: experts, adapters, an encoder, biases and norms that the family has no option for. A
// value that says that there are none (false, 0, empty) is fine.
void RefuseCountedFields(ConfigReader& config);

// The names of all unread fields but nulls, in alphabetical order. Of an object that was read in
// part, the members: "attn_config.clip_qkv".
std::vector<std::string> IgnoredFields(const ConfigReader& config);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_UNREAD_FIELDS_H_
