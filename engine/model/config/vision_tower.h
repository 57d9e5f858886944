// The vision tower of a multimodal model's config.json, which is not read with its text model.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_VISION_TOWER_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_VISION_TOWER_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "engine/model/config/config_fields.h"

namespace sextant {

// Parameters of the tower that the field vision_config of `fields` describes; absent where there is
// none, or where it is not of a kind that is known: Qwen3-VL's and Qwen3.5's are.
absl::optional<int64_t> VisionParameters(const ConfigFields& fields);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_VISION_TOWER_H_
