// Why a config.json of another architecture is refused.
#ifndef SEXTANT_SERVER_HUGGING_FACE_UNSUPPORTED_H_
#define SEXTANT_SERVER_HUGGING_FACE_UNSUPPORTED_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// What an error says of a model_type or architecture that is no Family: what it is, where that
// is known, and what is supported.
std::string WhyUnsupported(absl::string_view name);

}  // namespace sextant

#endif  // SEXTANT_SERVER_HUGGING_FACE_UNSUPPORTED_H_
