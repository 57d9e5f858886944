#include "client/graph_parser.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "client/command_parts.h"
#include "client/field_flag.h"
#include "client/help_text.h"

namespace sextant {

void AddGraph(CLI::App* app, CommandLine* line) {
  CLI::App* command = AddCommand(
      "graph", "Account for a model's training step, operation by operation", kGraphHelp, app);
  v1::AnalyzeGraphRequest* request = &line->graph_request;
  command->add_option("FILE", line->graph_file, "a Graph in proto JSON; - is stdin")
      ->type_name("")
      ->check(Check(CheckFileOrInput))
      ->required();
  const auto checkpoint = [request](const std::vector<std::string>& names) {
    for (const std::string& name : names) request->mutable_graph()->add_checkpointed_segments(name);
  };
  command
      ->add_option_function<std::vector<std::string>>("--checkpoint", checkpoint,
                                                      "compute this segment again; repeatable")
      ->type_name("SEGMENT")
      ->allow_extra_args(false);
  AddFieldFlag({"--recompute", "graph.recompute_extent", "how much of a checkpointed segment"},
               request, command);
  AddFieldFlag({"--data-type,--dtype", "graph.data_type", "of tensors that have none of their own"},
               request, command)
      ->option_text("TYPE");
  AddFieldFlag({"--optimizer", "graph.optimizer", "the rule of the update; default: adamw"},
               request, command);
  AddFieldFlag({"--master-weights", "graph.master_weights", "keep a copy in the state's format"},
               request, command);
  AddFieldFlag({"--transcendental-flops", "graph.transcendental_flops",
                "what one exp, log, tanh, erf or root counts; default: 1"},
               request, command);
  AddFieldFlag({"--steps", "include_steps", "each operation's kernels too"}, request, command);
  command->final_callback([line] { line->command = Command::kGraph; });
}

}  // namespace sextant
