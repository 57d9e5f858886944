// The program's commands. Each prints its answer to streams.out or an error to
// streams.err, and returns the exit code.
#ifndef SEXTANT_CLIENT_COMMANDS_H_
#define SEXTANT_CLIENT_COMMANDS_H_

#include "client/command_line.h"
#include "client/streams.h"

namespace sextant {

int RunPlan(const CommandLine& line, const Streams& streams);
int RunMemory(const CommandLine& line, const Streams& streams);
int RunAccelerators(const CommandLine& line, const Streams& streams);
int RunVersion(const CommandLine& line, const Streams& streams);
int RunCompletion(const CommandLine& line, const Streams& streams);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_COMMANDS_H_
