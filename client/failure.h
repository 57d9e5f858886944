// How a command that failed ends.
#ifndef SEXTANT_CLIENT_FAILURE_H_
#define SEXTANT_CLIENT_FAILURE_H_

#include <grpcpp/support/status.h>

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "client/call_error.h"
#include "client/command_line.h"
#include "client/streams.h"

namespace sextant {

// The words of the command line for a field of the request, by its path, or for a text that names
// fields; the same where there are none.
using FieldWords = std::function<std::string(const std::string& text)>;

// What a command says of the server's errors in words of its own; nullptr where it has none.
struct FailureWords {
  FieldWords field = nullptr;        // names what is at fault, to people alone
  FieldWords description = nullptr;  // says what is wrong with it, to people alone
  std::function<std::string(const CallError& error)> hint = nullptr;  // what to do; may be ""
};

// Prints why a call failed, `status` not being OK, with a hint where gRPC itself reports it,
// and returns the exit code.
int Fail(const grpc::Status& status, const CommandLine& line, const Streams& streams,
         const FailureWords& words = {});

// Prints why a file that the command line names was not written, and returns the exit code: it
// is the user's to mend, and no call failed.
int FailToWrite(const absl::Status& written, const CommandLine& line, const Streams& streams);

// The same for a plan without a verdict that this client knows: a newer server's.
int FailToJudge(const CommandLine& line, const Streams& streams);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_FAILURE_H_
