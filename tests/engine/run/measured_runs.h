// Runs on measured devices, for tests.
#ifndef SEXTANT_TESTS_ENGINE_RUN_MEASURED_RUNS_H_
#define SEXTANT_TESTS_ENGINE_RUN_MEASURED_RUNS_H_

#include "engine/run/run_spec.h"
#include "tests/engine/hardware/device_models.h"

namespace sextant {

// A processor that the catalogue does not have: 64e9 bytes, 2e12 FLOP/s in bf16 (a stable burst
// of 12 samples, relative spread 0.01) and 1e12 in fp32, measured 2026-01-31T12:00:00Z.
DeviceCalibration Processor(absl::string_view uuid);

// An H100 SXM: 80e9 bytes, 700e12 FLOP/s in bf16, sustained.
DeviceCalibration MeasuredH100(absl::string_view uuid);

// 1e9 parameters on 2e10 tokens, 1.2e20 FLOP, on one device that supplies its calibration.
RunSpec SuppliedRun(const DeviceCalibration& calibration);

// The same run on a device of this host, calibrated `age_seconds` ago.
RunSpec HostRun(const DeviceCalibration& calibration, double age_seconds = 60);

// The device as the host knows it.
NamedDevice DeviceOf(const DeviceCalibration& calibration, double age_seconds = 60);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_RUN_MEASURED_RUNS_H_
