// "sextant count" as CLI11 reads it.
#ifndef SEXTANT_CLIENT_COUNT_PARSER_H_
#define SEXTANT_CLIENT_COUNT_PARSER_H_

#include "client/command_line.h"

namespace sextant {

// Adds the command to `app`, which reads into `*line`.
void AddCount(CLI::App* app, CommandLine* line);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_COUNT_PARSER_H_
