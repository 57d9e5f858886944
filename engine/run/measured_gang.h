// Measured devices that train together, as one.
#ifndef SEXTANT_ENGINE_RUN_MEASURED_GANG_H_
#define SEXTANT_ENGINE_RUN_MEASURED_GANG_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "engine/hardware/calibration.h"
#include "engine/hardware/rates.h"
#include "engine/run/run_spec.h"

namespace sextant {

// A gang waits for its slowest member, and holds evenly divided memory that its smallest must
// hold too. Points into the ClusterSpec.
struct MeasuredGang {
  RateSource source = RateSource::kMeasuredSupplied;
  int64_t named_count = 0;
  const DeviceCalibration* slowest = nullptr;   // null: no rate in that data type
  const MeasuredMatmul* matmul = nullptr;       // of the slowest
  const DeviceCalibration* smallest = nullptr;  // by memory; null: none was ever measured
};

// Of the devices that `cluster` names, computing in `type`; those without a measurement are
// passed over (CheckRates() reports them). Absent where an accelerator's name stands for them.
absl::optional<MeasuredGang> MeasuredGangOf(const ClusterSpec& cluster, DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_MEASURED_GANG_H_
