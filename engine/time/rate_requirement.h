// Checks that rates were measured and are as good as a request demands, with messages that say why
// not and what to do about it.
#ifndef SEXTANT_ENGINE_TIME_RATE_REQUIREMENT_H_
#define SEXTANT_ENGINE_TIME_RATE_REQUIREMENT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/calibration.h"
#include "engine/hardware/device_selection.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/rates.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// The least quality of the matrix multiplication rate; a worse rate is an error.
struct RateRequirement {
  absl::optional<RateSource> minimum_source = {};   // the worst allowed
  absl::optional<double> maximum_age_seconds = {};  // of this host's measurements
};

// The devices that an operation runs on; several do the same work at the same time. The request's
// own figures override those of the devices.
struct OperationDevice {
  DeviceSelection device = {};
  absl::optional<double> matrix_flops_per_second = {};
  absl::optional<double> general_flops_per_second = {};
  absl::optional<double> memory_bytes_per_second = {};
  double launch_seconds = 0;
  RateRequirement requirement = {};
};

// Appends to `violations` the invalid fields of `requirement`, whose field is `path`.
void CheckRequirement(const RateRequirement& requirement, absl::string_view path,
                      FieldViolations& violations);

// Says that `calibration` has no MatmulIn(type); `type_field` is the request's field of the type.
std::string NotInTypeText(const DeviceCalibration& calibration, DataType type,
                          absl::string_view type_field);

// The rates that a run's times use.
struct RunRates {
  const DeviceSelection& devices;
  const RateRequirement& requirement;
  DataType type;  // in which it computes
  absl::string_view device_name;
  RateSource matmul_source;
};

// Returns OK, or kFailedPrecondition RATES_NOT_MEASURED with a PreconditionViolation for each
// device that was never measured, not in the run's type or too long ago, and for a rate whose
// source is worse than the requirement allows.
absl::Status CheckRates(const RunRates& run);

// Returns OK, or kFailedPrecondition RATES_NOT_MEASURED with a PreconditionViolation where the
// device was measured too long ago, for each of the request's own figures among `used` whose
// source is worse than device.requirement allows, and for the device where its own figures are
// worse. The field of `device` is `path`.
absl::Status CheckOperationRates(const OperationDevice& device, absl::Span<const Rate> used,
                                 absl::string_view path);

// The same check for the source of a predicted time.
absl::Status CheckPredictionSource(const OperationDevice& device, const KernelSource& source,
                                   absl::string_view path);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_RATE_REQUIREMENT_H_
