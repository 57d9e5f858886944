#include "client/command/command.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "client/io/message_file.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr char kGlobalFlagsHelp[] =
    "Before or after the command: --address, --timeout, --output, --print-request (see sextant\n"
    "--help).";

// The command that helps with an error of Sextant's, by its reason.
std::string HintForReason(const std::string& reason) {
  if (reason == "RATES_NOT_MEASURED") return "sextant probe measures the server's devices";
  if (reason == "GPU_UNKNOWN") return "sextant accelerators lists those that are known";
  if (reason == "NODE_TYPE_UNKNOWN" || reason == "NETWORK_UNKNOWN") {
    return "sextant nodes lists those that are known";
  }
  if (reason == "DEVICE_UNKNOWN") return "sextant devices lists the server's";
  return "";
}

// The next step after an error: by its reason, or after one that gRPC itself reports, by its code.
std::string HintFor(const CallError& error, const ServerAddress& server) {
  if (!error.reason.empty()) return HintForReason(error.reason);
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
                        " is another program, an older sextantd, or of a role without this call: "
                        "agents plan nothing (sextantd --role)");
  }
  return "";
}

// Puts an error into the words of the command line that it is about.
void Reword(const FailureWords& words, const TypedNames& typed, CallError* error) {
  for (CallError::Violation& v : error->field_violations) {
    if (words.field) v.subject = words.field(v.subject);
    if (words.description) v.description = words.description(v.description);
    v.subject = WithTypedNames(v.subject, typed);
    v.description = WithTypedNames(v.description, typed);
  }
  const bool of_a_file = error->reason == "REQUEST_MALFORMED";  // its words are not flags
  if (!of_a_file) error->message = WithTypedNames(error->message, typed);
  error->hint = WithTypedNames(error->hint, typed);
}

}  // namespace

size_t BriefWidth(const Streams& streams) {
  constexpr size_t kUsualColumns = 80;  // where there is no terminal
  return streams.out_columns == 0 ? kUsualColumns : TextWidth();
}

CLI::App* AddCommand(const char* name, const char* description, const std::string& help,
                     CLI::App* app) {
  CLI::App* command = app->add_subcommand(name, description);
  command->fallthrough();  // global flags such as --address may come after the command
  command->footer(absl::StrCat(kGlobalFlagsHelp, "\n\n", help));
  return command;
}

bool MayBeRead(const CLI::App& command, const CommandLine& line) {
  // A completion script has the flags of all.
  return line.words.count(command.get_name()) > 0 || line.words.count("completion") > 0;
}

void OnceRead(CLI::App* command, CommandLine* line, const RunCommand& run,
              const AfterFlags& after) {
  command->final_callback([command, line, run, after] {
    if (after.check) after.check();
    if (after.seconds > 0) WaitFor(after.seconds, *command, line);
    line->run = run;
  });
}

void WaitFor(double seconds, const CLI::App& command, CommandLine* line) {
  if (command.get_parent()->get_option("--timeout")->empty()) {
    line->server.timeout_seconds = seconds;
  }
}

int Fail(const grpc::Status& status, const CommandLine& line, const Streams& streams,
         const FailureWords& words) {
  if (IsPrinted(status)) {
    streams.out << status.error_message();
    return kExitFits;
  }
  const int signal_number = SignalOf(status);
  CallError error = signal_number == 0
                        ? CallErrorOf(status)
                        : CallError{.code = status.error_code(), .message = status.error_message()};
  error.hint = HintFor(error, line.server);
  if (error.hint.empty() && words.hint) error.hint = words.hint(error);
  if (!line.json()) Reword(words, line.typed_names, &error);
  streams.err << (line.json() ? CallErrorJson(error) : Printable(CallErrorText(error)));
  return signal_number == 0 ? int{ExitCodeOf(error)} : kExitSignal + signal_number;
}

int Show(const CommandLine& line, const Streams& streams, const google::protobuf::Message& answer,
         absl::FunctionRef<std::string()> text) {
  streams.out << (line.json() ? ProtoJson(answer) : Printable(text()));
  return kExitFits;
}

int FailToWrite(const absl::Status& written, const CommandLine& line, const Streams& streams) {
  const std::string message = WithTypedNames(std::string(written.message()), line.typed_names);
  if (line.json()) {
    streams.err << CallErrorJson(
        {.code = grpc::StatusCode::INVALID_ARGUMENT, .reason = "USAGE", .message = message});
  } else {
    streams.err << Printable(absl::StrCat("sextant: ", OneLine(message), "\n"));
  }
  return kExitUsage;
}

grpc::Status Incomplete(const std::string& part) {
  return {grpc::StatusCode::INTERNAL, absl::StrCat("the answer holds no ", part)};
}

}  // namespace sextant::client
