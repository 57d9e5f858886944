// TOML of strangers as JSON values.
#ifndef SEXTANT_SERVER_LAUNCHER_TOML_TEXT_H_
#define SEXTANT_SERVER_LAUNCHER_TOML_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"

namespace sextant::server {

// The table that `text` is. Dates are the text "date": no setting is one.
//
// Errors: kInvalidArgument, saying where and what is wrong: no TOML, or a name of more than 32
// parts.
absl::StatusOr<nlohmann::json> ReadToml(const std::string& text);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_TOML_TEXT_H_
