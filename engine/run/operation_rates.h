// The rates of the device that an operation is to run on.
#ifndef SEXTANT_ENGINE_RUN_OPERATION_RATES_H_
#define SEXTANT_ENGINE_RUN_OPERATION_RATES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/hardware/rates.h"
#include "engine/operation/roofline.h"
#include "engine/run/run_spec.h"

namespace sextant {

// At most one of accelerator, device and calibration. Figures of the request's own go before
// those of the device.
struct OperationDevice {
  absl::string_view accelerator = "";
  absl::optional<NamedDevice> device = {};
  absl::optional<DeviceCalibration> calibration = {};
  absl::optional<double> matrix_flops_per_second = {};
  absl::optional<double> general_flops_per_second = {};
  absl::optional<double> memory_bytes_per_second = {};
  double launch_seconds = 0;
  RateRequirement requirement = {};
};

struct OperationRates {
  DeviceRates rates;
  std::vector<Rate> used;
  std::vector<std::string> assumptions;
  // The device's dense peak, where its datasheet is known and has one: what MFU is a share of.
  absl::optional<FlopsPerSecond> datasheet_peak = {};
};

// Matrix products in `type`: measured, else the dense peak. Other arithmetic: the measured
// multiply-adds, else the general units' peak, in fp32 (fp64 for fp64). Memory: the measured
// copy, else the datasheet's bandwidth. A measured device never falls back on its datasheet.
//
// Errors: kInvalidArgument naming fields below `path` that are missing, contradict each other or
// are out of range; kNotFound GPU_UNKNOWN, DEVICE_UNKNOWN; kFailedPrecondition
// RATES_NOT_MEASURED where the device was never measured, not in `type`, had a wrong result, or
// where its rates are not as good as device.requirement demands.
absl::StatusOr<OperationRates> RatesFor(const OperationDevice& device, DataType type,
                                        absl::string_view path);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_OPERATION_RATES_H_
