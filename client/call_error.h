// Why a call failed: a gRPC status and its google.rpc details, for people and programs.
#ifndef SEXTANT_CLIENT_CALL_ERROR_H_
#define SEXTANT_CLIENT_CALL_ERROR_H_

#include <grpcpp/support/status.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/exit_code.h"

namespace sextant {

struct CallError {
  // Something the error is about, and what is wrong with it.
  struct Violation {
    std::string subject;  // a field's path in the request, or a failed condition's subject
    std::string description;
  };

  grpc::StatusCode code = grpc::StatusCode::UNKNOWN;
  std::string reason = {};  // ErrorInfo.reason, e.g. "FIELD_INVALID"; "" where there is none
  std::map<std::string, std::string> metadata = {};  // ErrorInfo.metadata, e.g. "fault"
  std::string message = {};
  std::vector<Violation> field_violations = {};
  std::vector<Violation> precondition_violations = {};
  std::optional<double> retry_delay_seconds = {};
  std::string hint = {};  // what to do about it; "" for nothing to add
};

// gRPC's own name of a code, e.g. "INVALID_ARGUMENT".
std::string CodeName(grpc::StatusCode code);

// `status`, which is not OK, with what its details hold. Details that can't be read are
// left out: the code and the message still stand.
CallError CallErrorOf(const grpc::Status& status);

// A request that this client refuses to send: INVALID_ARGUMENT with `reason`.
grpc::Status RefusalStatus(const std::string& reason, const std::string& message);

// The exit code for `error`; the table is in service.md, "Errors".
ExitCode ExitCodeOf(const CallError& error);

// "sextant: CODE (REASON): message", then one line a violation, the retry delay, the hint.
std::string CallErrorText(const CallError& error);

// One JSON object: code, reason, message, field_violations [{field, description}], and
// where there are any, metadata, precondition_violations, retry_delay_seconds and hint.
std::string CallErrorJson(const CallError& error);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_CALL_ERROR_H_
