// The sources of a kernel's predicted times: one device's measurements, and substitutes for kinds
// that were not measured.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_KERNEL_SOURCE_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_KERNEL_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/calibration.h"
#include "engine/hardware/kernels/attention_shape.h"
#include "engine/hardware/kernels/ceiling_time.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/kernels/stream_calibration.h"
#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/links/host_copy_rate.h"
#include "engine/hardware/rates.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// Multiplications of one data type that a probe measured.
struct MeasuredMatmulPoints {
  DataType data_type = DataType::kUnspecified;
  std::vector<MatmulPoint> matmuls;
};

// Attention in one kernel of one data type that a probe measured, by pass.
struct MeasuredAttentions {
  DataType data_type = DataType::kUnspecified;
  std::vector<AttentionPoint> forward = {};
  std::vector<AttentionPoint> backward = {};
};

// Products of expert layers of one data type that a probe measured, gated and ungated.
struct MeasuredExperts {
  DataType data_type = DataType::kUnspecified;
  std::vector<GroupedMatmulPoint> points = {};
};

// A measured device. `calibration` and its strings outlive every predictor made from it.
struct MeasuredKernels {
  const DeviceCalibration* calibration = nullptr;
  std::vector<MeasuredMatmulPoints> matmuls = {};
  std::vector<MeasuredAttentions> attentions = {};
  std::vector<MeasuredExperts> experts = {};
  std::vector<MeasuredCollective> collectives = {};
  std::vector<MeasuredHostCopy> host_copies = {};
  StreamCalibration passes = {};
};

// sextant.v1.PredictionForm says what each means. The order is the same.
enum class PredictionForm { kGrid, kTiles, kTerms, kProducts, kStreams, kRoofline };

// The basis of a predictor. Views live as long as the device's figures.
struct KernelSource {
  RateSource source = RateSource::kDatasheet;
  std::string citation;
  absl::string_view device = "";  // the catalogue's name, else the device's own
  PredictionForm form = PredictionForm::kRoofline;
  PredictionError error = {};          // of the underlying model; no shapes: assumed
  absl::string_view device_uuid = "";  // of probe measurements
  int64_t measured_unix_seconds = 0;   // likewise; 0: published measurements
};

// The KernelSource of a probe's measurements, without form and error. Its source is always
// kMeasuredSupplied.
KernelSource SourceOfMeasured(const MeasuredKernels& measured);

// The type that tables and probes name: all fp8 formats multiply at the same rate.
constexpr DataType CanonicalType(DataType type) {
  return type == DataType::kFp8 || type == DataType::kFp8E5m2 ? DataType::kFp8E4m3 : type;
}

// A type of the same width, and of the same peak on every product that has both: bf16 and fp16 for
// each other. kUnspecified: none.
constexpr DataType EquivalentType(DataType type) {
  if (type == DataType::kBf16) return DataType::kFp16;
  return type == DataType::kFp16 ? DataType::kBf16 : DataType::kUnspecified;
}

// Converts `time` of a measured type to a similar type.
KernelTime AsEquivalentType(const KernelTime& time);

// Ceilings, and their source without its error.
struct DeviceCeilings {
  KernelCeilings ceilings;
  KernelSource source;
};

// The datasheet's peak in `type` and its bandwidth, times the published shares. Absent where it
// lacks either.
absl::optional<DeviceCeilings> DatasheetCeilings(const Accelerator& accelerator, DataType type);

// The best multiplication and copy that a probe measured. Absent where it measured none in `type`,
// or no copy.
absl::optional<DeviceCeilings> MeasuredCeilings(const MeasuredKernels& measured, DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_KERNEL_SOURCE_H_
