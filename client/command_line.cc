#include "client/command_line.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/accounting_parsers.h"
#include "client/command_parts.h"
#include "client/count_parser.h"
#include "client/exit_code.h"
#include "client/graph_parser.h"
#include "client/hardware_parsers.h"
#include "client/help_text.h"
#include "client/links_parser.h"
#include "client/memory_parser.h"
#include "client/number.h"
#include "client/operation_parser.h"
#include "client/plan_parser.h"
#include "client/rates_parser.h"
#include "client/tensor_parser.h"
#include "client/version.h"

namespace sextant {
namespace {

// gRPC's deadline is an instant: an unbounded number of seconds would overflow it.
std::string CheckTimeout(const std::string& text) {
  const absl::StatusOr<double> seconds = ParseNumber(text);
  if (seconds.ok() && *seconds > 0 && *seconds <= 1e6) return "";
  return absl::StrCat("\"", text, "\" is no timeout; write seconds, above 0 and up to 1e6");
}

void AddCompletion(CLI::App* app, CommandLine* line) {
  CLI::App* completion =
      AddCommand("completion", "Print a shell's completion script", kCompletionHelp, app);
  AddChoices(completion->add_option("SHELL", line->shell, "which shell")->required(), "bash|zsh");
  completion->final_callback([line] { line->command = Command::kCompletion; });
}

void AddGlobalFlags(CLI::App* app, CommandLine* line) {
  app->add_option("--address", line->server.address, "the server: HOST:PORT or unix:PATH")
      ->type_name("ADDRESS")
      ->envname("SEXTANT_ADDRESS")
      ->capture_default_str();
  app->add_option("--timeout", line->server.timeout_seconds,
                  "wait at most this long for it; probe: 60 and more")
      ->type_name("SECONDS")
      ->check(Check(CheckTimeout))
      ->capture_default_str();
  AddChoices(app->add_option("--output", line->output, "for people, or for programs")
                 ->capture_default_str(),
             "text|json");
}

// The command that was being read, a kind of operation where it came that far.
const CLI::App& CommandRead(const CLI::App& app) {
  const std::vector<CLI::App*> read = app.get_subcommands();
  return read.empty() ? app : CommandRead(*read.front());
}

// What to write before --help: "sextant op matmul".
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

// CLI11 says only that a command is missing where one is misspelt.
std::string MessageOf(const CLI::Error& error, const CLI::App& app) {
  const std::vector<const CLI::App*> known = CommandRead(app).get_subcommands({});
  const std::vector<std::string> unread = app.remaining();
  if (known.empty() || unread.empty()) return error.what();
  std::vector<std::string> names;
  for (const CLI::App* command : known) names.push_back(command->get_name());
  return absl::StrCat("\"", unread.front(), "\" is no command; write one of ",
                      absl::StrJoin(names, ", "));
}

NoCommand UsageError(const CLI::App& app, const std::string& message) {
  const std::vector<std::string> output = app.get_option("--output")->results();
  return {.exit_code = kExitUsage,
          .json = !output.empty() && output.back() == "json",
          .message = message,
          .command = NameOf(CommandRead(app))};
}

}  // namespace

std::unique_ptr<CLI::App> NewApp(CommandLine* line) {
  auto app = std::make_unique<CLI::App>(
      "What will a large-model training run cost? Ask before it starts.", "sextant");
  app->get_formatter()->column_width(40);
  app->set_version_flag("--version", absl::StrCat("sextant ", ClientVersion()),
                        "print the client's version");
  AddGlobalFlags(app.get(), line);
  app->footer(absl::StrCat(kExitCodeHelp, "\n\n", kProgramHelp));
  AddPlan(app.get(), line);
  AddMemory(app.get(), line);
  AddCount(app.get(), line);
  AddAccelerators(app.get(), line);
  AddDevices(app.get(), line);
  AddProbe(app.get(), line);
  AddCalibration(app.get(), line);
  AddRates(app.get(), line);
  AddNodes(app.get(), line);
  AddLinks(app.get(), line);
  AddOperation(app.get(), line);
  AddGraph(app.get(), line);
  AddTensor(app.get(), line);
  AddTokens(app.get(), line);
  AddDataType(app.get(), line);
  AddCommand("version", "Print the client's and the server's version", kVersionHelp, app.get())
      ->final_callback([line] { line->command = Command::kVersion; });
  AddCompletion(app.get(), line);
  app->require_subcommand(1);
  return app;
}

// The one place where CLI11's exceptions end.
std::variant<CommandLine, NoCommand> ParseCommandLine(const std::vector<std::string>& args) {
  CommandLine line;
  const std::unique_ptr<CLI::App> app = NewApp(&line);
  std::vector<std::string> reversed(args.rbegin(), args.rend());  // as CLI11 wants them
  try {
    app->parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return NoCommand{.message = Help(*app)};
  } catch (const CLI::CallForVersion& version) {
    return NoCommand{.message = version.what()};
  } catch (const CLI::Error& error) {
    return UsageError(*app, MessageOf(error, *app));
  }
  return line;
}

}  // namespace sextant
