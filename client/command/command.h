// Parts that commands share: the flags that all of them take, their streams, and their errors and
// exit codes.
#ifndef SEXTANT_CLIENT_COMMAND_COMMAND_H_
#define SEXTANT_CLIENT_COMMAND_COMMAND_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <set>
#include <string>

#include "absl/functional/function_ref.h"
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

// A command of the program.
struct Command {
  const char* name;
  const char* description;
  const char* help;  // the end of --help
  // Adds the flags to `command`, and a final callback that sets CommandLine::run; OnceRead() adds
  // one.
  void (*add_flags)(CLI::App* command, CommandLine* line);
};

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
  bool imports_files = false;              // the server reads some before the command asks it
  bool asks_server = true;                 // false: the command can do without one
  bool quiet = false;                      // says nothing of a server that was started for it
  std::set<std::string> words;             // all of it, of which some name commands
  TypedNames typed_names;                  // for errors
  RunCommand run;                          // the command that was read
  std::shared_ptr<const CLI::App> parser;  // which completion scripts describe

  bool json() const { return output == "json"; }
  bool one_line() const { return output == "line"; }  // of a verdict
};

// Adds a command to `app` that is named and described so; its --help ends in `help`. Its flags need
// to be added only where MayBeRead(): most of a program's start goes into flags.
CLI::App* AddCommand(const char* name, const char* description, const std::string& help,
                     CLI::App* app);
bool MayBeRead(const CLI::App& command, const CommandLine& line);

// Further steps once all flags of a command were read.
struct AfterFlags {
  // Waits that long for the answer, unless --timeout is given; 0: as long as for any other.
  double seconds = 0;
  // Refuses flags that don't go together, by CLI::ValidationError.
  std::function<void()> check = nullptr;
};

// Commands that make many plans wait longer.
inline constexpr double kManyRunsSeconds = 120;

// Sets CommandLine::run once the flags of `command` were read. The second passes them to `run`.
void OnceRead(CLI::App* command, CommandLine* line, const RunCommand& run,
              const AfterFlags& after = {});
template <typename Flags>
void OnceRead(CLI::App* command, CommandLine* line, const std::shared_ptr<Flags>& flags,
              int (*run)(const Flags&, const CommandLine&, const Streams&),
              const AfterFlags& after = {}) {
  const auto with_flags = [flags, run](const CommandLine& read, const Streams& streams) {
    return run(*flags, read, streams);
  };
  OnceRead(command, line, with_flags, after);
}

// Has a command wait so long for its answer, unless --timeout is given.
void WaitFor(double seconds, const CLI::App& command, CommandLine* line);

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

// Prints an answer: in JSON for programs, else as `text`. Returns the exit code of success.
int Show(const CommandLine& line, const Streams& streams, const google::protobuf::Message& answer,
         absl::FunctionRef<std::string()> text);

// Calls a method of a service, and shows its answer or its error.
template <typename Stub, typename Request, typename Response, typename Text>
int CallAndShow(const CommandLine& line, const Streams& streams,
                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                const Request& request, const Text& text, const FailureWords& words = {}) {
  Response response;
  const grpc::Status status = Call(line.server, method, request, &response);
  if (!status.ok()) return Fail(status, line, streams, words);
  return Show(line, streams, response, [&] { return text(response); });
}

// Prints why a file that the command line names was not written, and returns the exit code of a
// wrong command line: no call failed.
int FailToWrite(const absl::Status& written, const CommandLine& line, const Streams& streams);

// The error of an answer that lacks the part that the command shows: the server's version differs.
grpc::Status Incomplete(const std::string& part);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_COMMAND_COMMAND_H_
