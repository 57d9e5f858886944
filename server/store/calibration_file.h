// Calibration files, one a device and mode: proto JSON, replaced as a whole.
#ifndef SEXTANT_SERVER_STORE_CALIBRATION_FILE_H_
#define SEXTANT_SERVER_STORE_CALIBRATION_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::server {

// A UUID names a file unchanged: check::IsUuid() admits no path out of the folder.
//
// "<folder>/<uuid>.<mode>.json", e.g. ".../GPU-1.full.json".
std::string CalibrationPath(absl::string_view folder, absl::string_view uuid, v1::ProbeMode mode);

// "<folder>/<uuid>.json", which versions that kept one calibration a device wrote, of any mode.
std::string FormerCalibrationPath(absl::string_view folder, absl::string_view uuid);

// The paths where calibrations of the device may be: those above, of each mode.
std::vector<std::string> CalibrationPathsOf(absl::string_view folder, absl::string_view uuid);

// The device and mode that a file's name states.
struct CalibrationName {
  std::string uuid;
  v1::ProbeMode mode = v1::PROBE_MODE_UNSPECIFIED;  // unspecified: any
};
// Absent: `file_name` names no calibration.
absl::optional<CalibrationName> CalibrationNameFrom(absl::string_view file_name);

// Reads the calibration at `path`, whose name states the device and the mode.
//
// Errors: kUnavailable where it can't be read, at least now; kUnimplemented where its schema
// version is newer; else kDataLoss saying what is wrong: no file, over 4 MiB, not JSON, a field out
// of its range, another device's or mode's.
absl::StatusOr<v1::Calibration> ReadCalibrationFile(const std::string& path);

// Writes `calibration` to `folder`, which is made (for its owner alone) where it is missing. At any
// time, also after a crash, the file is either the former one or the new one, whole.
//
// Errors: kUnavailable naming what can't be written and why; the former file stays.
absl::Status WriteCalibrationFile(const std::string& folder, const v1::Calibration& calibration);

// Removes the file at FormerCalibrationPath() where it is of `mode`: a new file replaces it.
//
// Errors: kUnavailable where it can't be removed.
absl::Status RemoveFormerCalibration(const std::string& folder, absl::string_view uuid,
                                     v1::ProbeMode mode);

// "<folder>/<uuid>.distrusted": the mark of a device whose last probe had a wrong result.
std::string DistrustPath(absl::string_view folder, absl::string_view uuid);

// Marks the device as distrusted, or removes the mark; both survive a crash.
//
// Errors: kUnavailable naming what can't be written or removed and why. Removing a missing mark is
// no error.
absl::Status MarkDistrusted(const std::string& folder, absl::string_view uuid);
absl::Status UnmarkDistrusted(const std::string& folder, absl::string_view uuid);

// Renames the file at `path` to "<path>.<word>-1", or the first free number, and returns its new
// path.
//
// Errors: kUnavailable saying why it can't be renamed; it stays in its place.
absl::StatusOr<std::string> SetFileAside(const std::string& path, absl::string_view word);

// Removes temporary files that killed writers left in `folder` more than an hour ago.
void RemoveLeftovers(const std::string& folder);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_STORE_CALIBRATION_FILE_H_
