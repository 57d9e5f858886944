// Times of attention in one kernel in one data type on one device, from the best figures there are.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_ATTENTION_PREDICTOR_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_ATTENTION_PREDICTOR_H_

#include <memory>

#include "absl/types/optional.h"
#include "engine/hardware/kernels/attention_model.h"
#include "engine/hardware/kernels/attention_shape.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/roof_time.h"
#include "engine/hardware/predict/device_roofs.h"
#include "engine/hardware/predict/kernel_source.h"

namespace sextant {

class AttentionPredictor {
 public:
  // Of a product: published attention in the type, else datasheet peaks and what attention reached
  // of them elsewhere. Absent where the datasheet has no peak in `type`, or no bandwidth.
  static absl::optional<AttentionPredictor> OfAccelerator(const Accelerator& accelerator,
                                                          DataType type);

  // Of a device that was measured: probes time no attention, so its best rates, where its product
  // is not known or has no published attention; else OfAccelerator().
  static absl::optional<AttentionPredictor> OfMeasured(const MeasuredKernels& measured,
                                                       DataType type);

  // Finite and positive for sizes of 1 to 2^40.
  KernelTime Predict(const AttentionShape& shape) const;
  // With the gradients of queries, keys and values.
  KernelTime PredictBackward(const AttentionShape& shape) const;

  const KernelSource& source() const { return source_; }

 private:
  AttentionPredictor() = default;
  static absl::optional<AttentionPredictor> OfReference(const Accelerator& accelerator,
                                                        DataType type);
  static absl::optional<AttentionPredictor> OfRoofs(absl::optional<DeviceRoofs> roofs,
                                                    DataType type);

  DataType type_ = DataType::kUnspecified;
  KernelSource source_;
  std::shared_ptr<const AttentionModel> model_ = nullptr;  // null: by roofs
  KernelRoofs roofs_ = {};
};

// Quantiles of measured over (c^2 + m^2)^(1/2) + floor of causal attention without a window, 2,048
// to 16,384 tokens, where c and m are by the rates that matrix products and copies reach: softmax
// runs on other units, and half of a diagonal tile is masked. From the published tables of four
// GPUs (docs/kernels.md).
PredictionError AttentionErrorUnderRoofs(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_ATTENTION_PREDICTOR_H_
