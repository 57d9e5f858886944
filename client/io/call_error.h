// Why a call failed: a gRPC status and its google.rpc details, for people and programs, and its
// exit code.
#ifndef SEXTANT_CLIENT_IO_CALL_ERROR_H_
#define SEXTANT_CLIENT_IO_CALL_ERROR_H_

#include <grpcpp/support/status.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "google/rpc/status.pb.h"

namespace sextant::client {

// The program's exit codes. A scheduler branches on them: it refuses a run on 1 and 3, and on 8 and
// 9 unless the site's policy says otherwise; it launches it on the rest, on 7 with a warning.
enum ExitCode : int {
  kExitFits = 0,        // or success of a command without a verdict
  kExitDoesNotFit = 1,  // a valid answer
  kExitUsage = 2,       // the command line is wrong, or the answer or a file can't be written
  kExitBadRequest = 3,  // the request is wrong: correct it, do not retry
  kExitRetryLater = 4,  // busy, draining, unreachable or late
  kExitNotAllowed = 5,  // no identity, or one without the right
  kExitInternal = 6,    // everything else: a defect
  kExitTight = 7,       // a valid answer: whether it fits is open
  kExitStateFits = 8,   // a valid answer: model state fits; activations were not counted
  kExitLate = 9,        // a valid answer: the expected run misses its deadline or budget
  kExitUnknown = 10,    // a valid answer: the job was not judged (admit)
  kExitSignal = 128,    // plus the signal's number: interrupted, as shells say it
};

// The codes as --help explains them.
inline constexpr char kExitCodeHelp[] =
    "Exit codes:\n"
    "  0  it fits (plan, memory, admit), or success\n"
    "  1  it does not fit: a valid answer\n"
    "  2  usage: the command line is wrong, or the answer or a file can't be written\n"
    "  3  bad request: a field or a name is wrong; do not retry\n"
    "  4  retry later: no server, busy, past the deadline, or the probe failed\n"
    "  5  not allowed: no identity, or not this one\n"
    "  6  anything else: a defect, please report it\n"
    "  7  it is tight (plan, memory, admit): whether it fits is open\n"
    "  8  model state fits (plan, memory), activations were not counted: do not launch on it\n"
    "  9  it may fit, and misses its deadline or budget (plan, search, compare, size-*)\n"
    "  10  not judged (admit): let the job start\n"
    "  130  interrupted (Ctrl-C): the call was cancelled";

struct CallError {
  // A subject, and what is wrong with it.
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

// The error of `status`, which is not OK, with its details. Details that can't be read are left
// out: the code and the message remain.
CallError CallErrorOf(const grpc::Status& status);

// The error that an answer holds in place of one of its items. A code that gRPC does not have, as
// of a newer server, is UNKNOWN.
CallError CallErrorOf(const google::rpc::Status& status);

// A request that this client refuses to send: INVALID_ARGUMENT with `reason`.
grpc::Status RefusalStatus(const std::string& reason, const std::string& message);

// The exit code for `error`, by the table in service.md, "Errors".
ExitCode ExitCodeOf(const CallError& error);

// "sextant: CODE (REASON): message", then one line a violation, the retry delay, the hint.
std::string CallErrorText(const CallError& error);

// One JSON object: code, reason, message, fieldViolations [{field, description}], and
// where there are any, metadata, preconditionViolations, retryDelaySeconds and hint.
std::string CallErrorJson(const CallError& error);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_IO_CALL_ERROR_H_
