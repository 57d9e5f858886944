// The commands about number formats, token ids, tensors, operations, graphs and models.
#ifndef SEXTANT_CLIENT_ACCOUNTING_COMMANDS_H_
#define SEXTANT_CLIENT_ACCOUNTING_COMMANDS_H_

#include "client/command_line.h"
#include "client/streams.h"

namespace sextant {

// Each runs one command and returns the program's exit code.
int RunDataType(const CommandLine& line, const Streams& streams);
int RunTokens(const CommandLine& line, const Streams& streams);
int RunTensor(const CommandLine& line, const Streams& streams);
int RunOperation(const CommandLine& line, const Streams& streams);
int RunGraph(const CommandLine& line, const Streams& streams);
int RunCount(const CommandLine& line, const Streams& streams);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_ACCOUNTING_COMMANDS_H_
