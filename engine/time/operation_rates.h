// The rates of the device that an operation runs on.
#ifndef SEXTANT_ENGINE_TIME_OPERATION_RATES_H_
#define SEXTANT_ENGINE_TIME_OPERATION_RATES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/note.h"
#include "engine/hardware/rates.h"
#include "engine/operation/roofline.h"
#include "engine/time/rate_requirement.h"

namespace sextant {

struct OperationRates {
  DeviceRates rates;
  std::vector<Rate> used;
  Notes notes;
  // The device's dense peak, the base of MFU; absent where no datasheet has it.
  absl::optional<FlopsPerSecond> datasheet_peak = {};
};

// The rates that an operation needs. Arithmetic other than products takes no time of its own where
// its rate is unknown.
enum class OperationNeed { kProducts, kMemoryAlone };

// Matrix products in `type`: measured, else the dense peak. Other arithmetic: the measured
// multiply-adds, else the general units' peak, in fp32 (fp64 for fp64). Memory: the measured
// copy, else the datasheet's bandwidth. A measured device never falls back on its datasheet. Of
// several devices each figure is the slowest one's, and absent where one of them lacks it. Without
// products the rate of products may be absent.
//
// Errors: kInvalidArgument naming fields below `path` that are missing, out of range or contradict
// each other; kNotFound GPU_UNKNOWN, DEVICE_UNKNOWN; kFailedPrecondition RATES_NOT_MEASURED where
// a device was never measured, not in `type` where `need` is kProducts, had a wrong result, or
// where its rates are worse than device.requirement demands.
absl::StatusOr<OperationRates> RatesFor(const OperationDevice& device, DataType type,
                                        absl::string_view path,
                                        OperationNeed need = OperationNeed::kProducts);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_OPERATION_RATES_H_
