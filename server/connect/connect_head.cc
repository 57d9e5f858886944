// Source: the Connect protocol, "Unary-Request", "Unary-Get-Request" and "Streaming-Request".
#include "server/connect/connect_head.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"

namespace sextant::server {
namespace {

constexpr char kTimeout[] = "Connect-Timeout-Ms";
constexpr size_t kMaxTimeoutDigits = 10;

absl::Status ReadDeadline(const HttpExchange& exchange, ConnectHead& head) {
  const absl::string_view text = exchange.Header(kTimeout);
  if (text.empty()) return absl::OkStatus();
  int64_t milliseconds = 0;
  if (text.size() > kMaxTimeoutDigits ||
      !std::all_of(text.begin(), text.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &milliseconds) || milliseconds == 0) {
    return InvalidField(kTimeout,
                        "must be a number of milliseconds from 1 to 9999999999, e.g. 5000");
  }
  head.deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(milliseconds);
  return absl::OkStatus();
}

absl::Status CheckVersion(absl::string_view name, absl::string_view sent, absl::string_view known) {
  if (sent.empty() || sent == known) return absl::OkStatus();
  return InvalidField(name, absl::StrCat("must be ", known, ", the only version"));
}

absl::Status CheckCompression(absl::string_view name, absl::string_view sent) {
  if (sent.empty() || absl::EqualsIgnoreCase(sent, "identity")) return absl::OkStatus();
  return WithReason(absl::UnimplementedError(absl::StrCat(
                        name, ": send the messages as they are: identity is all that is taken")),
                    "ENCODING_UNKNOWN");
}

absl::Status ReadParameters(const HttpExchange& exchange, ConnectHead& head) {
  const auto encoding = exchange.Parameter("encoding");
  head.codec = encoding == "proto" ? ConnectCodec::kProto : ConnectCodec::kJson;
  if (encoding != "json" && encoding != "proto") {
    return InvalidField("encoding", "must be json or proto: ?encoding=json&message={}");
  }
  if (!exchange.Parameter("message").has_value()) {
    return InvalidField("message", "is missing: ?encoding=json&message={}");
  }
  const auto base64 = exchange.Parameter("base64");
  if (base64.has_value() && *base64 != "1") {
    return InvalidField("base64", "must be 1, or left out where the message is plain");
  }
  return CheckCompression("compression", exchange.Parameter("compression").value_or(""));
}

}  // namespace

absl::optional<ConnectCodec> CodecOf(absl::string_view content_type, bool streams) {
  const absl::string_view type =
      absl::StripAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  for (const ConnectCodec codec : {ConnectCodec::kJson, ConnectCodec::kProto}) {
    if (absl::EqualsIgnoreCase(type, ContentTypeOf(codec, streams))) return codec;
  }
  return {};
}

const char* ContentTypeOf(ConnectCodec codec, bool streams) {
  if (codec == ConnectCodec::kJson) {
    return streams ? "application/connect+json" : "application/json";
  }
  return streams ? "application/connect+proto" : "application/proto";
}

const char* AcceptPostOf(bool streams) {
  return streams ? "application/connect+json, application/connect+proto"
                 : "application/json, application/proto";
}

ConnectHead HeadOfPost(const HttpExchange& exchange, ConnectCodec codec) {
  constexpr char kVersion[] = "Connect-Protocol-Version";
  constexpr char kCompression[] = "Connect-Content-Encoding";
  ConnectHead head;
  head.codec = codec;
  head.fault = CheckVersion(kVersion, exchange.Header(kVersion), "1");
  if (head.fault.ok()) head.fault = ReadDeadline(exchange, head);
  if (head.fault.ok()) {
    head.fault = CheckCompression(kCompression, exchange.Header(kCompression));
  }
  return head;
}

ConnectHead HeadOfGet(const HttpExchange& exchange) {
  ConnectHead head;
  head.is_get = true;
  head.fault = ReadParameters(exchange, head);
  if (head.fault.ok()) {
    head.fault = CheckVersion("connect", exchange.Parameter("connect").value_or(""), "v1");
  }
  if (head.fault.ok()) head.fault = ReadDeadline(exchange, head);
  return head;
}

}  // namespace sextant::server
