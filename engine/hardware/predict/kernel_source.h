// Where a kernel's predicted times come from: figures of one device, and whose they are.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_KERNEL_SOURCE_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_KERNEL_SOURCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/calibration.h"
#include "engine/hardware/kernels/attention_model.h"
#include "engine/hardware/kernels/gemm_calibration.h"
#include "engine/hardware/kernels/grouped_gemm_model.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/links/collective_model.h"
#include "engine/hardware/links/host_copy_rate.h"
#include "engine/hardware/rates.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// Multiplications of one data type that a probe measured.
struct MeasuredGemms {
  DataType data_type = DataType::kUnspecified;
  std::vector<MeasuredGemm> gemms;
};

// Attention in one kernel of one data type that a probe measured, each pass apart.
struct MeasuredAttentions {
  DataType data_type = DataType::kUnspecified;
  std::vector<AttentionPoint> forward = {};
  std::vector<AttentionPoint> backward = {};
};

// Products of layers of experts of one data type that a probe measured, gated ones and others.
struct MeasuredExperts {
  DataType data_type = DataType::kUnspecified;
  std::vector<GroupedGemmPoint> points = {};
};

// A device that was measured. `calibration` outlives what is made of it, and so do its texts.
struct MeasuredKernels {
  const DeviceCalibration* calibration = nullptr;
  RateSource source = RateSource::kMeasuredSupplied;
  std::vector<MeasuredGemms> gemms = {};
  std::vector<MeasuredAttentions> attentions = {};
  std::vector<MeasuredExperts> experts = {};
  std::vector<MeasuredCollective> collectives = {};
  std::vector<MeasuredHostCopy> host_copies = {};
};

// What a predictor stands on. Views live as long as the device's figures.
struct KernelSource {
  RateSource source = RateSource::kDatasheet;
  std::string citation;
  absl::string_view device = "";       // as the catalogue names it, else as it names itself
  absl::string_view form = "";         // "grid", "tiles", "terms", "roofs"
  PredictionError error = {};          // of what it is made of; without shapes where it is stated
  absl::string_view device_uuid = "";  // of what a probe measured
  int64_t measured_unix_seconds = 0;   // the same; 0: somebody else's measurement
};

// The KernelSource of figures that a probe measured, but for form and error.
KernelSource SourceOfMeasured(const MeasuredKernels& measured);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_KERNEL_SOURCE_H_
