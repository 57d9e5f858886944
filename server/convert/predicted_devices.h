// The devices that kernels' times are asked of, with all that was measured of them.
#ifndef SEXTANT_SERVER_CONVERT_PREDICTED_DEVICES_H_
#define SEXTANT_SERVER_CONVERT_PREDICTED_DEVICES_H_

#include <deque>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "engine/time/operation_prediction.h"
#include "server/calibration_snapshot.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// Devices, and what they point to. Texts point into the calibrations that it was made of.
class PredictedDevices {
 public:
  // A product of the catalogue: the median of its PeersOf(), else what is published.
  static PredictedDevices OfProduct(const Accelerator& accelerator,
                                    const CalibrationSnapshot& snapshot,
                                    const CalibrationQuery& query);

  // Calibrations that CheckCalibration() found in order; the slowest decides.
  static PredictedDevices OfCalibrations(absl::Span<const v1::Calibration* const> calibrations,
                                         RateSource source);

  PredictedDevices(PredictedDevices&&) = default;

  absl::Span<const PredictedDevice> devices() const { return devices_; }
  DeviceJoin join() const { return join_; }
  // Who was left out, in full sentences.
  absl::Span<const std::string> assumptions() const { return assumptions_; }

  // The data types that were measured of all of them; of a product that was not bf16, or fp16 where
  // it has no bf16, and fp8.
  std::vector<DataType> MeasuredTypes() const;

 private:
  PredictedDevices() = default;
  void Add(const v1::Calibration& calibration, RateSource source);

  std::deque<DeviceCalibration> calibrations_;
  std::deque<MeasuredKernels> measured_;
  std::vector<PredictedDevice> devices_;
  DeviceJoin join_ = DeviceJoin::kSlowest;
  std::vector<std::string> assumptions_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_PREDICTED_DEVICES_H_
