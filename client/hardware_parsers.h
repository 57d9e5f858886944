// The commands about hardware as CLI11 reads them. Each adds one to `app`, which reads into
// `*line`.
#ifndef SEXTANT_CLIENT_HARDWARE_PARSERS_H_
#define SEXTANT_CLIENT_HARDWARE_PARSERS_H_

#include "client/command_line.h"

namespace sextant {

void AddAccelerators(CLI::App* app, CommandLine* line);
void AddDevices(CLI::App* app, CommandLine* line);
void AddCalibration(CLI::App* app, CommandLine* line);
void AddProbe(CLI::App* app, CommandLine* line);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_HARDWARE_PARSERS_H_
