#include "engine/run/unmeasured.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/base/utc_text.h"
#include "engine/memory/training_policy.h"

namespace sextant {
namespace {

// How far two hosts' clocks may differ before an age says nothing.
constexpr double kClockSlackSeconds = 60;

// " (it has: fp32): set training.precision.compute_data_type to one that it has", of the types
// to compute in that were measured.
std::string OtherTypes(const DeviceCalibration& calibration, absl::string_view type_field) {
  std::vector<absl::string_view> names;
  for (const MeasuredMatmul& matmul : calibration.matmuls) {
    if (CanCompute(matmul.data_type)) names.push_back(DataTypeName(matmul.data_type));
  }
  if (names.empty()) return ", nor in another floating-point type:";
  return absl::StrCat(" (it has: ", absl::StrJoin(names, ", "), "): set ", type_field,
                      " to one that it has, or");
}

}  // namespace

std::string DistrustedText(absl::string_view uuid) {
  return absl::StrCat("device ", uuid,
                      " had a wrong result in its last probe, so what was measured of it is "
                      "withdrawn: have it looked at, and measure it again with sextant probe "
                      "(HardwareService.RunProbe)");
}

std::string NeverMeasuredText(absl::string_view uuid, absl::string_view instead) {
  return absl::StrCat("device ", uuid,
                      " was never measured: measure it with sextant probe "
                      "(HardwareService.RunProbe), or ",
                      instead);
}

std::string NotInTypeText(const DeviceCalibration& calibration, DataType type,
                          absl::string_view type_field) {
  if (calibration.matmuls.empty() && calibration.requested_matmul_count > 0) {
    return absl::StrCat("the calibration of device ", calibration.uuid,
                        " holds only shapes that were asked for, which do not stand for its best: "
                        "measure it again with sextant probe, without --matmul");
  }
  return absl::StrCat("device ", calibration.uuid, " has no measured matrix multiplication in ",
                      DataTypeName(type), OtherTypes(calibration, type_field),
                      " measure it again with sextant probe");
}

absl::optional<std::string> NotRecentText(const NamedDevice& device,
                                          const RateRequirement& requirement,
                                          absl::string_view path) {
  const absl::optional<double> limit = requirement.maximum_age_seconds;
  if (!limit.has_value() || !device.calibration.has_value()) return absl::nullopt;
  const std::string measured = UtcText(device.calibration->measured_unix_seconds);
  if (device.age_seconds < -kClockSlackSeconds) {
    return absl::StrFormat(
        "device %s was measured in the future, at %s, so its age is not known to be within "
        "%s.maximum_age: compare the clocks, or measure it again with sextant probe "
        "(HardwareService.RunProbe)",
        device.uuid, measured, path);
  }
  if (device.age_seconds <= *limit) return absl::nullopt;
  return absl::StrFormat(
      "device %s was measured at %s, %.0f seconds ago, and %s.maximum_age is %g seconds: measure "
      "it again with sextant probe (HardwareService.RunProbe)",
      device.uuid, measured, device.age_seconds, path, *limit);
}

std::string DemandText(RateSource minimum, absl::string_view path) {
  return absl::StrCat(path, ".minimum_source is ", absl::AsciiStrToUpper(RateSourceName(minimum)));
}

}  // namespace sextant
