// Default paths, where no flag gives one.
#ifndef SEXTANT_SERVER_STORE_DEFAULT_PATHS_H_
#define SEXTANT_SERVER_STORE_DEFAULT_PATHS_H_

#include <string>

namespace sextant::server {

// The folder of the running program; empty where the system does not report it.
std::string ProgramFolder();

// sextant-probe in `program_folder`, else the first in $PATH, else "sextant-probe", which won't
// start but is named in the error.
std::string FindProbeProgram(const std::string& program_folder);

// $STATE_DIRECTORY/calibrations (systemd sets it; the first of several), else
// $XDG_STATE_HOME/sextant/calibrations, else $HOME/.local/state/sextant/calibrations; empty
// where none is set to an absolute path.
std::string DefaultCalibrationDirectory();

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_STORE_DEFAULT_PATHS_H_
