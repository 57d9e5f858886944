// Several devices with one time: devices that work together, or devices that represent a product.
#ifndef SEXTANT_ENGINE_HARDWARE_PLACEMENT_H_
#define SEXTANT_ENGINE_HARDWARE_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/note.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/device_model.h"
#include "engine/hardware/rates.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// One device of a placement. A null model: a device that has only rates.
struct PlacedDevice {
  const DeviceModel* model = nullptr;
  // The source of the model's measurements.
  RateSource source = RateSource::kMeasuredSupplied;

  // The source of times from one of the model's predictors.
  KernelSource SourceOf(KernelSource of_predictor) const;
};

// The device for `accelerator` where none was measured.
PlacedDevice PlacedProduct(const Accelerator& accelerator);

// The rule that combines the times of several devices.
enum class DeviceJoin {
  kSlowest,  // for a placement: work waits for the slowest
  kMedian,   // for a product: the lower of the two middle times where their number is even
};

// The index of the device whose time decides. `seconds` is not empty. For a product, where
// `sources` are given, only devices with the best of them count: one device's own measurement is
// worth more than published figures.
size_t DecidingDevice(absl::Span<const double> seconds, DeviceJoin join,
                      absl::Span<const RateSource> sources = {});

// One or more devices.
struct Placement {
  std::vector<PlacedDevice> devices = {};
  DeviceJoin join = DeviceJoin::kSlowest;
  Notes notes = {};  // which devices were left out

  // The data types measured on all devices; for an unmeasured product, fp8 and bf16, or fp16 where
  // it has no bf16.
  std::vector<DataType> MeasuredTypes() const;
};

// Measured devices; the slowest one decides.
Placement PlacementOf(absl::Span<const DeviceModel* const> models, RateSource source);

// A product of the catalogue: the median of those `peers` that are of `accelerator`, were measured
// at or after `oldest_unix_seconds`, and run at the power limit of its datasheet, because a GPU
// with a lower limit is slower. Devices that report no limit count, and so do all where the
// catalogue has no limit. Without any, the published figures of the product.
Placement PlacementOfProduct(const Accelerator& accelerator,
                             absl::Span<const DeviceModel* const> peers,
                             absl::optional<int64_t> oldest_unix_seconds);

// Measured devices that train together. A gang waits for its slowest member, and evenly divided
// memory must fit the smallest.
struct MeasuredGang {
  RateSource source = RateSource::kMeasuredSupplied;
  int64_t measured_count = 0;                   // of devices that the request says it is about
  const DeviceCalibration* slowest = nullptr;   // null: no rate in that data type
  const MeasuredMatmul* matmul = nullptr;       // of the slowest
  const DeviceCalibration* smallest = nullptr;  // by memory; null: none was ever measured

  // Adds `model`, of a device that computes in `type`.
  void Join(const DeviceModel& model, DataType type);
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PLACEMENT_H_
