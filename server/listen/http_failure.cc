#include "server/listen/http_failure.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "server/call/connect_error.h"
#include "server/call/status.h"

namespace sextant::server {
namespace {

// Codes: those that a Connect client concludes from the status where there is no body, but for
// faults of the request that it can correct. Source: the Connect protocol, "HTTP to Error Code".
struct FaultRow {
  HttpFault fault;
  int http_status;
  absl::StatusCode code;
  const char* reason;
};
constexpr FaultRow kFaults[] = {
    {HttpFault::kMalformed, 400, absl::StatusCode::kInvalidArgument, "HTTP_MALFORMED"},
    {HttpFault::kForeign, 403, absl::StatusCode::kPermissionDenied, "HTTP_FOREIGN"},
    {HttpFault::kUnknownPath, 404, absl::StatusCode::kUnimplemented, "PATH_UNKNOWN"},
    {HttpFault::kUnknownMethod, 405, absl::StatusCode::kUnimplemented, "METHOD_NOT_ALLOWED"},
    {HttpFault::kSlowBody, 408, absl::StatusCode::kDeadlineExceeded, "REQUEST_TOO_SLOW"},
    {HttpFault::kNoLength, 411, absl::StatusCode::kInvalidArgument, "HTTP_MALFORMED"},
    {HttpFault::kLargeBody, 413, absl::StatusCode::kResourceExhausted, "REQUEST_TOO_LARGE"},
    {HttpFault::kLargeHead, 431, absl::StatusCode::kResourceExhausted, "REQUEST_TOO_LARGE"},
    {HttpFault::kEncoded, 501, absl::StatusCode::kUnimplemented, "ENCODING_UNKNOWN"},
    {HttpFault::kBusy, 503, absl::StatusCode::kUnavailable, "SERVER_BUSY"}};

constexpr char kHttpStatus[] = "type.sextant/http_status";

int HttpStatusOfFailure(const absl::Status& status) {
  const auto fault = status.GetPayload(kHttpStatus);
  if (!fault.has_value()) return HttpStatusOf(status.code());
  return std::stoi(std::string(*fault));
}

}  // namespace

absl::Status HttpError(HttpFault fault, absl::string_view message) {
  const auto* const row =
      std::find_if(std::begin(kFaults), std::end(kFaults),
                   [fault](const FaultRow& each) { return each.fault == fault; });
  absl::Status out = WithReason(absl::Status(row->code, message), row->reason);
  out.SetPayload(kHttpStatus, absl::Cord(absl::StrCat(row->http_status)));
  return out;
}

HttpAnswer FailureAnswer(const absl::Status& status, absl::string_view trace_id) {
  HttpAnswer out = {.status = HttpStatusOfFailure(status),
                    .content_type = "application/json",
                    .body = ConnectErrorJson(status, trace_id)};
  constexpr int kUnauthorized = 401;
  if (out.status == kUnauthorized) out.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (const auto delay = RetryDelaySecondsOf(status); delay.has_value()) {
    out.headers.emplace_back("Retry-After", absl::StrCat(static_cast<int64_t>(std::ceil(*delay))));
  }
  return out;
}

}  // namespace sextant::server
