// Calibrations in proto JSON that former versions wrote.
#ifndef SEXTANT_PROTO_CALIBRATION_JSON_H_
#define SEXTANT_PROTO_CALIBRATION_JSON_H_

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sextant {

// Returns `json` with the fields of a Calibration named as today: training_pass of
// AttentionMeasurement was once `pass`. Quotes within a JSON string are escaped, so that the name
// in quotes before a colon is a key.
inline std::string WithPresentNames(absl::string_view json) {
  constexpr absl::string_view kFormer = "\"pass\"";
  std::string out;
  for (size_t at = json.find(kFormer); at != json.npos; at = json.find(kFormer)) {
    const absl::string_view after = json.substr(at + kFormer.size());
    const bool is_key = absl::StartsWith(absl::StripLeadingAsciiWhitespace(after), ":");
    absl::StrAppend(&out, json.substr(0, at), is_key ? "\"trainingPass\"" : kFormer);
    json = after;
  }
  return absl::StrCat(out, json);
}

}  // namespace sextant

#endif  // SEXTANT_PROTO_CALIBRATION_JSON_H_
