#include "client/memory_parser.h"

#include <CLI/CLI.hpp>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "client/command_parts.h"
#include "client/help_text.h"
#include "client/plan_flags.h"
#include "client/plan_parser.h"

namespace sextant {
namespace {

// What memory depends on, and the tokens, which plans have in the same place.
bool IsOfMemory(const PlanFlag& flag) {
  const absl::string_view field = flag.field;
  return absl::StartsWith(field, "model.") || absl::StartsWith(field, "training.") ||
         absl::StartsWith(field, "cluster.") || absl::StartsWith(field, "layout.") ||
         field == "options.include_ledger";
}

}  // namespace

void AddMemory(CLI::App* app, CommandLine* line) {
  CLI::App* memory =
      AddCommand("memory", "Count what each GPU holds, and say whether it fits", kMemoryHelp, app);
  AddRequestFile(memory, line);
  for (const PlanFlag& flag : PlanFlags()) {
    if (IsOfMemory(flag)) AddPlanFlag(flag, memory, line);
  }
  memory->add_option("--svg", line->memory_svg_file, "draw the stages as bars into this file")
      ->type_name("FILE");
  memory->final_callback([line] { line->command = Command::kMemory; });
}

}  // namespace sextant
