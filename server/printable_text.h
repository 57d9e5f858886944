// Bytes of unknown origin as text that any wire and any terminal takes.
#ifndef SEXTANT_SERVER_PRINTABLE_TEXT_H_
#define SEXTANT_SERVER_PRINTABLE_TEXT_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// `bytes` in valid UTF-8 on one line: U+FFFD in place of what is not UTF-8, a blank in place
// of control characters, none at either end.
std::string PrintableText(absl::string_view bytes);

}  // namespace sextant

#endif  // SEXTANT_SERVER_PRINTABLE_TEXT_H_
