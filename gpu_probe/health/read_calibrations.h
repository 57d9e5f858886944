// Calibrations from files and folders.
#ifndef SEXTANT_GPU_PROBE_HEALTH_READ_CALIBRATIONS_H_
#define SEXTANT_GPU_PROBE_HEALTH_READ_CALIBRATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gpu_probe/health/figures.h"
#include "gpu_probe/health/findings.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// Why an input is not judged.
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
  double limit_tolerance = 0.02;  // rates further above it disqualify a reference
  std::string only_uuid = {};     // the device whose withdrawal counts; "": any device's
  bool may_be_empty = false;      // a folder without calibrations is not a problem
};

// Checks that a calibration can be judged: it is complete and consistent, by
// check::CheckCalibration(), each rate agrees with its own time and shape, and it was measured at
// most five minutes after `now_unix_seconds`, since hosts' clocks differ.
//
// Errors: kDataLoss with the first fault.
absl::Status ValidateCalibration(const v1::Calibration& calibration, int64_t now_unix_seconds);

// Reads `paths`: files, and folders, of which all files *.json are read. Each that can't be read or
// fails ValidateCalibration() is a problem, UNKNOWN. In a folder of the server, the mark that a
// device's calibration was withdrawn after a wrong result is a problem, too: CRITICAL. Files that
// hold only requested shapes are skipped with a note.
ReadResult ReadCalibrations(const std::vector<std::string>& paths, const ReadOptions& options);

// `calibration` with its figures.
MeasuredDevice MeasuredFrom(v1::Calibration calibration, double limit_tolerance);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HEALTH_READ_CALIBRATIONS_H_
