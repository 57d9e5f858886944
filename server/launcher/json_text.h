// JSON of strangers.
#ifndef SEXTANT_SERVER_LAUNCHER_JSON_TEXT_H_
#define SEXTANT_SERVER_LAUNCHER_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"

namespace sextant::server {

// The object that `text` is. Infinity, which Python writes, is a large number.
//
// Errors: kInvalidArgument, saying where and what to write instead: no JSON, another value than an
// object, or nested more than 64 deep.
absl::StatusOr<nlohmann::json> ReadJson(const std::string& text);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_JSON_TEXT_H_
