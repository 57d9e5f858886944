#include "server/convert/short_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace sextant {

std::string ShortName(absl::string_view name, absl::string_view prefix) {
  return absl::AsciiStrToLower(absl::StripPrefix(name, prefix));
}

}  // namespace sextant
