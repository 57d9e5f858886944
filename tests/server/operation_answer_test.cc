// Operations on devices that a server knows, at a given time.
#include "server/handler/operation_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "tests/server/planning_server.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/wire_notes.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kMeasuredGpu[] = "GPU-1";

// An H200 with a copy in main memory, measured at `unix_seconds`.
v1::Calibration CalibrationOfGpu(int64_t unix_seconds = kMeasured) {
  v1::Calibration out = SampleCalibration(kMeasuredGpu);
  out.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
  out.mutable_device()->set_product_name("NVIDIA H200");
  out.mutable_device()->set_power_limit_watts(700);
  out.mutable_measured_time()->set_seconds(unix_seconds);
  v1::StreamMeasurement* copy = out.add_streams();
  *copy = out.streams(0);
  copy->set_operation(v1::StreamMeasurement::OPERATION_COPY);
  copy->set_bytes_per_second(2e10);
  return out;
}

// The answer of a server that has kept the calibrations `kept`, an hour after the sample's time.
absl::StatusOr<v1::OperationTime> TimeAnswered(const v1::AnalyzeOperationRequest& request,
                                               std::vector<v1::Calibration> kept) {
  const auto snapshot = std::make_shared<const CalibrationSnapshot>(SnapshotOf(kept));
  SuppliedCalibrations supplied;
  AccountingOptions options;
  options.supplied = &supplied;
  options.calibrations = [snapshot] { return snapshot; };
  options.now = [] { return absl::FromUnixSeconds(kMeasured + 3600); };
  v1::AnalyzeOperationResponse response;
  const absl::Status status = AnswerOperation(request, options, &response);
  if (!status.ok()) return status;
  return response.time();
}

v1::AnalyzeOperationRequest ProductRequest() {
  v1::AnalyzeOperationRequest request;
  request.mutable_data_types()->set_input(v1::DATA_TYPE_BF16);
  v1::Operation::Matmul* matmul = request.mutable_operation()->mutable_matmul();
  matmul->set_m(1024);
  matmul->set_n(1024);
  matmul->set_k(1024);
  return request;
}

v1::RateRequirement& RequirementOf(v1::AnalyzeOperationRequest& request) {
  return *request.mutable_device()->mutable_rate_requirement();
}

TEST(OperationAnswer, StandsOnTheCalibrationInUse) {
  v1::Calibration full = CalibrationOfGpu();
  full.set_mode(v1::PROBE_MODE_FULL);
  v1::Calibration quick = CalibrationOfGpu(kMeasured + 1800);
  quick.set_mode(v1::PROBE_MODE_QUICK);
  v1::AnalyzeOperationRequest request = ProductRequest();
  request.mutable_device()->mutable_device()->mutable_host_devices()->add_devices(kMeasuredGpu);
  const auto fingerprint = [&] {
    const auto time = TimeAnswered(request, {quick, full});
    EXPECT_THAT(time, IsOk());
    return time.ok() ? time->rates(0).calibration_fingerprint() : "";
  };
  EXPECT_EQ(fingerprint(), CalibrationFingerprint(full));
  RequirementOf(request).mutable_maximum_age()->set_seconds(3599);
  EXPECT_EQ(fingerprint(), CalibrationFingerprint(quick));
}

TEST(OperationAnswer, MeetsWhatItsRatesHaveToBe) {
  v1::AnalyzeOperationRequest request = ProductRequest();
  request.mutable_device()->mutable_device()->mutable_host_devices()->add_devices(kMeasuredGpu);
  RequirementOf(request).set_minimum_source(v1::RATE_SOURCE_MEASURED_DEVICE);
  RequirementOf(request).mutable_maximum_age()->set_seconds(3600);
  EXPECT_THAT(TimeAnswered(request, {CalibrationOfGpu()}), IsOk());
  RequirementOf(request).mutable_maximum_age()->set_seconds(3599);
  const auto old = TimeAnswered(request, {CalibrationOfGpu()});
  EXPECT_THAT(old, Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
  EXPECT_THAT(std::string(old.status().message()),
              AllOf(HasSubstr("3600 seconds ago"),
                    HasSubstr("device.rate_requirement.maximum_age is 3599 seconds")));
  RequirementOf(request).clear_maximum_age();
  RequirementOf(request).set_minimum_source(v1::RATE_SOURCE_MEASURED_SUPPLIED);
  const auto own = TimeAnswered(request, {CalibrationOfGpu()});
  EXPECT_THAT(own, Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
  EXPECT_EQ(PreconditionsOf(own.status())[0].subject, kMeasuredGpu);
}

TEST(OperationAnswer, TellsFaultsOfTheRequirementByField) {
  v1::AnalyzeOperationRequest request = ProductRequest();
  request.mutable_device()->mutable_device()->set_accelerator("h200-sxm");
  RequirementOf(request).set_minimum_source(v1::RATE_SOURCE_REQUEST);
  EXPECT_THAT(TimeAnswered(request, {}),
              NamesFields(std::vector<std::string>{"device.rate_requirement.minimum_source"}));
  RequirementOf(request).set_minimum_source(static_cast<v1::RateSource>(99));
  RequirementOf(request).mutable_maximum_age()->set_nanos(-1);
  EXPECT_THAT(TimeAnswered(request, {}),
              NamesFields(ElementsAre("device.rate_requirement.minimum_source",
                                      "device.rate_requirement.maximum_age")));
}

// The probe does not time attention: its prediction is from another party's measurements.
TEST(OperationAnswer, HoldsPredictedTimesToTheRequirementToo) {
  v1::AnalyzeOperationRequest request = ProductRequest();
  request.mutable_operation()->clear_matmul();
  v1::Operation::Attention* attention = request.mutable_operation()->mutable_attention();
  attention->set_batch(1);
  attention->set_heads(32);
  attention->set_query_length(4096);
  attention->set_head_size(128);
  request.mutable_device()->mutable_device()->mutable_host_devices()->add_devices(kMeasuredGpu);
  RequirementOf(request).set_minimum_source(v1::RATE_SOURCE_REFERENCE);
  const auto published = TimeAnswered(request, {CalibrationOfGpu()});
  ASSERT_THAT(published, IsOk());
  EXPECT_EQ(published->predicted_forward().source(), v1::RATE_SOURCE_REFERENCE);
  RequirementOf(request).set_minimum_source(v1::RATE_SOURCE_MEASURED_DEVICE);
  const auto refused = TimeAnswered(request, {CalibrationOfGpu()});
  EXPECT_THAT(refused, Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("predicted from REFERENCE figures"));
}

TEST(OperationAnswer, OfAProductIsPredictedFromWhatIsYoungEnough) {
  v1::AnalyzeOperationRequest request = ProductRequest();
  request.mutable_device()->mutable_device()->set_accelerator("h200-sxm");
  const auto source = [&request] {
    const auto time = TimeAnswered(request, {CalibrationOfGpu()});
    EXPECT_THAT(time, IsOk());
    return time.ok() ? time->predicted_forward().source() : v1::RATE_SOURCE_UNSPECIFIED;
  };
  EXPECT_EQ(source(), v1::RATE_SOURCE_MEASURED_MODEL);
  RequirementOf(request).mutable_maximum_age()->set_seconds(3600);
  EXPECT_EQ(source(), v1::RATE_SOURCE_MEASURED_MODEL);
  RequirementOf(request).mutable_maximum_age()->set_seconds(3599);
  EXPECT_EQ(source(), v1::RATE_SOURCE_REFERENCE);
  EXPECT_THAT(TimeAnswered(request, {CalibrationOfGpu()})->assumptions(),
              Contains(IsWireNote(v1::NOTE_KIND_MEASUREMENTS_TOO_OLD,
                                  HasSubstr("Older than the request allows"))));
  EXPECT_THAT(TimeAnswered(request, {CalibrationOfGpu()})->warnings(),
              ElementsAre(IsWireNote(v1::NOTE_KIND_NO_MEASUREMENT_LEFT, HasSubstr("is left"))));
}

TEST(OperationAnswer, RefusesACalibrationFromTheFuture) {
  v1::AnalyzeOperationRequest request = ProductRequest();
  v1::Calibration* calibration =
      request.mutable_device()->mutable_device()->mutable_calibrations()->add_calibrations();
  *calibration = CalibrationOfGpu(kMeasured + 3600 + 299);
  EXPECT_THAT(TimeAnswered(request, {}), IsOk());
  *calibration = CalibrationOfGpu(kMeasured + 3600 + 301);
  EXPECT_THAT(TimeAnswered(request, {}),
              NamesFields(ElementsAre("device.device.calibrations.calibrations[0].measured_time")));
}

}  // namespace
}  // namespace sextant::server
