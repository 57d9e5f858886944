// The command `plan` as CLI11 reads it.
#ifndef SEXTANT_CLIENT_PLAN_PARSER_H_
#define SEXTANT_CLIENT_PLAN_PARSER_H_

#include "client/command_line.h"
#include "client/plan_flags.h"

namespace sextant {

// Adds it to `app`; reads into `*line`.
void AddPlan(CLI::App* app, CommandLine* line);

// What other commands that send a PlanRunRequest share with it: the flag of a file, and the flag of
// one field.
void AddRequestFile(CLI::App* command, CommandLine* line);
void AddPlanFlag(const PlanFlag& flag, CLI::App* command, CommandLine* line);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PLAN_PARSER_H_
