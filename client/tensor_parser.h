// `sextant tensor` and `sextant tokens` as CLI11 reads them. Each adds one to `app`, which reads
// into `*line`.
#ifndef SEXTANT_CLIENT_TENSOR_PARSER_H_
#define SEXTANT_CLIENT_TENSOR_PARSER_H_

#include "client/command_line.h"

namespace sextant {

void AddTensor(CLI::App* app, CommandLine* line);
void AddTokens(CLI::App* app, CommandLine* line);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_TENSOR_PARSER_H_
