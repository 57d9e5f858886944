#include "client/command_parts.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/help_text.h"
#include "client/text_file.h"

namespace sextant {

CLI::App* AddCommand(const char* name, const char* description, const char* help, CLI::App* app) {
  CLI::App* command = app->add_subcommand(name, description);
  command->fallthrough();  // lets --address and its like stand behind the command
  command->footer(absl::StrCat(kGlobalFlagsHelp, "\n\n", help));
  return command;
}

void AddChoices(CLI::Option* option, const std::string& choices) {
  option->type_name(choices)->check(Check([choices](const std::string& text) -> std::string {
    const std::vector<std::string> known = absl::StrSplit(choices, '|');
    // The API spells its names with '_'.
    if (absl::c_linear_search(known, absl::StrReplaceAll(text, {{"_", "-"}}))) return "";
    return absl::StrCat("\"", text, "\" is not known; write one of ", choices);
  }));
}

std::string CheckFile(const std::string& name) {
  return IsReadableFile(name) ? "" : absl::StrCat("cannot read \"", name, "\"");
}

std::string CheckFileOrInput(const std::string& name) { return name == "-" ? "" : CheckFile(name); }

}  // namespace sextant
