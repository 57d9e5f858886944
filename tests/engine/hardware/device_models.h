// Models of devices, for tests.
#ifndef SEXTANT_TESTS_ENGINE_HARDWARE_DEVICE_MODELS_H_
#define SEXTANT_TESTS_ENGINE_HARDWARE_DEVICE_MODELS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "engine/hardware/calibration.h"
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

inline constexpr int64_t kSomeGpuMeasured = 1'700'000'000;  // 2023-11-14 22:13:20 UTC

// A device of no known product where `accelerator` is null. Nothing was measured yet.
inline DeviceCalibration SomeGpu(const Accelerator* accelerator) {
  DeviceCalibration out;
  out.uuid = "GPU-1";
  out.product_name = "Some GPU";
  out.accelerator = accelerator;
  out.measured_unix_seconds = kSomeGpuMeasured;
  out.probe_version = "sextant-probe 0.1.0";
  return out;
}

// Its best rates: of bf16, in a product of three equal sizes, and of a copy of 1 GiB.
struct BestOfSomeGpu {
  int64_t size;
  double flops_per_second;
  double bytes_per_second;
};

inline DeviceCalibration SomeGpu(const Accelerator* accelerator, const BestOfSomeGpu& best) {
  DeviceCalibration out = SomeGpu(accelerator);
  out.KeepIfBetter({.data_type = DataType::kBf16,
                    .m = best.size,
                    .n = best.size,
                    .k = best.size,
                    .rate = FlopsPerSecond(best.flops_per_second),
                    .sample_count = 9,
                    .stable = true,
                    .engine = "library"});
  out.ConsiderPass(
      StreamPattern::kCopy,
      {.per_second = best.bytes_per_second, .array_bytes = 1 << 30, .sample_count = 9});
  return out;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_HARDWARE_DEVICE_MODELS_H_
