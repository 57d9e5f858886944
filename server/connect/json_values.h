// Numbers and times as protobuf's JSON mapping has them.
#ifndef SEXTANT_SERVER_CONNECT_JSON_VALUES_H_
#define SEXTANT_SERVER_CONNECT_JSON_VALUES_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

// True for a number of JSON, without blanks.
bool IsNumber(absl::string_view text);

// Reads a whole number, also one written as 1e3 or 8.0. False where it is none of that type.
template <typename Whole>
bool ParseWhole(absl::string_view text, Whole* out) {
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *out);
  if (error == std::errc() && rest == end) return true;
  constexpr int kDigits = std::numeric_limits<Whole>::digits;
  double value = 0;
  if (!IsNumber(text) || !absl::SimpleAtod(text, &value)) return false;
  const double low = std::numeric_limits<Whole>::is_signed ? -std::ldexp(1.0, kDigits) : 0;
  if (!(value >= low && value < std::ldexp(1.0, kDigits)) || value != std::trunc(value)) {
    return false;
  }
  *out = static_cast<Whole>(value);
  return true;
}

// Reads a finite number; in quotes also NaN, Infinity and -Infinity.
bool ParseReal(absl::string_view text, bool is_quoted, double* out);

// Reads seconds, "3.5s", within the bounds of google/protobuf/duration.proto.
bool ParseDuration(absl::string_view text, google::protobuf::Duration* out);

// Reads an instant of RFC 3339, "2026-01-31T12:00:00Z".
bool ParseTime(absl::string_view text, google::protobuf::Timestamp* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONNECT_JSON_VALUES_H_
