#include "server/connect/json_values.h"

#include <google/protobuf/util/time_util.h>

#include <cstdint>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "server/connect/json_scanner.h"

namespace sextant::server {
namespace {

bool AreDigits(absl::string_view text) {
  return absl::c_all_of(text, [](unsigned char c) { return absl::ascii_isdigit(c); });
}

}  // namespace

bool IsNumber(absl::string_view text) {
  JsonScanner scanner(text);
  absl::string_view number;
  return scanner.ReadNumber(&number) && number == text;
}

bool ParseReal(absl::string_view text, bool is_quoted, double* out) {
  if (is_quoted && (text == "NaN" || text == "Infinity" || text == "-Infinity")) {
    return absl::SimpleAtod(text, out);
  }
  return IsNumber(text) && absl::SimpleAtod(text, out) && std::isfinite(*out);
}

bool ParseDuration(absl::string_view text, google::protobuf::Duration* out) {
  constexpr int64_t kMaxSeconds = 315'576'000'000;
  const int sign = absl::ConsumePrefix(&text, "-") ? -1 : 1;
  if (!absl::ConsumeSuffix(&text, "s")) return false;
  const size_t point = text.find('.');
  const absl::string_view whole = text.substr(0, point);
  const absl::string_view part = point == text.npos ? "0" : text.substr(point + 1);
  int64_t seconds = 0;
  int32_t nanos = 0;
  if (!AreDigits(whole) || !absl::SimpleAtoi(whole, &seconds) || seconds > kMaxSeconds) {
    return false;
  }
  if (!AreDigits(part) || part.size() > 9 || !absl::SimpleAtoi(part, &nanos)) return false;
  for (size_t i = part.size(); i < 9; ++i) nanos *= 10;
  out->set_seconds(sign * seconds);
  out->set_nanos(sign * nanos);
  return true;
}

bool ParseTime(absl::string_view text, google::protobuf::Timestamp* out) {
  return google::protobuf::util::TimeUtil::FromString(std::string(text), out);
}

}  // namespace sextant::server
