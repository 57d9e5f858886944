// Calibrations from files and folders.
#ifndef SEXTANT_GPU_PROBE_HEALTH_READ_CALIBRATIONS_H_
#define SEXTANT_GPU_PROBE_HEALTH_READ_CALIBRATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_probe/health/finding.h"
#include "gpu_probe/health/fleet.h"

namespace sextant {

// Why something that was given is not judged.
struct InputProblem {
  HealthStatus status = HealthStatus::kUnknown;
  std::string source = {};  // the file or folder
  std::string reason = {};
};

struct ReadResult {
  std::vector<MeasuredDevice> measured;
  std::vector<InputProblem> problems;
  std::vector<std::string> notes;
};

struct ReadOptions {
  int64_t now_unix_seconds = 0;
  double limit_tolerance = 0.02;  // rates above the limit by more make a measurement no reference
  std::string only_uuid = {};     // whose withdrawal counts; "": any device's
  bool may_be_empty = false;      // a folder without calibrations is no problem
};

// Reads `paths`: files, and folders, of which all files *.json are read. Each that can't be read
// or is not sound (CheckSound) is a problem, UNKNOWN. In a folder of the server, the mark that a
// device's calibration was withdrawn after a wrong result is a problem, too: CRITICAL. Files that
// hold only shapes that were asked for are passed over with a note.
ReadResult ReadCalibrations(const std::vector<std::string>& paths, const ReadOptions& options);

// `calibration` with its figures.
MeasuredDevice MeasuredFrom(v1::Calibration calibration, double limit_tolerance);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_READ_CALIBRATIONS_H_
