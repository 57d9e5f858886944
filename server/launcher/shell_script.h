// Shell scripts as their variables and commands. No code is run.
#ifndef SEXTANT_SERVER_LAUNCHER_SHELL_SCRIPT_H_
#define SEXTANT_SERVER_LAUNCHER_SHELL_SCRIPT_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

// A word of a command, without its quotes.
struct ShellWord {
  std::string text = {};  // "$NAME" stands in it for what the script alone does not say
  bool open = false;      // it has such a part
};

// A command's words, without redirections and assignments before it.
struct ShellCommand {
  std::vector<ShellWord> words = {};
  bool conditional = false;  // it stands in a branch, a loop or a function
};

using ShellVariables = std::map<std::string, std::string>;

struct ShellScript {
  ShellVariables variables = {};       // those with a literal value
  std::vector<std::string> open = {};  // variables whose value the script does not say
  ShellVariables texts = {};           // all of them, and arrays, with "$NAME" for what is open
  std::vector<ShellCommand> commands = {};    // in the order of the text
  std::vector<std::string> conditional = {};  // "TP=4": in branches, of variables that are used
  std::vector<std::string> sourced = {};      // files that it reads: "config_common.sh"
};

// Reads a script of bash. `variables` are those that it starts with.
//
// Variables, arrays, ${NAME:-8} and $((A*B)) are put in where their values are literal; a variable
// that is set nowhere, the output of a command and a script's arguments are open. Of a branch, a
// loop and a function, nothing counts. Heredocs are passed over.
//
// Errors: kInvalidArgument, saying what to write: a quote without an end, expansions nested more
// than 16 deep, or variables that expand to more than 4 MiB.
absl::StatusOr<ShellScript> ReadShellScript(absl::string_view text, ShellVariables variables = {});

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_SHELL_SCRIPT_H_
