#include "engine/hardware/device_model.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/matmul_model.h"
#include "engine/hardware/links/collective_model.h"

namespace sextant {
namespace {

DeviceCalibration Unmeasured(const Accelerator& accelerator) {
  DeviceCalibration out;
  out.accelerator = &accelerator;
  return out;
}

MeasuredKernels WithCalibration(MeasuredKernels kernels, const DeviceCalibration& calibration) {
  kernels.calibration = &calibration;
  return kernels;
}

size_t IndexOf(DataType type) { return static_cast<size_t>(type); }

template <typename Predictor>
absl::StatusOr<absl::optional<Predictor>> Scaled(absl::StatusOr<const Predictor*> of_curves,
                                                 const DeviceScale& scale) {
  if (!of_curves.ok()) return of_curves.status();
  absl::optional<Predictor> out;
  if (*of_curves == nullptr) return out;
  out = **of_curves;
  out->Scale(scale);
  return out;
}

template <typename Predictor>
absl::StatusOr<const Predictor*> PointerTo(
    const absl::StatusOr<absl::optional<Predictor>>& fitted) {
  if (!fitted.ok()) return fitted.status();
  return fitted->has_value() ? &**fitted : nullptr;
}

}  // namespace

const DeviceScale& DeviceScales::Of(DataType type) const {
  return StorageBytes(type) < 2 ? narrow : wide;
}

DeviceModel::DeviceModel(DeviceCalibration calibration, MeasuredKernels kernels)
    : calibration_(std::move(calibration)),
      kernels_(WithCalibration(std::move(kernels), calibration_)),
      is_measured_(true) {}

DeviceModel::DeviceModel(const Accelerator& accelerator)
    : calibration_(Unmeasured(accelerator)),
      kernels_({.calibration = &calibration_}),
      is_measured_(false) {}

DeviceModel::DeviceModel(std::shared_ptr<const DeviceModel> curves, DeviceScales scales,
                         DeviceCalibration calibration, std::vector<MeasuredHostCopy> host_copies)
    : calibration_(std::move(calibration)),
      kernels_({.calibration = &calibration_, .host_copies = std::move(host_copies)}),
      is_measured_(true),
      curves_(std::move(curves)),
      scales_(std::move(scales)) {}

const DeviceModel& DeviceModel::OfProduct(const Accelerator& accelerator) {
  static const auto* const models = [] {
    auto* out = new std::vector<std::unique_ptr<const DeviceModel>>;
    for (const Accelerator& each : Accelerators()) {
      out->push_back(std::make_unique<const DeviceModel>(each));
    }
    return out;
  }();
  return *(*models)[static_cast<size_t>(&accelerator - Accelerators().data())];
}

const absl::StatusOr<absl::optional<MatmulPredictor>>& DeviceModel::FittedMatmuls(
    MatmulType type) const {
  using Result = absl::StatusOr<absl::optional<MatmulPredictor>>;
  const bool by_block = IsFp8(type.data_type) && type.scaling == MatmulScaling::kBlock;
  const MatmulType fitted =
      by_block ? MatmulType{DataType::kFp8E4m3, MatmulScaling::kBlock}
               : MatmulType{type.data_type, UsualMatmulType(type.data_type).scaling};
  const Fitted<MatmulPredictor>& lazy =
      by_block ? fp8_block_matmuls_ : matmuls_[IndexOf(type.data_type)];
  return lazy.Get([&]() -> Result {
    if (curves_ != nullptr) return Scaled(curves_->Matmuls(fitted), scales_.Of(fitted.data_type));
    return is_measured_ ? MatmulPredictor::OfMeasured(kernels_, fitted)
                        : MatmulPredictor::OfAccelerator(*accelerator(), fitted);
  });
}

absl::StatusOr<const MatmulPredictor*> DeviceModel::Matmuls(DataType type) const {
  return Matmuls(MatmulType{type, UsualMatmulType(type).scaling});
}

absl::StatusOr<const MatmulPredictor*> DeviceModel::Matmuls(MatmulType type) const {
  return PointerTo(FittedMatmuls(type));
}

absl::StatusOr<const AttentionPredictor*> DeviceModel::Attention(DataType type) const {
  using Result = absl::StatusOr<absl::optional<AttentionPredictor>>;
  return PointerTo(attention_[IndexOf(type)].Get([&]() -> Result {
    if (curves_ != nullptr) return Scaled(curves_->Attention(type), scales_.Of(type));
    return is_measured_ ? AttentionPredictor::OfMeasured(kernels_, type)
                        : AttentionPredictor::OfAccelerator(*accelerator(), type);
  }));
}

absl::StatusOr<const GroupedMatmulPredictor*> DeviceModel::Experts(ExpertsKind kind) const {
  using Result = absl::StatusOr<absl::optional<GroupedMatmulPredictor>>;
  const size_t index = (kind.gated ? 1 : 0) + (HasOtherScaling(kind) ? 2 : 0);
  return PointerTo(experts_[index][IndexOf(kind.type)].Get([&]() -> Result {
    if (curves_ != nullptr) return Scaled(curves_->Experts(kind), scales_.Of(kind.type));
    if (!is_measured_) return GroupedMatmulPredictor::OfAccelerator(*accelerator(), kind);
    return GroupedMatmulPredictor::OfMeasured(
        kernels_, kind, [this](MatmulType type) { return FittedMatmuls(type); });
  }));
}

absl::StatusOr<const StreamPredictor*> DeviceModel::Streams(DataType type) const {
  using Result = absl::StatusOr<absl::optional<StreamPredictor>>;
  return PointerTo(streams_[IndexOf(type)].Get([&]() -> Result {
    if (curves_ != nullptr) return Scaled(curves_->Streams(type), scales_.Of(type));
    return is_measured_ ? StreamPredictor::OfMeasured(kernels_, type)
                        : StreamPredictor::OfAccelerator(*accelerator(), type);
  }));
}

absl::StatusOr<Derating> DeviceModel::SustainedDerating(DataType type) const {
  if (curves_ != nullptr) {
    const bool wide = &scales_.Of(type) == &scales_.wide;
    if (wide && scales_.wide_derating.has_value()) return *scales_.wide_derating;
    return curves_->SustainedDerating(type);
  }
  if (!is_measured_) return DeratingOfUnmeasured(accelerator(), type);
  return DeratingOfMeasured(kernels_, type,
                            [this](MatmulType each) { return FittedMatmuls(each); });
}

const absl::StatusOr<absl::optional<CollectiveModel>>& DeviceModel::Collectives() const {
  return collectives_.Get([&] { return MeasuredCollectives({&kernels_.collectives, 1}); });
}

std::vector<MatmulError> DeviceModel::MatmulErrors() const {
  std::vector<MatmulError> out;
  for (const MeasuredMatmulPoints& of_type : kernels_.matmuls) {
    const absl::StatusOr<const MatmulPredictor*> matmuls = Matmuls(of_type.data_type);
    if (!matmuls.ok() || *matmuls == nullptr || (*matmuls)->own_model() == nullptr) continue;
    const PredictionError& error = (*matmuls)->own_model()->chosen().error;
    out.push_back({.data_type = of_type.data_type,
                   .median = error.median_absolute,
                   .p90 = error.p90_absolute});
  }
  return out;
}

}  // namespace sextant
