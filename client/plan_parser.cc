#include "client/plan_parser.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/command_parts.h"
#include "client/field_flag.h"
#include "client/field_path.h"
#include "client/help_text.h"
#include "client/plan_flags.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant {
namespace {

using google::protobuf::FieldDescriptor;

Check CheckOf(const PlanFlag& flag, FieldForm form) {
  if (IsFile(form)) return CheckFile;
  return [&flag](const std::string& text) {
    v1::PlanRunRequest scratch;
    return std::string(SetField(flag.field, text, &scratch).message());
  };
}

}  // namespace

void AddRequestFile(CLI::App* command, CommandLine* line) {
  command->add_option("--request", line->request_file, "a PlanRunRequest in proto JSON; - is stdin")
      ->type_name("FILE")
      ->check(Check(CheckFileOrInput));
}

void AddPlanFlag(const PlanFlag& flag, CLI::App* command, CommandLine* line) {
  const FieldDescriptor& field = *FindField(*v1::PlanRunRequest::descriptor(), flag.field);
  const FieldForm form = FormOf(field);
  if (form == FieldForm::kSwitch) {
    // CLI11 counts: "--x" is 1, "--x=false" is -1.
    const auto give = [line, &flag](int64_t count) {
      line->plan_flags.push_back({&flag, count > 0 ? "true" : "false"});
    };
    command->add_flag_function(flag.names, give, flag.help)->group(flag.group);
    return;
  }
  const auto give = [line, &flag](const std::string& text) {
    line->plan_flags.push_back({&flag, text});
  };
  CLI::Option* option = command->add_option_function<std::string>(flag.names, give, flag.help)
                            ->group(flag.group)
                            ->type_name(ValueName(field))
                            ->check(CheckOf(flag, form))
                            ->trigger_on_parse(field.is_repeated());  // each time that it is given
  // Some stand in kPlanHelp, below.
  if (!FitsOnALine(flag.names, ValueName(field))) option->option_text("NAME");
}

void AddPlan(CLI::App* app, CommandLine* line) {
  CLI::App* plan =
      AddCommand("plan", "Plan a training run, and say whether it fits", kPlanHelp, app);
  AddRequestFile(plan, line);
  for (const PlanFlag& flag : PlanFlags()) AddPlanFlag(flag, plan, line);
  plan->final_callback([line] { line->command = Command::kPlan; });
}

}  // namespace sextant
