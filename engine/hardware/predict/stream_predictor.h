// Times of kernels that are no products of matrices on one device, from the best figures there are.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_STREAM_PREDICTOR_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_STREAM_PREDICTOR_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/stream_model.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/tensor/data_type.h"

namespace sextant {

class StreamPredictor {
 public:
  // Of a product: its datasheet's bandwidth, and the share of it that somebody published (of passes
  // no table is published). Absent where the datasheet has no bandwidth.
  static absl::optional<StreamPredictor> OfAccelerator(const Accelerator& accelerator,
                                                       DataType type);

  // Of a device that was measured: its own passes; else OfAccelerator(), where its datasheet is
  // known. Absent where neither is there. Errors: those of StreamModel::Of().
  static absl::StatusOr<absl::optional<StreamPredictor>> OfMeasured(const MeasuredKernels& measured,
                                                                    DataType type);

  // As StreamModel::Predict(). Arithmetic is at the rate of fp32; fp64 takes its FLOPs as so many
  // more as the device is slower in it.
  KernelTime Predict(StreamWork work, StreamKind kind) const;

  // Measured passes, nearest first; none where it stands on a datasheet.
  std::vector<NearbyPass> Nearest(const StreamWork& work, size_t most) const {
    return model_.Nearest(work, most);
  }

  const KernelSource& source() const { return source_; }

 private:
  StreamPredictor(StreamModel model, KernelSource source)
      : model_(std::move(model)), source_(std::move(source)) {}

  StreamModel model_;
  KernelSource source_;
  double flops_ratio_ = 1;  // of fp32's rate to that of the type
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_STREAM_PREDICTOR_H_
