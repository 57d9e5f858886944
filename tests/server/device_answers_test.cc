// Answers about devices: lists, calibrations, and the rates of their kernels.
#include "server/handler/device_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "server/store/calibration_store.h"
#include "tests/server/fake_probe.h"
#include "tests/server/message_matchers.h"
#include "tests/server/sample_calibration.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

absl::StatusOr<v1::GetKernelRatesResponse> RatesOf(const v1::GetKernelRatesRequest& request,
                                                   const CalibrationStore& store) {
  SuppliedCalibrations supplied;
  const auto host = store.snapshot();
  v1::GetKernelRatesResponse response;
  CallWork work;
  const absl::Status status =
      AnswerKernelRates(request, FinderOf(supplied, *host), work, &response);
  if (!status.ok()) return status;
  return response;
}

v1::GetKernelRatesRequest OfProduct(const std::string& name) {
  v1::GetKernelRatesRequest request;
  request.mutable_device()->set_accelerator(name);
  return request;
}

// Models are fitted for milliseconds each.
TEST(KernelRates, OfACallAreOfSixteenFittedModelsAtMost) {
  const CalibrationStore store("");
  v1::GetKernelRatesRequest request;
  for (int i = 0; i < 9; ++i) {
    *request.mutable_device()->mutable_calibrations()->add_calibrations() =
        CalibrationOfH200(absl::StrCat("GPU-", i), 0.001);
  }
  request.add_data_types(v1::DATA_TYPE_BF16);
  EXPECT_THAT(RatesOf(request, store), IsOk());
  request.add_data_types(v1::DATA_TYPE_FP32);
  EXPECT_THAT(FieldViolationsOf(RatesOf(request, store).status()),
              ElementsAre(::testing::Field(&FieldViolation::field, "data_types")));
}

// `calibration` with `count` attentions: the first one in batches that grow.
v1::Calibration WithAttentions(v1::Calibration calibration, int count) {
  const v1::AttentionMeasurement first = calibration.attentions(0);
  for (int i = calibration.attentions_size(); i < count; ++i) {
    v1::AttentionMeasurement& more = *calibration.add_attentions();
    more = first;
    more.set_batch(first.batch() * (i + 1));
    v1::TimeStatistics& time = *more.mutable_time();
    time.set_median_seconds(time.median_seconds() * (i + 1));
    time.set_p10_seconds(time.p10_seconds() * (i + 1));
    time.set_p90_seconds(time.p90_seconds() * (i + 1));
  }
  return calibration;
}

TEST(KernelRates, OfACallAreOfAThousandAttentionsAtMost) {
  const CalibrationStore store("");
  v1::GetKernelRatesRequest request;
  auto& calibrations = *request.mutable_device()->mutable_calibrations();
  for (int i = 0; i < 2; ++i) {
    *calibrations.add_calibrations() =
        WithAttentions(CalibrationOfH200(absl::StrCat("GPU-", i), 0.001), 512);
  }
  request.add_data_types(v1::DATA_TYPE_BF16);
  EXPECT_THAT(RatesOf(request, store), IsOk());
  *calibrations.add_calibrations() = CalibrationOfH200("GPU-2", 0.001);
  EXPECT_THAT(FieldViolationsOf(RatesOf(request, store).status()),
              ElementsAre(::testing::Field(&FieldViolation::field, "device.calibrations")));
}

TEST(KernelRates, OfAPublishedProductHaveASourceAnErrorAndAnInterval) {
  const CalibrationStore store("");
  const auto response = RatesOf(OfProduct("H200 SXM"), store);
  ASSERT_THAT(response.status(), IsOk()) << response.status();
  EXPECT_EQ(response->device(), "h200-sxm");
  ASSERT_EQ(response->curves_size(), 6);  // three kinds in bf16 and fp8
  for (const v1::KernelCurve& curve : response->curves()) {
    EXPECT_EQ(curve.source(), v1::RATE_SOURCE_REFERENCE);
    EXPECT_THAT(SourceAt(response->sources(), curve.source_number()), HasSubstr("aiconfigurator"));
    EXPECT_NE(curve.form(), v1::PREDICTION_FORM_UNSPECIFIED);
    EXPECT_GT(curve.error().shape_count(), 0);
    EXPECT_GT(curve.peak_flops_per_second(), 9e14);
    for (const v1::KernelCurvePoint& point : curve.points()) {
      EXPECT_GT(point.duration_seconds().low(), 0);
      EXPECT_LT(point.duration_seconds().low(), point.duration_seconds().expected());
      EXPECT_LT(point.duration_seconds().expected(), point.duration_seconds().high());
      EXPECT_LT(point.datasheet_mfu(), 1);
      EXPECT_NEAR(point.datasheet_mfu(), point.flops_per_second() / curve.peak_flops_per_second(),
                  1e-12);
      EXPECT_NE(point.basis(), v1::KERNEL_BASIS_UNSPECIFIED);
    }
  }
}

// The server's own devices of a product take precedence over published figures: the lower middle.
TEST(KernelRates, OfAProductThatWasMeasuredHereAreItsMedian) {
  CalibrationStore store("");
  const double seconds[] = {0.004, 0.001, 0.002};
  for (int i = 0; i < 3; ++i) store.Keep(CalibrationOfH200(absl::StrCat("GPU-", i), seconds[i]));
  v1::GetKernelRatesRequest request = OfProduct("h200-sxm");
  request.add_data_types(v1::DATA_TYPE_BF16);
  const auto response = RatesOf(request, store);
  ASSERT_THAT(response.status(), IsOk()) << response.status();
  const v1::KernelCurve& curve = response->curves(0);
  EXPECT_EQ(curve.source(), v1::RATE_SOURCE_MEASURED_MODEL);
  // 2 x 1000^3 FLOPs in 2 ms are 1e12 FLOP/s, of which the largest square product takes 10 % less.
  EXPECT_NEAR(curve.points().rbegin()->flops_per_second(), 1e12 / 1.1, 1e10);
}

TEST(KernelRates, OfAHostAreOfItsOwnMeasurement) {
  CalibrationStore store("");
  store.SetDevices({SampleCalibration().device()});
  v1::Calibration calibration = SampleCalibration();
  AddMainMemoryCopy(1'000'000'000, &calibration);
  store.Keep(calibration);
  v1::GetKernelRatesRequest request;
  request.mutable_device()->mutable_host_devices()->add_devices("host");
  const auto response = RatesOf(request, store);
  ASSERT_THAT(response.status(), IsOk()) << response.status();
  EXPECT_EQ(response->curves(0).source(), v1::RATE_SOURCE_MEASURED_DEVICE);
  EXPECT_FALSE(response->curves(0).has_peak_flops_per_second());
}

TEST(KernelRates, RefuseByField) {
  const CalibrationStore store("");
  EXPECT_THAT(RatesOf({}, store), NamesFields(ElementsAre("device")));
  EXPECT_THAT(RatesOf(OfProduct("h2000"), store),
              Fails(absl::StatusCode::kNotFound, "GPU_UNKNOWN"));
  const auto of_types = [](const char* product, const std::vector<int>& types) {
    v1::GetKernelRatesRequest out = OfProduct(product);
    for (const int type : types) out.add_data_types(static_cast<v1::DataType>(type));
    return out;
  };
  for (const auto& request :
       {of_types("h200-sxm", {v1::DATA_TYPE_UNSPECIFIED}), of_types("h200-sxm", {999}),
        of_types("h200-sxm", std::vector<int>(17, v1::DATA_TYPE_BF16)),
        of_types("v100-sxm-16", {v1::DATA_TYPE_NVFP4})}) {
    EXPECT_THAT(RatesOf(request, store), NamesFields(ElementsAre(StartsWith("data_types"))));
  }
  v1::GetKernelRatesRequest many;
  for (int i = 0; i < 65; ++i) many.mutable_device()->mutable_host_devices()->add_devices("host");
  EXPECT_THAT(RatesOf(many, store),
              NamesFields(std::vector<std::string>{"device.host_devices.devices"}));
}

TEST(KernelRates, OfDevicesThatWereNeverMeasuredAreMissing) {
  CalibrationStore store("");
  store.SetDevices({FakeDevice()});
  v1::GetKernelRatesRequest request;
  request.mutable_device()->mutable_host_devices()->add_devices("host");
  EXPECT_THAT(RatesOf(request, store),
              Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
  request.mutable_device()->mutable_host_devices()->add_devices("GPU-nobody");
  EXPECT_THAT(RatesOf(request, store), Fails(absl::StatusCode::kNotFound, "DEVICE_UNKNOWN"));
}

}  // namespace
}  // namespace sextant::server
