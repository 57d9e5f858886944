#include "client/failure.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "client/exit_code.h"
#include "client/format.h"

namespace sextant {
namespace {

// What to do about errors that gRPC itself reports (Sextant's own carry a reason).
std::string HintFor(const CallError& error, const ServerAddress& server) {
  if (!error.reason.empty()) return "";
  if (error.code == grpc::StatusCode::UNAVAILABLE) {
    return absl::StrCat("is sextantd running at ", server.address,
                        "? start it, or set --address / SEXTANT_ADDRESS");
  }
  if (error.code == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return absl::StrCat("no answer from ", server.address, " within ", server.timeout_seconds,
                        " s; --timeout=SECONDS waits longer");
  }
  if (error.code == grpc::StatusCode::UNIMPLEMENTED) {
    return absl::StrCat("the server at ", server.address,
                        " is another program, or an older sextantd");
  }
  return "";
}

}  // namespace

int Fail(const grpc::Status& status, const CommandLine& line, const Streams& streams,
         const FailureWords& words) {
  CallError error = CallErrorOf(status);
  error.hint = HintFor(error, line.server);
  if (error.hint.empty() && words.hint) error.hint = words.hint(error);
  for (CallError::Violation& v : error.field_violations) {
    if (line.json()) break;
    if (words.field) v.subject = words.field(v.subject);
    if (words.description) v.description = words.description(v.description);
  }
  streams.err << (line.json() ? CallErrorJson(error) : Printable(CallErrorText(error)));
  return ExitCodeOf(error);
}

int FailToWrite(const absl::Status& written, const CommandLine& line, const Streams& streams) {
  const std::string message(written.message());
  if (line.json()) {
    streams.err << CallErrorJson(
        {.code = grpc::StatusCode::INVALID_ARGUMENT, .reason = "USAGE", .message = message});
  } else {
    streams.err << Printable(absl::StrCat("sextant: ", OneLine(message), "\n"));
  }
  return kExitUsage;
}

int FailToJudge(const CommandLine& line, const Streams& streams) {
  return Fail({grpc::StatusCode::INTERNAL, "the answer holds no verdict that this client knows"},
              line, streams);
}

}  // namespace sextant
