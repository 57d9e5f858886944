#include "client/command/run_client.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/flags/field_flag.h"
#include "client/flags/usual_names.h"
#include "client/flags/words.h"
#include "client/io/call_error.h"
#include "client/io/local_server.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr char kClientHelp[] =
    "Examples:\n"
    "  sextant plan llama-3.1-70b --tokens=15T --accelerator=h100-sxm --devices=1024\n"
    "  sextant memory llama-3.1-8b --tp=8 --sequence-length=8192 --accelerator=h100-sxm\n"
    "  sextant count llama-3.1-70b --sequence=8192 --conventions\n"
    "  sextant accelerators h100-sxm\n"
    "  sextant probe\n"
    "  sextant plan gpt2 --tokens=10B --device=host --devices=1\n"
    "  sextant op matmul 16384x8192x32768 --dtype=bf16 --device=h100-sxm --plot\n"
    "  sextant tensor 4x128x512 --dtype=bf16 \"view 4 128 8 64\" \"transpose 1 2\" contiguous\n"
    "  sextant plan --help\n";

// The result of a command line that runs no command: help, version, or an error.
struct NoCommand {
  int exit_code = 0;
  bool json = false;         // true where the user asked for JSON
  std::string message = {};  // without a line end; an error where exit_code is not 0
  std::string command = {};  // whose --help explains it, e.g. "sextant plan"; "": none does
};

// gRPC's deadline is an instant: an unbounded number of seconds would overflow it.
std::string CheckTimeout(const std::string& text) {
  const absl::StatusOr<double> seconds = ParseNumber(text);
  if (seconds.ok() && *seconds > 0 && *seconds <= 1e6) return "";
  return absl::StrCat("\"", text, "\" is not a timeout; write seconds, above 0 and up to 1e6");
}

void AddGlobalFlags(CLI::App* app, CommandLine* line) {
  app->add_option("--address", line->server.address, "the server: HOST:PORT or unix:PATH")
      ->type_name("ADDRESS")
      ->envname("SEXTANT_ADDRESS")
      ->capture_default_str();
  app->add_option("--timeout", line->server.timeout_seconds,
                  "wait at most this long; what searches: 120; probe: from 60")
      ->type_name("SECONDS")
      ->check(CheckTimeout)
      ->capture_default_str();
  const auto file = [app](const char* flag, std::string& value, const char* text,
                          const char* environment) {
    app->add_option(flag, value, text)->type_name("FILE")->envname(environment);
  };
  IdentityFiles& files = line->server.files;
  file("--tls-ca", files.ca, "speak TLS; who signed the server's certificate, PEM",
       "SEXTANT_TLS_CA");
  file("--tls-certificate", files.certificate, "your own certificate, PEM",
       "SEXTANT_TLS_CERTIFICATE");
  file("--tls-key", files.key, "its private key, PEM", "SEXTANT_TLS_KEY");
  file("--token-file", files.token, "your bearer token", "SEXTANT_TOKEN_FILE");
  app->add_flag("--local", line->local, "start a server for this call alone, whoever else serves");
  app->add_flag("--print-request", line->server.prints_requests,
                "print the request, as --request reads it; send nothing");
  AddChoices(app->add_option("--output", line->output,
                             "for people, for programs, or a verdict in one line")
                 ->capture_default_str(),
             "text|json|line");
}

// The parser. It fills `*line`, which has to outlive it.
std::unique_ptr<CLI::App> NewApp(CommandLine* line) {
  auto app = std::make_unique<CLI::App>(
      "What will a large-model training run cost? Ask before it starts.", "sextant");
  app->get_formatter()->column_width(40);
  // A script's flags, then a caller's own: the last of a flag counts. Lists take all of theirs.
  app->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app->set_version_flag("--version", absl::StrCat("sextant ", ClientVersion()),
                        "print the client's version");
  AddGlobalFlags(app.get(), line);
  app->footer(absl::StrCat(kExitCodeHelp, "\n\n", kClientHelp));
  for (const Command* each : kCommands) {
    CLI::App* const command = AddCommand(each->name, each->description, each->help, app.get());
    if (MayBeRead(*command, *line)) each->add_flags(command, line);
  }
  app->require_subcommand(1);
  return app;
}

// The command that was being read; a kind of operation where the parser came that far.
const CLI::App& CommandRead(const CLI::App& app) {
  const std::vector<CLI::App*> read = app.get_subcommands();
  return read.empty() ? app : CommandRead(*read.front());
}

// The words to write before --help: "sextant op matmul".
std::string NameOf(const CLI::App& command) {
  return command.get_parent() == nullptr
             ? command.get_name()
             : absl::StrCat(NameOf(*command.get_parent()), " ", command.get_name());
}

// CLI11 puts two empty lines between groups.
std::string Help(const CLI::App& app) {
  const std::string help = absl::StrReplaceAll(app.help(), {{"\n\n\n", "\n\n"}});
  return std::string(absl::StripSuffix(help, "\n"));
}

// "; near: --tp, --pp".
std::string NearText(const std::string& given, const std::vector<std::string>& names) {
  const std::vector<std::string> near = NearestNames(given, names);
  return near.empty() ? "" : absl::StrCat("; near: ", absl::StrJoin(near, ", "));
}

// The message for the unknown flag `word` of `command`.
std::string NoFlag(const std::string& word, const CLI::App& command) {
  const std::string name = word.substr(0, word.find('='));
  return absl::StrCat(NameOf(command), " has no flag ", name, NearText(name, FlagsOf(command)));
}

// For a misspelt command CLI11 only reports that a command is missing, and for a misspelt flag
// nothing of those that there are.
std::string MessageOf(const CLI::Error& error, const CLI::App& app) {
  const CLI::App& command = CommandRead(app);
  const std::vector<std::string> unread = app.remaining(true);
  if (unread.empty()) return error.what();
  // After "--" nothing is a flag.
  const auto flag =
      absl::c_find_if(unread, [](const std::string& word) { return absl::StartsWith(word, "--"); });
  if (flag != unread.end()) return *flag == "--" ? error.what() : NoFlag(*flag, command);
  const std::vector<const CLI::App*> known = command.get_subcommands({});
  if (known.empty()) return error.what();
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const CLI::App* further : known) names.push_back(further->get_name());
  return absl::StrCat("\"", unread.front(), "\" is not a command", NearText(unread.front(), names),
                      "; write one of ", absl::StrJoin(names, ", "));
}

NoCommand UsageError(const CLI::App& app, const std::string& message) {
  const std::vector<std::string> output = app.get_option("--output")->results();
  return {.exit_code = kExitUsage,
          .json = !output.empty() && output.back() == "json",
          .message = message,
          .command = NameOf(CommandRead(app))};
}

// True where the answer is a verdict, which --output=line prints.
bool HasLine(const CLI::App& command) {
  constexpr absl::string_view kCommands[] = {"plan", "search", "memory", "admit"};
  return absl::c_linear_search(kCommands, command.get_name());
}

// CLI11's exceptions are all caught here.
std::variant<CommandLine, NoCommand> ParseCommandLine(const std::vector<std::string>& args) {
  CommandLine line;
  line.words = {args.begin(), args.end()};
  const std::shared_ptr<CLI::App> app = NewApp(&line);
  std::vector<std::string> reversed = WithOwnNames(args, *app);
  absl::c_reverse(reversed);  // as CLI11 wants them
  try {
    app->parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return NoCommand{.message = Help(*app)};
  } catch (const CLI::CallForVersion& version) {
    return NoCommand{.message = version.what()};
  } catch (const CLI::Error& error) {
    return UsageError(*app, WithTypedNames(MessageOf(error, *app), TypedNamesOf(args, *app)));
  }
  if (const std::string wrong = CheckIdentityFiles(line.server); !wrong.empty()) {
    NoCommand refused = UsageError(*app, wrong);
    refused.command.clear();
    return refused;
  }
  if (line.one_line() && !HasLine(CommandRead(*app))) {
    return UsageError(*app, absl::StrCat(NameOf(CommandRead(*app)),
                                         " has no verdict for --output=line; write text or json"));
  }
  line.names_server = !app->get_option("--address")->empty();
  line.typed_names = TypedNamesOf(args, *app);
  line.parser = app;
  return line;
}

int Explain(const NoCommand& no_command, const Streams& streams) {
  if (no_command.exit_code == kExitFits) {
    streams.out << no_command.message << "\n";
  } else if (no_command.json) {
    streams.err << CallErrorJson({.code = grpc::StatusCode::INVALID_ARGUMENT,
                                  .reason = "USAGE",
                                  .message = no_command.message});
  } else {
    streams.err << Printable(absl::StrCat("sextant: ", no_command.message, "\n"));
    if (!no_command.command.empty()) {
      streams.err << "  try: " << no_command.command << " --help\n";
    }
  }
  return no_command.exit_code;
}

// True where the user asks for a private server, or names none and none is at the usual address.
bool NeedsLocalServer(const CommandLine& line) {
  if (!line.asks_server || (line.server.prints_requests && !line.imports_files)) return false;
  return line.local ||
         (line.may_start_server && !line.names_server && !IsServed(line.server.address));
}

// Where it does not start, the call fails as it would have without it.
void StartFor(const Streams& streams, LocalServer* local, CommandLine* line) {
  const absl::Status started = local->Start();
  if (!started.ok()) {
    streams.err << "sextant: " << started.message() << "\n";
    return;
  }
  if (!line->local && !line->quiet) {
    streams.err << "sextant: nothing serves at " << line->server.address
                << "; this call has a server of its own\n";
  }
  line->server.address = local->address();
  line->server.files = {};
}

// Sets how wide answers are: as the terminal, in so far as such lines can be read.
void SetTextWidthFor(const Streams& streams) {
  constexpr int kMinColumns = 60;
  constexpr int kMaxColumns = 160;
  text::SetTextWidth(
      streams.out_columns == 0
          ? kTextWidth
          : static_cast<size_t>(std::clamp(streams.out_columns, kMinColumns, kMaxColumns)));
}

// Writes what is left of the answer. Returns 0 or an errno.
int Flush(std::ostream& out) {
  out.clear();  // what an earlier flush could not write is tried again, which says why
  errno = 0;
  if (out.flush()) return 0;
  return errno == 0 ? EIO : errno;
}

}  // namespace

int RunClient(const std::vector<std::string>& args, const Streams& streams) {
  SetTextWidthFor(streams);
  std::variant<CommandLine, NoCommand> parsed = ParseCommandLine(args);
  CommandLine* const line = std::get_if<CommandLine>(&parsed);
  LocalServer local;
  if (line != nullptr && NeedsLocalServer(*line)) StartFor(streams, &local, line);
  const int exit_code =
      line != nullptr ? line->run(*line, streams) : Explain(std::get<NoCommand>(parsed), streams);
  const int error = Flush(streams.out);
  // A reader such as head has read enough: nothing failed.
  if (error == 0 || error == EPIPE) return exit_code;
  // An answer that was not written (a full disk) must not read as "fits".
  streams.err << "sextant: cannot write the answer: " << std::strerror(error) << "\n";
  return kExitUsage;
}

}  // namespace sextant::client
