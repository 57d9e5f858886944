#include "server/handler/device_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/store/calibration_store.h"
#include "tests/server/fake_probe.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::chrono::system_clock::time_point kNow{std::chrono::seconds(1'700'000'060)};

v1::Device Gpu() {
  v1::Device gpu;
  gpu.set_uuid("GPU-1");
  gpu.set_kind(v1::DEVICE_KIND_GPU);
  gpu.set_product_name("NVIDIA H200");
  return gpu;
}

TEST(AnswerListDevices, SaysWhichWereMeasured) {
  CalibrationStore store("");
  store.SetDevices({Gpu(), FakeDevice()});
  const auto kept = store.Keep(FakeCalibration());
  v1::ListDevicesResponse response;
  AnswerListDevices(*store.snapshot(), kNow, &response);
  ASSERT_EQ(response.devices_size(), 2);
  const auto& gpu = response.devices(0);
  EXPECT_EQ(gpu.device().accelerator(), "h200-sxm");
  EXPECT_FALSE(gpu.has_measured_time());
  EXPECT_FALSE(gpu.has_age_seconds());
  EXPECT_FALSE(gpu.has_fingerprint());
  const auto& cpu = response.devices(1);
  EXPECT_EQ(cpu.device().uuid(), "CPU-0123456789abcdef");
  EXPECT_FALSE(cpu.device().has_accelerator());
  EXPECT_EQ(cpu.measured_time().seconds(), 1'700'000'000);
  EXPECT_EQ(cpu.age_seconds(), 60);
  EXPECT_EQ(cpu.fingerprint(), kept.stored->fingerprint);
}

absl::StatusOr<v1::GetCalibrationResponse> Get(const absl::optional<std::string>& device,
                                               const CalibrationStore& store) {
  v1::GetCalibrationRequest request;
  if (device.has_value()) request.set_device(*device);
  v1::GetCalibrationResponse response;
  const absl::Status status = AnswerGetCalibration(request, *store.snapshot(), kNow, &response);
  if (!status.ok()) return status;
  return response;
}

TEST(AnswerGetCalibration, FindsTheDeviceByUuidByHostOrAlone) {
  CalibrationStore store("");
  store.SetDevices({FakeDevice()});
  const auto kept = store.Keep(FakeCalibration());
  const absl::optional<std::string> names[] = {absl::nullopt, "host", "CPU-0123456789abcdef"};
  for (const absl::optional<std::string>& name : names) {
    const auto response = Get(name, store);
    ASSERT_THAT(response, IsOk()) << name.value_or("none");
    EXPECT_EQ(response->calibration().matmuls_size(), 5);
    EXPECT_EQ(response->age_seconds(), 60);
    EXPECT_EQ(response->fingerprint(), kept.stored->fingerprint);
  }
}

absl::StatusOr<v1::GetCalibrationResponse> GetOfMode(v1::ProbeMode mode,
                                                     const CalibrationStore& store) {
  v1::GetCalibrationRequest request;
  request.set_mode(mode);
  v1::GetCalibrationResponse response;
  const absl::Status status = AnswerGetCalibration(request, *store.snapshot(), kNow, &response);
  if (!status.ok()) return status;
  return response;
}

// The calibration in use where no mode is named; a device's line describes that one, too.
TEST(AnswerGetCalibration, TakesTheModeThatIsNamed) {
  CalibrationStore store("");
  store.SetDevices({FakeDevice()});
  const absl::Time now = absl::FromChrono(kNow);
  v1::Calibration full = FakeCalibration();
  full.set_mode(v1::PROBE_MODE_FULL);
  v1::Calibration quick = FakeCalibration();
  quick.set_mode(v1::PROBE_MODE_QUICK);
  quick.mutable_measured_time()->set_seconds(1'700'000'050);
  store.Keep(full, now);
  store.Keep(quick, now);
  const struct {
    v1::ProbeMode asked;
    v1::ProbeMode answered;
    bool in_use;
  } cases[] = {{v1::PROBE_MODE_UNSPECIFIED, v1::PROBE_MODE_FULL, true},
               {v1::PROBE_MODE_FULL, v1::PROBE_MODE_FULL, true},
               {v1::PROBE_MODE_QUICK, v1::PROBE_MODE_QUICK, false}};
  for (const auto& c : cases) {
    const auto response = GetOfMode(c.asked, store);
    ASSERT_THAT(response, IsOk()) << c.asked;
    EXPECT_EQ(response->calibration().mode(), c.answered) << c.asked;
    EXPECT_EQ(response->in_use(), c.in_use) << c.asked;
  }
  EXPECT_EQ(GetOfMode(v1::PROBE_MODE_QUICK, store)->age_seconds(), 10);
  const auto standard = GetOfMode(v1::PROBE_MODE_STANDARD, store);
  EXPECT_THAT(standard, Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
  EXPECT_THAT(std::string(standard.status().message()),
              HasSubstr("has no standard calibration, only: full, quick; run sextant probe "
                        "--mode=standard"));
  EXPECT_THAT(GetOfMode(static_cast<v1::ProbeMode>(99), store), NamesFields(ElementsAre("mode")));

  v1::ListDevicesResponse listed;
  AnswerListDevices(*store.snapshot(), kNow, &listed);
  EXPECT_EQ(listed.devices(0).measured_time().seconds(), 1'700'000'000);
  EXPECT_EQ(listed.devices(0).age_seconds(), 60);
}

TEST(AnswerListDevices, SaysWhichHadAWrongResult) {
  CalibrationStore store("");
  store.SetDevices({Gpu(), FakeDevice()});
  store.Keep(FakeCalibration());
  store.Distrust("CPU-0123456789abcdef");
  v1::ListDevicesResponse response;
  AnswerListDevices(*store.snapshot(), kNow, &response);
  ASSERT_EQ(response.devices_size(), 2);
  EXPECT_FALSE(response.devices(0).distrusted());
  EXPECT_TRUE(response.devices(1).distrusted());
  EXPECT_FALSE(response.devices(1).has_measured_time());
  const auto withdrawn = Get("host", store);
  EXPECT_THAT(withdrawn, Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
  EXPECT_THAT(std::string(withdrawn.status().message()), HasSubstr("wrong result"));
}

TEST(AnswerGetCalibration, SaysWhatIsMissing) {
  CalibrationStore store("");
  EXPECT_THAT(Get(absl::nullopt, store), Fails(absl::StatusCode::kNotFound, "DEVICE_UNKNOWN"));
  store.SetDevices({FakeDevice()});
  const auto unmeasured = Get("host", store);
  EXPECT_THAT(unmeasured, Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
  EXPECT_THAT(std::string(unmeasured.status().message()), HasSubstr("sextant probe"));
  const auto unknown = Get("CPU-0123456789abcde", store);
  EXPECT_THAT(unknown, Fails(absl::StatusCode::kNotFound, "DEVICE_UNKNOWN"));
  EXPECT_THAT(Get("", store), NamesFields(ElementsAre("device")));
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("CPU-0123456789abcdef"));
  // A missing UUID means the only GPU; it is ambiguous with two.
  store.SetDevices({Gpu(), FakeDevice()});
  const auto the_gpu = Get(absl::nullopt, store);
  EXPECT_THAT(the_gpu, Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
  EXPECT_THAT(std::string(the_gpu.status().message()), HasSubstr("GPU-1"));
  v1::Device second = Gpu();
  second.set_uuid("GPU-2");
  store.SetDevices({Gpu(), second, FakeDevice()});
  const auto several = Get(absl::nullopt, store);
  EXPECT_THAT(several, NamesFields(ElementsAre("device")));
  EXPECT_THAT(std::string(several.status().message()),
              HasSubstr("GPU-1, GPU-2, CPU-0123456789abcdef"));
}

}  // namespace
}  // namespace sextant::server
