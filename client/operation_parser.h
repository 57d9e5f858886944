// `sextant op` as CLI11 reads it: a command a kind of operation.
#ifndef SEXTANT_CLIENT_OPERATION_PARSER_H_
#define SEXTANT_CLIENT_OPERATION_PARSER_H_

#include "client/command_line.h"

namespace sextant {

// Adds the command to `app`, which reads into `*line`.
void AddOperation(CLI::App* app, CommandLine* line);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_OPERATION_PARSER_H_
