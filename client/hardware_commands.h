// The commands about the server's own devices. Each prints its answer to streams.out or an
// error to streams.err, and returns the exit code.
#ifndef SEXTANT_CLIENT_HARDWARE_COMMANDS_H_
#define SEXTANT_CLIENT_HARDWARE_COMMANDS_H_

#include "client/command_line.h"
#include "client/streams.h"

namespace sextant {

int RunDevices(const CommandLine& line, const Streams& streams);
int RunCalibration(const CommandLine& line, const Streams& streams);
int RunRates(const CommandLine& line, const Streams& streams);
int RunNodes(const CommandLine& line, const Streams& streams);
int RunLinks(const CommandLine& line, const Streams& streams);

// Prints each calibration as it comes: what was measured before an error is not lost.
int RunProbe(const CommandLine& line, const Streams& streams);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_HARDWARE_COMMANDS_H_
