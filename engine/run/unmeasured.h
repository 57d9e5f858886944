// Why a device has no measured rate that will do, and what to do about it: sentences for people.
#ifndef SEXTANT_ENGINE_RUN_UNMEASURED_H_
#define SEXTANT_ENGINE_RUN_UNMEASURED_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/hardware/calibration.h"
#include "engine/run/run_spec.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// The reason of errors about such devices.
inline constexpr char kRatesNotMeasured[] = "RATES_NOT_MEASURED";

// Its last probe had a wrong result.
std::string DistrustedText(absl::string_view uuid);

// `instead` is what else to do: "plan by cluster.accelerator".
std::string NeverMeasuredText(absl::string_view uuid, absl::string_view instead);

// `calibration` has no MatmulIn(type); `type_field` is the field that says which type.
std::string NotInTypeText(const DeviceCalibration& calibration, DataType type,
                          absl::string_view type_field);

// Where the calibration of `device` is older than `requirement`, which stands at `path`, allows,
// or from the future. Absent where it is neither, or is missing.
absl::optional<std::string> NotRecentText(const NamedDevice& device,
                                          const RateRequirement& requirement,
                                          absl::string_view path);

// "rate_requirement.minimum_source is MEASURED_DEVICE", `path` being "rate_requirement".
std::string DemandText(RateSource minimum, absl::string_view path);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_UNMEASURED_H_
