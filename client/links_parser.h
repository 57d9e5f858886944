// The commands `nodes` and `links` as CLI11 reads them.
#ifndef SEXTANT_CLIENT_LINKS_PARSER_H_
#define SEXTANT_CLIENT_LINKS_PARSER_H_

#include "client/command_line.h"

namespace sextant {

// Each adds one to `app`, which reads into `*line`.
void AddNodes(CLI::App* app, CommandLine* line);
void AddLinks(CLI::App* app, CommandLine* line);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_LINKS_PARSER_H_
