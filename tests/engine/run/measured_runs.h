// Runs on measured devices, for tests.
#ifndef SEXTANT_TESTS_ENGINE_RUN_MEASURED_RUNS_H_
#define SEXTANT_TESTS_ENGINE_RUN_MEASURED_RUNS_H_

#include "engine/hardware/catalogue.h"
#include "engine/run/run_spec.h"
#include "tests/engine/hardware/device_models.h"

namespace sextant {

inline DeviceCalibration Calibration(absl::string_view uuid) {
  DeviceCalibration out;
  out.uuid = std::string(uuid);
  out.measured_unix_seconds = 1'769'860'800;
  out.probe_version = "sextant-probe 0.1.0";
  out.fingerprint = "0123456789abcdef";
  return out;
}

inline MeasuredMatmul MeasuredAt(DataType type, double flops_per_second) {
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

// A processor that the catalogue does not have: 64e9 bytes, 2e12 FLOP/s in bf16 (a stable burst
// of 12 samples, relative spread 0.01) and 1e12 in fp32, measured 2026-01-31T12:00:00Z.
inline DeviceCalibration Processor(absl::string_view uuid) {
  DeviceCalibration out = Calibration(uuid);
  out.product_name = "Some Processor 9000";
  out.processor = true;
  out.memory = Bytes(64'000'000'000);
  out.KeepIfBetter(MeasuredAt(DataType::kBf16, 2e12));
  out.KeepIfBetter(MeasuredAt(DataType::kFp32, 1e12));
  return out;
}

// An H100 SXM: 80e9 bytes, 700e12 FLOP/s in bf16, sustained.
inline DeviceCalibration MeasuredH100(absl::string_view uuid) {
  DeviceCalibration out = Calibration(uuid);
  out.product_name = "NVIDIA H100 80GB HBM3";
  out.accelerator = AcceleratorNamed("h100-sxm");
  out.memory = Bytes(80'000'000'000);
  MeasuredMatmul matmul = MeasuredAt(DataType::kBf16, 700e12);
  matmul.sustained = true;
  out.KeepIfBetter(matmul);
  return out;
}

// 1e9 parameters on 2e10 tokens, 1.2e20 FLOP, on one device that supplies its calibration.
inline RunSpec SuppliedRun(const DeviceCalibration& calibration) {
  RunSpec run;
  run.model.parameter_count = 1'000'000'000;
  run.training.token_count = 20'000'000'000;
  run.cluster.device.calibrations = {ModelOf(calibration)};
  run.cluster.device_count = 1;
  return run;
}

// The device as the host knows it.
inline NamedDevice DeviceOf(const DeviceCalibration& calibration, double age_seconds = 60) {
  NamedDevice out = {.found = {}, .model = ModelOf(calibration), .age_seconds = age_seconds};
  out.uuid = out.model->calibration().uuid;
  out.product_name = out.model->calibration().product_name;
  return out;
}

// The same run on a device of this host, calibrated `age_seconds` ago.
inline RunSpec HostRun(const DeviceCalibration& calibration, double age_seconds = 60) {
  RunSpec run = SuppliedRun(calibration);
  run.cluster.device.calibrations = {};
  run.cluster.device.devices = {DeviceOf(calibration, age_seconds)};
  return run;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_RUN_MEASURED_RUNS_H_
