// Text on its way into a message.
#ifndef SEXTANT_SERVER_CONVERT_TEXT_H_
#define SEXTANT_SERVER_CONVERT_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// Setters of messages take no views.
inline std::string Text(absl::string_view text) { return std::string(text); }

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_TEXT_H_
