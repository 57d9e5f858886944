// Checks that rates were measured and are as good as a request demands, with messages that say why
// not and what to do about it.
#ifndef SEXTANT_ENGINE_RUN_RATE_REQUIREMENT_H_
#define SEXTANT_ENGINE_RUN_RATE_REQUIREMENT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/hardware/calibration.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/rates.h"
#include "engine/run/run_devices.h"
#include "engine/run/run_spec.h"
#include "engine/tensor/data_type.h"

namespace sextant {

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

// Says that `calibration` has no MatmulIn(type); `type_field` is the request's field of the type.
std::string NotInTypeText(const DeviceCalibration& calibration, DataType type,
                          absl::string_view type_field);

// Returns OK, or kFailedPrecondition RATES_NOT_MEASURED with a PreconditionViolation for each
// device that was never measured, not in `type`, in which the run computes, or too long ago, and
// for a rate whose source is worse than run.rate_requirement allows. `devices` are the run's.
absl::Status CheckRates(const RunSpec& run, DataType type, const RunDevices& devices);

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

#endif  // SEXTANT_ENGINE_RUN_RATE_REQUIREMENT_H_
