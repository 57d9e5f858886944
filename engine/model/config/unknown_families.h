// Why a config.json's model is of no family that is read: the part that is missing, where that is
// known, and what to do instead.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_UNKNOWN_FAMILIES_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_UNKNOWN_FAMILIES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// Each ends with the place where all families are listed, and is short enough that an answer, which
// cuts descriptions at 256 bytes, keeps it whole. No other family is suggested: its count would be
// wrong.
std::string ModelTypeMissing();
std::string WhyModelTypeUnsupported(absl::string_view model_type);
std::string WhyArchitectureUnsupported(absl::string_view architecture);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_UNKNOWN_FAMILIES_H_
