#include "server/convert/run_spec.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/convert/calibration.h"
#include "server/convert/count_spec.h"
#include "server/convert/enums.h"
#include "server/convert/model_spec.h"
#include "server/convert/rates.h"
#include "server/convert/run_layout.h"

namespace sextant {
namespace {

PrecisionPolicy PrecisionFrom(const v1::PrecisionPolicy& m, FieldViolations& violations) {
  const auto type = [&](v1::DataType wire, absl::string_view name) {
    return DataTypeFrom(wire, FieldPath("training.precision", name), violations);
  };
  PrecisionPolicy out;
  out.compute_data_type = type(m.compute_data_type(), "compute_data_type");
  out.weight_data_type = type(m.weight_data_type(), "weight_data_type");
  out.gradient_data_type = type(m.gradient_data_type(), "gradient_data_type");
  out.optimizer_data_type = type(m.optimizer_data_type(), "optimizer_data_type");
  if (m.has_master_weights()) out.master_weights = m.master_weights();
  return out;
}

TrainingSpec TrainingFrom(const v1::TrainingSpec& m, FieldViolations& violations) {
  TrainingSpec out;
  out.token_count = m.token_count();
  out.precision = PrecisionFrom(m.precision(), violations);
  out.optimizer.kind =
      OptimizerKindFrom(m.optimizer().kind(), "training.optimizer.kind", violations);
  out.optimizer.adafactor_momentum = m.optimizer().adafactor_momentum();
  if (m.optimizer().has_quantization_block_size()) {
    out.optimizer.quantization_block_size = m.optimizer().quantization_block_size();
  }
  if (m.has_activation_bytes()) out.activation_bytes = m.activation_bytes();
  if (m.has_sequence_length()) out.sequence_length = m.sequence_length();
  if (m.has_encoder_sequence_length()) {
    out.encoder_sequence_length = m.encoder_sequence_length();
  }
  out.recompute = RecomputePolicyFrom(m.recompute(), "training.recompute", violations);
  return out;
}

std::vector<DeviceCalibration> CalibrationsFrom(const v1::ClusterSpec& m,
                                                FieldViolations& violations) {
  constexpr char kPath[] = "cluster.calibrations";
  std::vector<DeviceCalibration> out;
  if (m.calibrations_size() > kMaxCalibrations) {
    violations.Add(kPath,
                   absl::StrCat("are ", m.calibrations_size(), ": give at most ", kMaxCalibrations,
                                ". The slowest device decides, so the calibration of the "
                                "slowest of each host, or of all, says as much"));
    return out;
  }
  out.reserve(static_cast<size_t>(m.calibrations_size()));
  for (const v1::Calibration& calibration : m.calibrations()) {
    out.push_back(
        CheckedCalibrationFrom(calibration, absl::StrCat(kPath, "[", out.size(), "]"), violations));
  }
  return out;
}

ClusterSpec ClusterFrom(const v1::ClusterSpec& m, FieldViolations& violations) {
  ClusterSpec out;
  out.accelerator = m.accelerator();
  out.calibrations = CalibrationsFrom(m, violations);
  out.device_count = m.device_count();
  if (m.has_peak_flops_per_second()) out.peak_flops_per_second = m.peak_flops_per_second();
  if (m.has_device_memory_bytes()) out.device_memory_bytes = m.device_memory_bytes();
  if (m.has_reserved_memory_bytes()) out.reserved_memory_bytes = m.reserved_memory_bytes();
  return out;
}

EconomicsSpec EconomicsFrom(const v1::EconomicsSpec& m) {
  EconomicsSpec out;
  if (m.has_device_hour_price_usd()) out.device_hour_price_usd = m.device_hour_price_usd();
  if (m.has_device_power_watts()) out.device_power_watts = m.device_power_watts();
  if (m.has_host_power_watts_per_device()) {
    out.host_power_watts_per_device = m.host_power_watts_per_device();
  }
  if (m.has_power_usage_effectiveness()) {
    out.power_usage_effectiveness = m.power_usage_effectiveness();
  }
  return out;
}

PlanOptions OptionsFrom(const v1::PlanOptions& m, FieldViolations& violations) {
  PlanOptions out;
  if (m.has_assumed_mfu()) out.assumed_mfu = m.assumed_mfu();
  out.flops_convention =
      FlopsConventionFrom(m.flops_convention(), "options.flops_convention", violations);
  out.include_derivation = m.include_derivation();
  out.include_ledger = m.include_ledger();
  return out;
}

}  // namespace

RunSpec RunSpecFrom(const v1::PlanRunRequest& request, FieldViolations& violations) {
  RunSpec out;
  out.model = ModelSpecFrom(request.model(), violations);
  out.training = TrainingFrom(request.training(), violations);
  out.cluster = ClusterFrom(request.cluster(), violations);
  out.economics = EconomicsFrom(request.economics());
  out.options = OptionsFrom(request.options(), violations);
  out.rate_requirement =
      RateRequirementFrom(request.rate_requirement(), "rate_requirement", violations);
  if (request.has_layout()) out.layout = RunLayoutFrom(request.layout(), "layout", violations);
  return out;
}

}  // namespace sextant
