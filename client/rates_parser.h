// The command `rates` as CLI11 reads it.
#ifndef SEXTANT_CLIENT_RATES_PARSER_H_
#define SEXTANT_CLIENT_RATES_PARSER_H_

#include "client/command_line.h"

namespace sextant {

// Adds it to `app`; reads into `*line`.
void AddRates(CLI::App* app, CommandLine* line);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_RATES_PARSER_H_
