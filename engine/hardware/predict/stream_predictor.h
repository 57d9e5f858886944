// Times of kernels other than matrix products on one device, from the best available data.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_STREAM_PREDICTOR_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_STREAM_PREDICTOR_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/stream_model.h"
#include "engine/hardware/predict/device_scale.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/tensor/data_type.h"

namespace sextant {

class StreamPredictor {
 public:
  // For a product: its datasheet's bandwidth times the published share of it (no tables of passes
  // are published). Absent where the datasheet has no bandwidth.
  static absl::optional<StreamPredictor> OfAccelerator(const Accelerator& accelerator,
                                                       DataType type);

  // For a measured device: its own passes; else OfAccelerator(), where its datasheet is known.
  // Absent where neither is available. Errors: those of StreamModel::Of().
  static absl::StatusOr<absl::optional<StreamPredictor>> OfMeasured(const MeasuredKernels& measured,
                                                                    DataType type);

  // Makes it that of a device of the same product, which has not been scaled. All of a pass counts
  // as moving bytes.
  void Scale(const DeviceScale& scale);

  // As StreamModel::Predict(). Arithmetic runs at the fp32 rate; fp64 FLOPs are scaled up by the
  // device's ratio of the two rates.
  KernelTime Predict(StreamWork work, StreamKind kind) const {
    work.flops *= flops_ratio_;
    return model_.Predict(work, kind) * scale_;
  }

  // Measured passes, nearest first; empty where a datasheet is used.
  std::vector<NearbyPass> Nearest(const StreamWork& work, size_t most) const {
    return model_.Nearest(work, most);
  }

  const KernelSource& source() const { return source_; }

 private:
  StreamPredictor(StreamModel model, KernelSource source)
      : model_(std::move(model)), source_(std::move(source)) {}

  StreamModel model_;
  KernelSource source_;
  double flops_ratio_ = 1;  // fp32's rate over the type's
  double scale_ = 1;        // on all times
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_STREAM_PREDICTOR_H_
