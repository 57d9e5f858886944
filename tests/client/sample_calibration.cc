#include "tests/client/sample_calibration.h"

#include "tests/client/fixture.h"

namespace sextant::client {
v1::GetCalibrationResponse SampleHeldCalibration() {
  v1::GetCalibrationResponse response;
  *response.mutable_calibration() = SampleCalibration();
  response.set_age_seconds(3 * 3600);
  response.set_fingerprint("c0ffee");
  response.set_engine_version("0.1.0");
  return response;
}

v1::RunProbeResponse SampleProbeResult() {
  v1::RunProbeResponse response;
  *response.mutable_result()->mutable_calibration() = SampleCalibration();
  response.mutable_result()->set_fingerprint("c0ffee");
  response.mutable_result()->set_in_use(true);
  response.mutable_result()->set_engine_version("0.1.0");
  return response;
}

v1::RunProbeResponse SampleProgress() {
  return FromText<v1::RunProbeResponse>(R"pb(
    progress {
      phase: "matmul bf16"
      fraction: 0.5
      elapsed_seconds: 2.5
      figure: "bf16 1024x1024x1024: 429.5 GFLOP/s"
    }
  )pb");
}

v1::ListDevicesResponse SampleDevices() {
  v1::ListDevicesResponse response = FromText<v1::ListDevicesResponse>(R"pb(
    devices { age_seconds: 10800 fingerprint: "c0ffee" }
    devices {
      device {
        uuid: "GPU-00000000-0000-0000-0000-000000000001"
        kind: DEVICE_KIND_GPU
        product_name: "NVIDIA H100 80GB HBM3"
        hostname: "node7"
        memory_bytes: 85899345920
        compute_unit_count: 132
        power_limit_watts: 700
        pci_bus_id: "0000:1a:00.0"
        accelerator: "h100-sxm"
      }
    }
    engine_version: "0.1.0"
  )pb");
  v1::ListDevicesResponse::Entry* processor = response.mutable_devices(0);
  *processor->mutable_device() = SampleCalibration().device();
  *processor->mutable_measured_time() = SampleCalibration().measured_time();
  return response;
}

}  // namespace sextant::client
