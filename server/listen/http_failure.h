// The end of every request over HTTP that fails.
#ifndef SEXTANT_SERVER_LISTEN_HTTP_FAILURE_H_
#define SEXTANT_SERVER_LISTEN_HTTP_FAILURE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/listen/http_exchange.h"

namespace sextant::server {

// Faults of a request that no method sees; each is a status of HTTP.
enum class HttpFault {
  kMalformed,      // 400
  kForeign,        // 403: by a page of another site
  kUnknownPath,    // 404
  kUnknownMethod,  // 405
  kSlowBody,       // 408
  kNoLength,       // 411
  kLargeBody,      // 413
  kLargeHead,      // 431
  kEncoded,        // 501
  kBusy,           // 503
};

// The error of `fault`, which carries its status of HTTP.
absl::Status HttpError(HttpFault fault, absl::string_view message);

// The answer to a request that ended with `status`, an error of HttpError() or of a call: its JSON
// as the Connect protocol has it, and the status of HTTP that belongs to it. Every failure of the
// HTTP port is answered by this function.
HttpAnswer FailureAnswer(const absl::Status& status, absl::string_view trace_id = "");

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP_FAILURE_H_
