// The command `sextant op`.
#ifndef SEXTANT_CLIENT_OPERATION_COMMAND_H_
#define SEXTANT_CLIENT_OPERATION_COMMAND_H_

#include "client/command_line.h"
#include "client/streams.h"

namespace sextant {

// Prints what the operation costs, draws its roofline where asked to, and returns the program's
// exit code. A drawing that can't be written comes before any output.
int RunOperation(const CommandLine& line, const Streams& streams);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_OPERATION_COMMAND_H_
