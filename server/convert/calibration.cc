#include "server/convert/calibration.h"

#include <limits>

namespace sextant {
namespace {

constexpr FieldViolations::RealRange kPositive = {
    .low = 0, .high = std::numeric_limits<double>::max(), .above_low = true};

}  // namespace

void CheckCalibration(const v1::Calibration& calibration, absl::string_view path,
                      FieldViolations& violations) {
  violations.Require(path, "schema_version", calibration.schema_version(), 1, 1);
  if (calibration.device().uuid().empty()) {
    violations.Add(FieldPath(path, "device.uuid"), "is required");
  }
  if (calibration.measured_time().seconds() <= 0) {
    violations.Add(FieldPath(path, "measured_time"), "is required");
  }
  violations.RequireRange(path, "duration_seconds", calibration.duration_seconds(), kPositive);
  for (const v1::MatmulMeasurement& matmul : calibration.matmuls()) {
    violations.RequireRange(path, "matmuls.flops_per_second", matmul.flops_per_second(), kPositive);
  }
  for (const v1::StreamMeasurement& stream : calibration.streams()) {
    violations.RequireRange(path, "streams.bytes_per_second", stream.bytes_per_second(), kPositive);
  }
}

}  // namespace sextant
