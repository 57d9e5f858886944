#include "engine/run/unmeasured.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/memory/training_policy.h"

namespace sextant {
namespace {

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

}  // namespace sextant
