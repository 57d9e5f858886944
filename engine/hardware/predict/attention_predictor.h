// Times of attention in one kernel in one data type on one device, from the best figures there are.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_ATTENTION_PREDICTOR_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_ATTENTION_PREDICTOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/hardware/kernels/attention_model.h"
#include "engine/hardware/kernels/attention_shape.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/roof_time.h"
#include "engine/hardware/predict/device_roofs.h"
#include "engine/hardware/predict/kernel_source.h"

namespace sextant {

class AttentionPredictor {
 public:
  // Of a product that was not measured here. The first of
  //   published attention in the type; of heads whose keys are wider than their values published
  //     latent attention, where there is some
  //   published attention in another type as wide and of the same peak
  //   datasheet peaks, and what attention reached of them elsewhere
  // Absent where the datasheet has no peak in `type`, or no bandwidth.
  static absl::optional<AttentionPredictor> OfAccelerator(const Accelerator& accelerator,
                                                          DataType type);

  // Of a device that was measured. The first of
  //   its own attention in the type, AttentionModel::kLeastPoints of a head size, mask and window
  //   published attention of its product in the type
  //   its own, then published attention in another type as wide and of the same peak
  //   its best rates
  //   OfAccelerator(), where its datasheet is known
  // Its own backward passes answer for themselves; of a head size and mask that they lack, and
  // forward passes don't, the forward pass does. Errors: those of AttentionModel::Of().
  static absl::StatusOr<absl::optional<AttentionPredictor>> OfMeasured(
      const MeasuredKernels& measured, DataType type);

  // Finite and positive for sizes of 1 to 2^40. Allocate nothing.
  KernelTime Predict(const AttentionShape& shape) const;
  // With the gradients of queries, keys and values.
  KernelTime PredictBackward(const AttentionShape& shape) const;

  // What the times of `shape` stand on.
  const KernelSource& SourceOf(const AttentionShape& shape) const;
  const KernelSource& BackwardSourceOf(const AttentionShape& shape) const;

  // Of heads whose keys are as wide as their values, forward.
  const KernelSource& source() const { return forward_.source; }

 private:
  // What one pass of one kind of heads stands on.
  struct Stand {
    KernelSource source = {};
    std::shared_ptr<const AttentionModel> own = nullptr;  // what `model` points to, if ours
    const AttentionModel* model = nullptr;                // null: by roofs
    bool like_type = false;                               // the model is of a type like it
    KernelRoofs roofs = {};
  };

  explicit AttentionPredictor(DataType type) : type_(type) {}
  static absl::StatusOr<absl::optional<Stand>> OwnStand(const MeasuredKernels& measured,
                                                        absl::Span<const AttentionPoint> points);
  static absl::StatusOr<absl::optional<AttentionPredictor>> OfOwn(const MeasuredKernels& measured,
                                                                  DataType type);
  static absl::StatusOr<absl::optional<Stand>> OwnBackward(const MeasuredKernels& measured,
                                                           DataType type);
  static absl::optional<AttentionPredictor> OfReference(const Accelerator& accelerator,
                                                        DataType type);
  static absl::optional<AttentionPredictor> OfRoofs(absl::optional<DeviceRoofs> roofs,
                                                    DataType type);
  static absl::optional<AttentionPredictor> AsLike(absl::optional<AttentionPredictor> other,
                                                   DataType type);

  const Stand& ForwardStand(const AttentionShape& shape) const;
  KernelTime TimeBy(const Stand& stand, const AttentionShape& shape) const;
  KernelTime BackwardByForward(const AttentionShape& shape) const;
  bool HasBackwardOf(const AttentionShape& shape) const;

  DataType type_;
  Stand forward_;
  absl::optional<Stand> latent_ = {};    // of keys wider than values
  absl::optional<Stand> backward_ = {};  // measured backward passes
};

// Quantiles of measured over (c^2 + m^2)^(1/2) + floor of causal attention without a window, 2,048
// to 16,384 tokens, where c and m are by the rates that matrix products and copies reach: softmax
// runs on other units, and half of a diagonal tile is masked. From the published tables of four
// GPUs (docs/kernels.md).
PredictionError AttentionErrorUnderRoofs(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_ATTENTION_PREDICTOR_H_
