// The command `plan` as CLI11 reads it.
#ifndef SEXTANT_CLIENT_PLAN_PARSER_H_
#define SEXTANT_CLIENT_PLAN_PARSER_H_

#include "client/command_line.h"

namespace sextant {

// Adds it to `app`; reads into `*line`.
void AddPlan(CLI::App* app, CommandLine* line);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PLAN_PARSER_H_
