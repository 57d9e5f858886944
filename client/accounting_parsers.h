// The commands about tensors and operations as CLI11 reads them. Each adds one to `app`, which
// reads into `*line`.
#ifndef SEXTANT_CLIENT_ACCOUNTING_PARSERS_H_
#define SEXTANT_CLIENT_ACCOUNTING_PARSERS_H_

#include "client/command_line.h"

namespace sextant {

void AddDataType(CLI::App* app, CommandLine* line);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_ACCOUNTING_PARSERS_H_
