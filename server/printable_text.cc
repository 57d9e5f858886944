#include "server/printable_text.h"

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"

namespace sextant {

std::string PrintableText(absl::string_view bytes) {
  const nlohmann::json raw = std::string(bytes);
  const std::string valid = raw.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  auto text = nlohmann::json::parse(valid).get<std::string>();
  for (char& c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  absl::StripAsciiWhitespace(&text);
  return text;
}

}  // namespace sextant
