// JSON of strangers, and their YAML as JSON values, typed as PyYAML types it.
#ifndef SEXTANT_SERVER_LAUNCHER_JSON_TEXT_H_
#define SEXTANT_SERVER_LAUNCHER_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sextant::server {

// The object that `text` is. Infinity, which Python writes, is a large number.
//
// Errors: kInvalidArgument, saying where and what to write instead: no JSON, another value than an
// object, or nested more than 64 deep.
absl::StatusOr<nlohmann::json> ReadJson(const std::string& text);

// The documents of `text`, those that hold nothing left out. Of a key that stands twice the last
// counts. Plain words have PyYAML's types (YAML 1.1): `on` is true, `1_000` is 1000; but `1e-5`,
// which PyYAML reads as a text, is the number that its readers make of it.
//
// Errors: kInvalidArgument, saying where and what to write instead: no YAML, nested more than 32
// deep, or an alias ("*name"), by which a short text can stand for a huge one.
absl::StatusOr<std::vector<nlohmann::json>> ReadYaml(const std::string& text);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_JSON_TEXT_H_
