// Models of devices, for tests.
#ifndef SEXTANT_TESTS_ENGINE_HARDWARE_DEVICE_MODELS_H_
#define SEXTANT_TESTS_ENGINE_HARDWARE_DEVICE_MODELS_H_

#include <memory>
#include <utility>

#include "engine/hardware/device_model.h"

namespace sextant {

inline std::shared_ptr<const DeviceModel> ModelOf(DeviceCalibration calibration,
                                                  MeasuredKernels kernels = {}) {
  return std::make_shared<const DeviceModel>(std::move(calibration), std::move(kernels));
}

// Puts a model in the place of `model` that differs from it by `change` of its calibration.
template <typename Change>
void ChangeCalibration(std::shared_ptr<const DeviceModel>& model, const Change& change) {
  DeviceCalibration calibration = model->calibration();
  change(calibration);
  model = ModelOf(std::move(calibration));
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_HARDWARE_DEVICE_MODELS_H_
