// Times of attention in one data type on one device, from the best available data.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_ATTENTION_PREDICTOR_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_ATTENTION_PREDICTOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/hardware/kernels/attention_shape.h"
#include "engine/hardware/kernels/ceiling_time.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/predict/device_scale.h"
#include "engine/hardware/predict/kernel_source.h"

namespace sextant {

class AttentionModel;

class AttentionPredictor {
 public:
  // For a product that was not measured here. The first of
  //   published attention in the type; for key heads wider than value heads, published latent
  //     attention, where available
  //   published attention in another type of the same width and peak
  //   that of another product of the same chip, scaled by the peaks
  //   datasheet peaks, times the share that attention reached elsewhere
  // Absent where the datasheet has no peak in `type`, or no bandwidth.
  static absl::optional<AttentionPredictor> OfAccelerator(const Accelerator& accelerator,
                                                          DataType type);

  // For a measured device. The first of
  //   its own attention in the type, AttentionModel::kMinPoints per head size, mask and window
  //   published attention of its product in the type
  //   its own, then published attention in another type of the same width and peak
  //   its best rates
  //   OfAccelerator(), where its datasheet is known
  // Backward passes use its own measured ones. For a head size and mask that only forward passes
  // cover, the forward pass is used. Errors: those of AttentionModel::Of().
  static absl::StatusOr<absl::optional<AttentionPredictor>> OfMeasured(
      const MeasuredKernels& measured, DataType type);

  // Makes it that of a device of the same product, which has not been scaled. All of attention
  // counts as arithmetic.
  void Scale(const DeviceScale& scale);

  // Finite and positive for sizes of 1 to 2^40; key_sequence may be 0, too. Allocate nothing.
  KernelTime Predict(const AttentionShape& shape) const;
  // Includes the gradients of queries, keys and values.
  KernelTime PredictBackward(const AttentionShape& shape) const;

  // The sources of the times of `shape`.
  const KernelSource& SourceOf(const AttentionShape& shape) const;
  const KernelSource& BackwardSourceOf(const AttentionShape& shape) const;

  // The source for forward passes of heads with keys as wide as values.
  const KernelSource& source() const { return forward_.source; }

 private:
  // The basis of one pass for one kind of heads.
  struct Stand {
    KernelSource source = {};
    std::shared_ptr<const AttentionModel> own = nullptr;  // owns `model`, if it is ours
    const AttentionModel* model = nullptr;                // null: by ceilings
    bool equivalent_type = false;                         // the model is of a similar type
    KernelCeilings ceilings = {};
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
  static absl::optional<AttentionPredictor> OfCeilings(absl::optional<DeviceCeilings> ceilings,
                                                       DataType type);
  static absl::optional<AttentionPredictor> AsLike(absl::optional<AttentionPredictor> other,
                                                   DataType type);

  const Stand& ForwardStand(const AttentionShape& shape) const;
  KernelTime TimeBy(const Stand& stand, const AttentionShape& shape) const;
  KernelTime BackwardByForward(const AttentionShape& shape) const;
  bool HasBackwardOf(const AttentionShape& shape) const;

  DataType type_;
  Stand forward_;
  SameChip chip_ = {};                   // of whose published product the forward stands are
  absl::optional<Stand> latent_ = {};    // of keys wider than values
  absl::optional<Stand> backward_ = {};  // for keys wider than values
  double scale_ = 1;                     // on all times
};

// Quantiles of measured over (c^2 + m^2)^(1/2) + floor of causal attention without a window, 2,048
// to 16,384 tokens, where c and m use the rates that matrix products and copies reach. Attention
// is slower because softmax runs on other units, and half of each diagonal tile is masked. From
// the published tables of four GPUs (docs/kernels.md, "By two ceilings").
PredictionError AttentionErrorUnderCeilings(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_ATTENTION_PREDICTOR_H_
