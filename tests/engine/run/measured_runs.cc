#include "tests/engine/run/measured_runs.h"

#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

DeviceCalibration Calibration(absl::string_view uuid) {
  DeviceCalibration out;
  out.uuid = std::string(uuid);
  out.measured_unix_seconds = 1'769'860'800;
  out.probe_version = "sextant-probe 0.1.0";
  out.fingerprint = "0123456789abcdef";
  return out;
}

MeasuredMatmul MeasuredAt(DataType type, double flops_per_second) {
  return {.data_type = type,
          .m = 4096,
          .n = 4096,
          .k = 4096,
          .rate = FlopsPerSecond(flops_per_second),
          .relative_spread = 0.01,
          .sample_count = 12,
          .stable = true,
          .engine = "onednn 2.6.3"};
}

}  // namespace

DeviceCalibration Processor(absl::string_view uuid) {
  DeviceCalibration out = Calibration(uuid);
  out.product_name = "Some Processor 9000";
  out.processor = true;
  out.memory = Bytes(64'000'000'000);
  out.KeepIfBetter(MeasuredAt(DataType::kBf16, 2e12));
  out.KeepIfBetter(MeasuredAt(DataType::kFp32, 1e12));
  return out;
}

DeviceCalibration MeasuredH100(absl::string_view uuid) {
  DeviceCalibration out = Calibration(uuid);
  out.product_name = "NVIDIA H100 80GB HBM3";
  out.accelerator = AcceleratorNamed("h100-sxm");
  out.memory = Bytes(80'000'000'000);
  MeasuredMatmul matmul = MeasuredAt(DataType::kBf16, 700e12);
  matmul.sustained = true;
  out.KeepIfBetter(matmul);
  return out;
}

RunSpec SuppliedRun(const DeviceCalibration& calibration) {
  RunSpec run;
  run.model.parameter_count = 1'000'000'000;
  run.training.token_count = 20'000'000'000;
  run.cluster.device.calibrations = {ModelOf(calibration)};
  run.cluster.device_count = 1;
  return run;
}

NamedDevice DeviceOf(const DeviceCalibration& calibration, double age_seconds) {
  NamedDevice out = {.found = {}, .model = ModelOf(calibration), .age_seconds = age_seconds};
  out.uuid = out.model->calibration().uuid;
  out.product_name = out.model->calibration().product_name;
  return out;
}

RunSpec HostRun(const DeviceCalibration& calibration, double age_seconds) {
  RunSpec run = SuppliedRun(calibration);
  run.cluster.device.calibrations = {};
  run.cluster.device.devices = {DeviceOf(calibration, age_seconds)};
  return run;
}

}  // namespace sextant
