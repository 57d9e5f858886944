// Statuses as the Connect protocol has them: a code, an HTTP status, a JSON body.
#ifndef SEXTANT_SERVER_CALL_CONNECT_ERROR_H_
#define SEXTANT_SERVER_CALL_CONNECT_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

// "invalid_argument"; of an error.
// Source: the Connect protocol, "Error Codes".
const char* ConnectCodeName(absl::StatusCode code);

// 400 for kInvalidArgument; of an error. From the same table.
int HttpStatusOf(absl::StatusCode code);

// {"code": "...", "message": "...", "details": [{"type": "...", "value": "<base64>", "debug": {}}]}
// of an error, with ToRpcStatus()'s details. Valid JSON and UTF-8 whatever `status` quotes.
std::string ConnectErrorJson(const absl::Status& status, absl::string_view trace_id);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_CONNECT_ERROR_H_
