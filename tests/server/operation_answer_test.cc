// Operations on devices that a server knows, at a given time.
#include "server/handler/operation_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/base/reason.h"
#include "engine/hardware/catalogue.h"
#include "tests/server/planning_server.h"
#include "tests/server/sample_calibration.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
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
  AddMainMemoryCopy(10'000'000, &out);
  return out;
}

// The answer of a server that has kept the calibrations `kept`, an hour after the sample's time.
absl::StatusOr<v1::AnalyzeOperationResponse> Answered(const v1::AnalyzeOperationRequest& request,
                                                      std::vector<v1::Calibration> kept) {
  const auto snapshot = std::make_shared<const CalibrationSnapshot>(SnapshotOf(kept));
  SuppliedCalibrations supplied;
  AccountingOptions options;
  options.supplied = &supplied;
  options.calibrations = [snapshot] { return snapshot; };
  options.now = [] { return absl::FromUnixSeconds(kMeasured + 3600); };
  v1::AnalyzeOperationResponse response;
  CallWork work;
  const absl::Status status = AnswerOperation(request, options, work, &response);
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::OperationTime> TimeAnswered(const v1::AnalyzeOperationRequest& request,
                                               std::vector<v1::Calibration> kept) {
  const auto response = Answered(request, std::move(kept));
  if (!response.ok()) return response.status();
  return response->time();
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

TEST(OperationAnswer, PredictsAnAliasAsItsProduct) {
  v1::AnalyzeOperationRequest request = ProductRequest();
  request.mutable_device()->mutable_device()->set_accelerator("h100-sxm");
  const auto by_name = TimeAnswered(request, {});
  request.mutable_device()->mutable_device()->set_accelerator("h100");
  const auto by_alias = TimeAnswered(request, {});
  ASSERT_THAT(by_name, IsOk());
  ASSERT_THAT(by_alias, IsOk());
  ASSERT_TRUE(by_name->has_predicted_forward());
  EXPECT_EQ(by_alias->SerializeAsString(), by_name->SerializeAsString());
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

v1::HostCopyMeasurement CopyOf(v1::HostCopyMeasurement::Direction direction, bool pageable,
                               double bytes_per_second) {
  v1::HostCopyMeasurement out;
  out.set_direction(direction);
  out.set_pageable(pageable);
  out.set_size_bytes(256'000'000);
  out.mutable_time()->set_median_seconds(256e6 / bytes_per_second + 5e-6);
  out.set_bytes_per_second(bytes_per_second);
  return out;
}

v1::AnalyzeOperationRequest CopyRequest() {
  v1::AnalyzeOperationRequest out;
  out.mutable_operation()->mutable_host_copy()->set_bytes(1'000'000'000);
  return out;
}

absl::StatusOr<v1::HostCopyTime> CopyAnswered(const v1::AnalyzeOperationRequest& request,
                                              std::vector<v1::Calibration> kept = {}) {
  const auto response = Answered(request, std::move(kept));
  if (!response.ok()) return response.status();
  return response->host_copy();
}

// PCIe 5 x16 carries 63 GB/s, of which copies reach 0.82; PCIe 4 half of that, PCIe 3 a quarter.
TEST(OperationAnswer, OfAHostCopyStandsOnWhatIsKnownOfTheLink) {
  v1::AnalyzeOperationRequest request = CopyRequest();
  v1::DeviceSelector& device = *request.mutable_device()->mutable_device();
  for (const auto& [name, line_rate] : {std::pair<const char*, double>("h100-sxm", 63e9),
                                        {"a100-sxm-80", 31.5e9},
                                        {"v100-sxm-16", 15.75e9}}) {
    device.set_accelerator(name);
    const auto copy = CopyAnswered(request);
    ASSERT_THAT(copy, IsOk());
    EXPECT_NEAR(copy->no_overlap_seconds() / (1e9 / (0.82 * line_rate)), 1, 1e-9) << name;
    ASSERT_EQ(copy->rates_size(), 1);
    EXPECT_EQ(copy->rates(0).source(), v1::RATE_SOURCE_DATASHEET);
    EXPECT_EQ(copy->rates(0).quantity(), "host_copy_bytes_per_second");
    EXPECT_EQ(copy->rates(0).source_number(), 1);
    EXPECT_THAT(copy->sources(0), HasSubstr("published share"));
  }
  request.clear_device();
  request.mutable_operation()->mutable_host_copy()->set_node_type("dgx-h100");
  EXPECT_NEAR(CopyAnswered(request)->no_overlap_seconds(), 1e9 / (0.82 * 63e9), 1e-9);
  // A rate of the request's own is not a rate of the server's.
  request.mutable_operation()->mutable_host_copy()->set_link_bytes_per_second(1e9);
  EXPECT_EQ(CopyAnswered(request)->no_overlap_seconds(), 1);
  EXPECT_TRUE(CopyAnswered(request)->rates().empty());
}

TEST(OperationAnswer, OfAHostCopyStandsOnMeasuredCopiesFirst) {
  v1::Calibration measured = CalibrationOfGpu();
  for (const auto way : {v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE,
                         v1::HostCopyMeasurement::DIRECTION_DEVICE_TO_HOST}) {
    const double share = way == v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE ? 1 : 0.8;
    *measured.add_host_copies() = CopyOf(way, false, share * 50e9);
    *measured.add_host_copies() = CopyOf(way, true, share * 10e9);
  }
  v1::AnalyzeOperationRequest request = CopyRequest();
  request.mutable_device()->mutable_device()->mutable_host_devices()->add_devices(kMeasuredGpu);
  const auto pinned = CopyAnswered(request, {measured});
  ASSERT_THAT(pinned, IsOk());
  EXPECT_NEAR(pinned->no_overlap_seconds(), 1e9 / 40e9, 1e-6);
  EXPECT_EQ(pinned->rates(0).source(), v1::RATE_SOURCE_MEASURED_DEVICE);
  EXPECT_EQ(pinned->rates(0).device_uuid(), kMeasuredGpu);
  request.mutable_operation()->mutable_host_copy()->set_pageable(true);
  const auto pageable = CopyAnswered(request, {measured});
  ASSERT_THAT(pageable, IsOk());
  EXPECT_NEAR(pageable->no_overlap_seconds(), 1e9 / 8e9, 1e-4);
  EXPECT_EQ(pageable->full_overlap_seconds(), pageable->no_overlap_seconds());
  EXPECT_EQ(pageable->rates(0).quantity(), "pageable_host_copy_bytes_per_second");
  // With a staging rate of its own, the link is that of pinned copies.
  request.mutable_operation()->mutable_host_copy()->set_staging_bytes_per_second(20e9);
  EXPECT_NEAR(CopyAnswered(request, {measured})->no_overlap_seconds(), 1e9 / 40e9 + 1e9 / 20e9,
              1e-6);
  // Not measured: the product's node. An H200 is joined by PCIe 5.
  request.mutable_operation()->mutable_host_copy()->clear_pageable();
  const auto product = CopyAnswered(request, {CalibrationOfGpu()});
  ASSERT_THAT(product, IsOk());
  EXPECT_NEAR(product->no_overlap_seconds(), 1e9 / (0.82 * 63e9), 1e-9);
  RequirementOf(request).set_minimum_source(v1::RATE_SOURCE_MEASURED_DEVICE);
  EXPECT_THAT(CopyAnswered(request, {measured}), IsOk());
  EXPECT_THAT(CopyAnswered(request, {CalibrationOfGpu()}),
              Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
}

// A processor's memory is its host's. 10 GB/s of its copy are read and written, 5 GB/s each.
TEST(OperationAnswer, OfAHostCopyOnTheHostIsACopyWithinItsMemory) {
  v1::Calibration host = SampleCalibration("CPU-1");
  host.mutable_device()->set_kind(v1::DEVICE_KIND_CPU);
  host.clear_host_copies();
  host.clear_streams();
  AddMainMemoryCopy(10'000'000, &host);
  host.mutable_streams(0)->mutable_time()->set_median_seconds(2e-3);
  host.mutable_streams(0)->set_bytes_per_second(10e9);
  v1::AnalyzeOperationRequest request = CopyRequest();
  request.mutable_device()->mutable_device()->mutable_host_devices()->add_devices("host");
  for (const bool pageable : {false, true}) {
    request.mutable_operation()->mutable_host_copy()->set_pageable(pageable);
    const auto copy = CopyAnswered(request, {host});
    ASSERT_THAT(copy, IsOk());
    EXPECT_NEAR(copy->no_overlap_seconds(), 1e9 / 5e9, 1e-9);
    EXPECT_EQ(copy->full_overlap_seconds(), copy->no_overlap_seconds());
    ASSERT_EQ(copy->rates_size(), 1);
    EXPECT_EQ(copy->rates(0).source(), v1::RATE_SOURCE_MEASURED_DEVICE);
    EXPECT_THAT(copy->sources(0), HasSubstr("half its rate"));
  }
  host.clear_streams();
  EXPECT_FALSE(CopyAnswered(request, {host}).ok());
}

TEST(OperationAnswer, OfAHostCopyHasALinkOrAsksForItsRate) {
  v1::AnalyzeOperationRequest request = CopyRequest();
  for (const Accelerator& accelerator : Accelerators()) {
    request.mutable_device()->mutable_device()->set_accelerator(std::string(accelerator.name));
    const auto answer = CopyAnswered(request);
    if (answer.ok()) continue;
    EXPECT_FALSE(accelerator.pcie_generation) << accelerator.name;
    EXPECT_THAT(answer, NamesFields(ElementsAre("operation.host_copy.link_bytes_per_second")));
  }
}

}  // namespace
}  // namespace sextant::server
