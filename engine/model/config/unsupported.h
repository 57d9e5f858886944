// Why a config.json of another architecture is refused.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_UNSUPPORTED_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_UNSUPPORTED_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// What an error says where no Family is named, or one that is not known: why it is not supported,
// where that is known, else near names; and where all are listed. So short that an answer keeps
// it whole.
std::string ModelTypeMissing();
std::string WhyModelTypeUnsupported(absl::string_view model_type);
std::string WhyArchitectureUnsupported(absl::string_view architecture);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_UNSUPPORTED_H_
