// One calibration in one file, one file a device and mode: proto JSON, replaced as a whole.
#ifndef SEXTANT_SERVER_CALIBRATION_FILE_H_
#define SEXTANT_SERVER_CALIBRATION_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Whether `uuid` can name a file: 1 to 80 of A-Z a-z 0-9 and '-'. No path gets out of a folder
// with that.
bool IsFileNameUuid(absl::string_view uuid);

// "<folder>/<uuid>.<mode>.json", e.g. ".../GPU-1.full.json".
std::string CalibrationPath(absl::string_view folder, absl::string_view uuid, v1::ProbeMode mode);

// "<folder>/<uuid>.json", which versions that kept one calibration a device wrote, of any mode.
std::string FormerCalibrationPath(absl::string_view folder, absl::string_view uuid);

// Where calibrations of the device may be: the above, of each mode.
std::vector<std::string> CalibrationPathsOf(absl::string_view folder, absl::string_view uuid);

// What the name of a file says of the calibration in it.
struct CalibrationName {
  std::string uuid;
  v1::ProbeMode mode = v1::PROBE_MODE_UNSPECIFIED;  // unspecified: any
};
// Absent: `file_name` names no calibration.
absl::optional<CalibrationName> CalibrationNameFrom(absl::string_view file_name);

// Reads the calibration at `path`, whose name states the device and the mode.
//
// Errors: kUnavailable where it can't be read, now at least; kUnimplemented where its schema
// version is a newer one; else kDataLoss saying what is wrong: no file, over 4 MiB, not JSON, a
// field out of its range, another device's or mode's.
absl::StatusOr<v1::Calibration> ReadCalibrationFile(const std::string& path);

// Writes `calibration` to `folder`, which is made (for its owner alone) where it is missing. A
// reader, or a crash at any moment, finds either the former file or the new one, whole.
//
// Errors: kUnavailable naming what can't be written and why; the former file stays.
absl::Status WriteCalibrationFile(const std::string& folder, const v1::Calibration& calibration);

// Removes the file at FormerCalibrationPath() where it is of `mode`: a new one is in its place.
//
// Errors: kUnavailable where it can't be removed.
absl::Status RemoveFormerCalibration(const std::string& folder, absl::string_view uuid,
                                     v1::ProbeMode mode);

// "<folder>/<uuid>.distrusted": the mark of a device whose last probe had a wrong result.
std::string DistrustPath(absl::string_view folder, absl::string_view uuid);

// Marks the device as distrusted, or no longer; the mark outlasts a crash.
//
// Errors: kUnavailable naming what can't be written or removed and why. A missing mark that is
// to be removed is none.
absl::Status MarkDistrusted(const std::string& folder, absl::string_view uuid);
absl::Status UnmarkDistrusted(const std::string& folder, absl::string_view uuid);

// Renames the file at `path` to "<path>.<word>-1", or the first number that is free, and
// returns its new path.
//
// Errors: kUnavailable saying why it can't be renamed; it stays.
absl::StatusOr<std::string> SetFileAside(const std::string& path, absl::string_view word);

// Removes what writers that were killed left in `folder` more than an hour ago.
void RemoveLeftovers(const std::string& folder);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALIBRATION_FILE_H_
