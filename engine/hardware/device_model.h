// A device with its best rates, and with kernel models that are fitted once.
#ifndef SEXTANT_ENGINE_HARDWARE_DEVICE_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_DEVICE_MODEL_H_

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/lazy.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/calibration.h"
#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/predict/attention_predictor.h"
#include "engine/hardware/predict/device_scale.h"
#include "engine/hardware/predict/grouped_matmul_predictor.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/predict/matmul_predictor.h"
#include "engine/hardware/predict/stream_predictor.h"
#include "engine/hardware/predict/sustained_rate.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// The error of predictions of a device's matrix multiplications against its own measurements:
// |predicted / measured - 1| over shapes held out of the fit.
struct MatmulError {
  DataType data_type = DataType::kUnspecified;
  double median = 0;
  double p90 = 0;
};

// How a device's kernels follow from another's.
struct DeviceScales {
  DeviceScale wide;                             // in types of 16 bits and more
  DeviceScale narrow;                           // in fewer
  absl::optional<Derating> wide_derating = {};  // absent: the other's

  const DeviceScale& Of(DataType type) const;
};

// A measured device, or an unmeasured product. Immutable, so any number of threads may use it.
// Each model is fitted on first use (milliseconds) and kept; a failed fit is kept likewise. Views
// and pointers live as long as the DeviceModel.
class DeviceModel {
 public:
  // A measured device; `kernels.calibration` is not read.
  DeviceModel(DeviceCalibration calibration, MeasuredKernels kernels);
  // An unmeasured product: published measurements, else its datasheet. `accelerator` outlives
  // this.
  explicit DeviceModel(const Accelerator& accelerator);

  // A device whose kernels are those of `curves`, of the same product, scaled.
  DeviceModel(std::shared_ptr<const DeviceModel> curves, DeviceScales scales,
              DeviceCalibration calibration, std::vector<MeasuredHostCopy> host_copies);

  DeviceModel(const DeviceModel&) = delete;
  DeviceModel& operator=(const DeviceModel&) = delete;

  // The model of `accelerator`, one of Accelerators(): one per process.
  static const DeviceModel& OfProduct(const Accelerator& accelerator);

  bool is_measured() const { return is_measured_; }
  // Its datasheet; null: not in the catalogue.
  const Accelerator* accelerator() const { return calibration_.accelerator; }
  // The device's identity and its best rates. Empty except for the accelerator where nothing was
  // measured.
  const DeviceCalibration& calibration() const { return calibration_; }
  // The measurements that its models are fitted to.
  const MeasuredKernels& kernels() const { return kernels_; }

  // The predictors of one data type. Null where nothing is known of the device in that type. Their
  // sources label this device's measurements RateSource::kMeasuredSupplied; the caller knows the
  // device's owner (PlacedDevice::SourceOf()).
  //
  // Errors: those of MatmulModel::Of(), AttentionModel::Of(), GroupedMatmulModel::Of() and
  // StreamModel::Of(), where measurements are damaged.
  // A DataType's products are those of its UsualMatmulType().
  absl::StatusOr<const MatmulPredictor*> Matmuls(MatmulType type) const;
  absl::StatusOr<const MatmulPredictor*> Matmuls(DataType type) const;
  absl::StatusOr<const AttentionPredictor*> Attention(DataType type) const;
  absl::StatusOr<const GroupedMatmulPredictor*> Experts(ExpertsKind kind) const;
  absl::StatusOr<const StreamPredictor*> Streams(DataType type) const;

  // The time of products in `type` in runs of hours over their time in a burst; of arithmetic-bound
  // ones, Sustained() has the others. Errors: Matmuls()'s.
  absl::StatusOr<Derating> SustainedDerating(DataType type) const;

  // Times of collectives that this device measured within its node; absent where it measured none.
  // Errors: those of MeasuredCollectives().
  const absl::StatusOr<absl::optional<CollectiveModel>>& Collectives() const;

  // The error of each data type with enough shapes to fit a model, in the order of measurement.
  std::vector<MatmulError> MatmulErrors() const;

 private:
  template <typename Predictor>
  using Fitted = Lazy<absl::StatusOr<absl::optional<Predictor>>>;
  template <typename Predictor>
  using OfTypes = std::array<Fitted<Predictor>, kDataTypeCount>;

  // Fitted once; models of expert layers sum up these products, too.
  const absl::StatusOr<absl::optional<MatmulPredictor>>& FittedMatmuls(MatmulType type) const;

  const DeviceCalibration calibration_;
  const MeasuredKernels kernels_;
  const bool is_measured_;
  const std::shared_ptr<const DeviceModel> curves_ = nullptr;  // null: its kernels are its own
  const DeviceScales scales_ = {};
  OfTypes<MatmulPredictor> matmuls_;
  Fitted<MatmulPredictor> fp8_block_matmuls_;
  OfTypes<AttentionPredictor> attention_;
  std::array<OfTypes<GroupedMatmulPredictor>, 4> experts_;  // by gate and scaling
  OfTypes<StreamPredictor> streams_;
  Lazy<absl::StatusOr<absl::optional<CollectiveModel>>> collectives_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_DEVICE_MODEL_H_
