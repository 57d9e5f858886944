#include "tests/client/sample_calibration.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

constexpr int64_t kMeasuredUnixSeconds = 1'763'726'400;  // 2025-11-21 12:00:00 UTC

template <typename Message>
Message CalibrationFromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

}  // namespace

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
  return CalibrationFromText<v1::RunProbeResponse>(R"pb(
    progress {
      phase: "matmul bf16"
      fraction: 0.5
      elapsed_seconds: 2.5
      figure: "bf16 1024x1024x1024: 429.5 GFLOP/s"
    }
  )pb");
}

v1::ListDevicesResponse SampleDevices() {
  v1::ListDevicesResponse response = CalibrationFromText<v1::ListDevicesResponse>(R"pb(
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

// Time: 1.2e20 / (8 x 5e14) = 30000 s; device-hours 8 x 30000 / 3600 = 66.67; 2e10 / 30000 =
// 666,667 tokens/s; energy 8 x 700 W x 30000 s = 1.68e8 J = 46.67 kWh; MFU 0.5. The others, of
// the measured rate: 1 / 0.5 = 2 and 0.4 / 0.5 = 0.8.
v1::PlanRunResponse SampleMeasuredPlan() {
  v1::PlanRunResponse response = SampleResponse();
  v1::Plan* plan = response.mutable_plan();
  *plan->add_estimates() = CalibrationFromText<v1::TimeEstimate>(R"pb(
    kind: ESTIMATE_KIND_MEASURED_BOUND
    duration_seconds { expected: 30000 low: 30000 high: 30000 }
    elapsed_seconds { expected: 30000 low: 30000 high: 30000 }
    mfu: 0.5
    mfu_basis: MFU_BASIS_MEASURED_RATE
    device_hours: 66.666667
    tokens_per_second: 666666.67
    cost_usd: 133.333333
    energy_joules: 1.68e8
    measured_fraction: 1
  )pb");
  MutableEstimate(*plan, v1::ESTIMATE_KIND_LOWER_BOUND).set_measured_fraction(2);
  MutableEstimate(*plan, v1::ESTIMATE_KIND_TEXTBOOK).set_measured_fraction(0.8);
  plan->add_sources("1024x1024x1024");
  v1::RateUsed* rate = plan->add_rates();
  *rate = CalibrationFromText<v1::RateUsed>(R"pb(
    quantity: "matmul_flops_per_second"
    data_type: DATA_TYPE_BF16
    value: 5e14
    unit: "FLOP/s"
    source: RATE_SOURCE_MEASURED_DEVICE
    source_number: 4
    device: "h100-sxm"
    relative_spread: 0.008
    stable: false
    device_uuid: "GPU-1"
    calibration_fingerprint: "c0ffee"
  )pb");
  rate->mutable_measured_time()->set_seconds(kMeasuredUnixSeconds);
  return response;
}

}  // namespace sextant::client
