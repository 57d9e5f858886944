#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "proto/matmul_kind.h"
#include "server/handler/device_answers.h"
#include "server/store/calibration_store.h"
#include "tests/server/device_finder.h"
#include "tests/server/fake_probe.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/wire_notes.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

// With a copy in main memory at 2e12 bytes a second.
v1::Calibration WithCopy(v1::Calibration out) {
  v1::StreamMeasurement* copy = out.add_streams();
  copy->set_operation(v1::StreamMeasurement::OPERATION_COPY);
  copy->set_array_bytes(1'000'000'000);
  copy->set_main_memory(true);
  *copy->mutable_time() = out.matmuls(0).time();  // a millisecond
  copy->set_bytes_per_second(2e12);
  return out;
}

// A calibration whose multiplications all take `seconds`.
v1::Calibration CalibrationOfH200(const std::string& uuid, double seconds) {
  v1::Calibration out = WithCopy(SampleCalibration(uuid));
  out.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
  out.mutable_device()->set_product_name("NVIDIA H200");
  for (v1::MatmulMeasurement& m : *out.mutable_matmuls()) {
    if (IsOther(m)) continue;
    const double flops =
        2.0 * static_cast<double>(m.m()) * static_cast<double>(m.n()) * static_cast<double>(m.k());
    m.mutable_time()->set_median_seconds(seconds);
    m.mutable_time()->set_p10_seconds(seconds);
    m.mutable_time()->set_p90_seconds(seconds);
    m.set_flops_per_second(flops / seconds);
    m.clear_register_ratio();
  }
  return out;
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
  store.Keep(WithCopy(SampleCalibration()));
  v1::GetKernelRatesRequest request;
  request.mutable_device()->mutable_host_devices()->add_devices("host");
  const auto response = RatesOf(request, store);
  ASSERT_THAT(response.status(), IsOk()) << response.status();
  EXPECT_EQ(response->curves(0).source(), v1::RATE_SOURCE_MEASURED_DEVICE);
  EXPECT_FALSE(response->curves(0).has_peak_flops_per_second());
}

TEST(KernelRates, RefuseWhatNamesNoDevice) {
  const CalibrationStore store("");
  EXPECT_THAT(RatesOf({}, store), NamesFields(std::vector<std::string>{"device"}));
  EXPECT_THAT(RatesOf(OfProduct("h2000"), store),
              Fails(absl::StatusCode::kNotFound, "GPU_UNKNOWN"));
}

TEST(KernelRates, RefuseListsAndTypesThatMakeNoSense) {
  const CalibrationStore store("");
  const std::function<void(v1::GetKernelRatesRequest&)> changes[] = {
      [](auto& r) { r.add_data_types(v1::DATA_TYPE_UNSPECIFIED); },
      [](auto& r) { r.add_data_types(static_cast<v1::DataType>(999)); },
      [](auto& r) {
        for (int i = 0; i < 17; ++i) r.add_data_types(v1::DATA_TYPE_BF16);
      },
  };
  for (const auto& change : changes) {
    v1::GetKernelRatesRequest request = OfProduct("h200-sxm");
    change(request);
    EXPECT_EQ(RatesOf(request, store).status().code(), absl::StatusCode::kInvalidArgument);
  }
  v1::GetKernelRatesRequest unknown = OfProduct("v100-sxm-16");
  unknown.add_data_types(v1::DATA_TYPE_NVFP4);
  EXPECT_THAT(RatesOf(unknown, store), NamesFields(std::vector<std::string>{"data_types"}));
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

TEST(KernelRates, OfADamagedCalibrationNameItsFields) {
  const CalibrationStore store("");
  v1::GetKernelRatesRequest request;
  *request.mutable_device()->mutable_calibrations()->add_calibrations() = SampleCalibration();
  request.mutable_device()
      ->mutable_calibrations()
      ->mutable_calibrations(0)
      ->mutable_matmuls(0)
      ->mutable_time()
      ->set_median_seconds(-1);
  EXPECT_THAT(std::string(RatesOf(request, store).status().message()),
              HasSubstr("device.calibrations.calibrations[0].matmuls[0].time.median_seconds"));
}

}  // namespace
}  // namespace sextant::server
