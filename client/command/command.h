// Parts that commands share: the flags that all of them take, their streams, and their errors and
// exit codes.
#ifndef SEXTANT_CLIENT_COMMAND_COMMAND_H_
#define SEXTANT_CLIENT_COMMAND_COMMAND_H_

#include <grpcpp/support/status.h>

#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/flags/usual_names.h"
#include "client/io/call.h"
#include "client/io/call_error.h"

namespace CLI {
class App;
}

namespace sextant::client {

// The streams and the clock that a command uses. A struct, so that tests can pass strings and a
// clock of their own.
struct Streams {
  std::istream& in;                             // what "--request=-" reads
  std::ostream& out;                            // answers
  std::ostream& err;                            // errors and progress
  int err_columns = 0;                          // of err's terminal; 0: not a terminal
  int out_columns = 0;                          // the same of out's
  std::function<absl::Time()> now = absl::Now;  // for the ages of measurements
};

// Columns of an answer that ends within a screen.
size_t BriefWidth(const Streams& streams);

struct CommandLine;

// Prints a command's answer to streams.out, or an error to streams.err, and returns the program's
// exit code.
using RunCommand = std::function<int(const CommandLine& line, const Streams& streams)>;

// The part of a command line that all commands share. Each command keeps its own flags.
struct CommandLine {
  ServerAddress server;
  std::string output = "text";             // or "json", "line"
  bool names_server = false;               // by --address or SEXTANT_ADDRESS
  bool local = false;                      // starts a server of its own
  bool may_start_server = true;            // false: a hook's command, which waits for none
  bool asks_server = true;                 // false: the command can do without one
  bool quiet = false;                      // says nothing of a server that was started for it
  TypedNames typed_names;                  // for errors
  RunCommand run;                          // the command that was read
  std::shared_ptr<const CLI::App> parser;  // which completion scripts describe

  bool json() const { return output == "json"; }
  bool one_line() const { return output == "line"; }  // of a verdict
};

// Adds a command to `app`; its --help ends in `help`. Its final callback has to set
// CommandLine::run. OnceRead() adds such a callback where nothing is left to check.
CLI::App* AddCommand(const char* name, const char* description, const char* help, CLI::App* app);
void OnceRead(CLI::App* command, CommandLine* line, const RunCommand& run);
// OnceRead() of a command whose answer takes many plans: waits 120 s for it, unless --timeout is
// given.
void OnceReadOfManyRuns(CLI::App* command, CommandLine* line, const RunCommand& run);

// Returns the command line's words for a field of the request, by its path, or for a text that
// names fields; the input where there are none.
using Rewording = std::function<std::string(const std::string& text)>;

// A command's own words for the server's errors; nullptr where it has none.
struct FailureWords {
  Rewording field = nullptr;        // names the invalid field, to people alone
  Rewording description = nullptr;  // says what is wrong with it, to people alone
  std::function<std::string(const CallError& error)> hint = nullptr;  // what to do; may be ""
};

// Prints why a call failed, `status` not being OK, with a hint where gRPC itself reports the error,
// and returns the exit code; or the request, where it IsPrinted() and not sent.
int Fail(const grpc::Status& status, const CommandLine& line, const Streams& streams,
         const FailureWords& words = {});

// Prints why a file that the command line names was not written, and returns the exit code of a
// wrong command line: no call failed.
int FailToWrite(const absl::Status& written, const CommandLine& line, const Streams& streams);

// The error of an answer that lacks the part that the command shows: the server's version differs.
grpc::Status Incomplete(const std::string& part);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_COMMAND_H_
