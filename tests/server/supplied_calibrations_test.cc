#include "server/store/supplied_calibrations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/convert/run_spec.h"
#include "server/handler/operation_answer.h"
#include "tests/server/sample_calibration.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// SampleCalibration() with a grid of shapes, enough to fit a model to.
v1::Calibration GridCalibration(const std::string& uuid) {
  v1::Calibration out = SampleCalibration(uuid);
  for (int i = 0; i < 30; ++i) {
    v1::MatmulMeasurement* const matmul = out.add_matmuls();
    *matmul = out.matmuls(0);
    matmul->set_data_type(v1::DATA_TYPE_BF16);
    matmul->set_m(1000 + 10 * i);
    const double flops = 2.0 * static_cast<double>(matmul->m()) * static_cast<double>(matmul->n()) *
                         static_cast<double>(matmul->k());
    matmul->set_flops_per_second(flops / matmul->time().median_seconds());
  }
  AddMainMemoryCopy(1'000'000'000, &out);
  return out;
}

TEST(SuppliedCalibrations, AreReadOnce) {
  SuppliedCalibrations supplied;
  FieldViolations none;
  const auto first = supplied.ModelOf(SampleCalibration("GPU-1"), "c", none);
  EXPECT_EQ(first->calibration().uuid, "GPU-1");
  EXPECT_EQ(supplied.ModelOf(SampleCalibration("GPU-1"), "d", none), first);
  EXPECT_NE(supplied.ModelOf(SampleCalibration("GPU-2"), "c", none), first);
  EXPECT_THAT(none.all(), IsEmpty());
}

// Violations are reported by every call.
TEST(SuppliedCalibrations, AreNotKeptWhereTheyAreAtFault) {
  SuppliedCalibrations supplied;
  v1::Calibration wrong = SampleCalibration("GPU-1");
  wrong.set_coverage_ratio(2);
  for (const char* path : {"c", "d"}) {
    FieldViolations violations;
    EXPECT_EQ(supplied.ModelOf(wrong, path, violations)->calibration().uuid, "");
    ASSERT_THAT(violations.all(), SizeIs(1));
    EXPECT_EQ(violations.all()[0].field, absl::StrCat(path, ".coverage_ratio"));
  }
}

// The number of kept models is bounded, and each answer uses its own calibration's figures.
TEST(SuppliedCalibrations, AreBoundedInNumber) {
  SuppliedCalibrations supplied;
  constexpr int kCount = 3 * SuppliedCalibrations::kSetCount * SuppliedCalibrations::kWayCount;
  std::vector<std::weak_ptr<const DeviceModel>> models;
  for (int i = 0; i < kCount; ++i) {
    FieldViolations none;
    const std::string uuid = absl::StrCat("GPU-", i);
    const auto model = supplied.ModelOf(SampleCalibration(uuid), "c", none);
    EXPECT_EQ(model->calibration().uuid, uuid);
    models.push_back(model);
  }
  size_t kept = 0;
  for (const auto& model : models) kept += model.expired() ? 0 : 1;
  EXPECT_LE(kept, SuppliedCalibrations::kSetCount * SuppliedCalibrations::kWayCount);
  EXPECT_GT(kept, 0u);
}

// A sound calibration whose bytes are mostly a field that this build does not know.
TEST(SuppliedCalibrations, AreNotKeptWhereTheyAreHuge) {
  for (const size_t more : {size_t{0}, SuppliedCalibrations::kMaxKeptBytes}) {
    SuppliedCalibrations supplied;
    v1::Calibration calibration = SampleCalibration("GPU-1");
    calibration.GetReflection()
        ->MutableUnknownFields(&calibration)
        ->AddLengthDelimited(10'000, std::string(more, 'x'));
    FieldViolations none;
    const auto first = supplied.ModelOf(calibration, "c", none);
    EXPECT_EQ(first->calibration().uuid, "GPU-1");
    EXPECT_EQ(supplied.ModelOf(calibration, "c", none) == first, more == 0);
    EXPECT_THAT(none.all(), IsEmpty());
  }
}

TEST(SuppliedCalibrations, AreSharedByThreads) {
  SuppliedCalibrations supplied;
  std::array<std::vector<std::shared_ptr<const DeviceModel>>, 4> models;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < models.size(); ++t) {
    threads.emplace_back([&supplied, &found = models[t], t] {
      for (size_t i = 0; i < 50; ++i) {
        FieldViolations none;
        const std::string uuid = absl::StrCat("GPU-", (t + i) % 7);
        found.push_back(supplied.ModelOf(SampleCalibration(uuid), "c", none));
        EXPECT_EQ(found.back()->calibration().uuid, uuid);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::shared_ptr<const DeviceModel>> distinct;
  for (const auto& found : models) distinct.insert(found.begin(), found.end());
  EXPECT_LE(distinct.size(), 4 * 7U);  // each thread reads each calibration once at most
}

// The second call converts and fits nothing: it uses the model that the first one fitted, and gives
// the same answer, byte for byte.
TEST(SuppliedCalibrations, SpareTheSecondCallEveryFit) {
  SuppliedCalibrations supplied;
  AccountingOptions options;
  options.calibrations = [] { return std::make_shared<const CalibrationSnapshot>(); };
  options.now = [] { return absl::FromUnixSeconds(1'769'860'900); };
  options.supplied = &supplied;
  v1::AnalyzeOperationRequest request;
  v1::Operation::Matmul* const matmul = request.mutable_operation()->mutable_matmul();
  matmul->set_m(1500);
  matmul->set_n(1000);
  matmul->set_k(500);
  request.mutable_data_types()->set_input(v1::DATA_TYPE_BF16);
  *request.mutable_device()->mutable_device()->mutable_calibrations()->add_calibrations() =
      GridCalibration("GPU-1");
  std::string first;
  const MatmulPredictor* fitted = nullptr;
  for (int call = 0; call < 3; ++call) {
    v1::AnalyzeOperationResponse response;
    CallWork work;
    ASSERT_THAT(AnswerOperation(request, options, work, &response), IsOk());
    EXPECT_TRUE(response.time().has_predicted_forward());
    FieldViolations none;
    const auto matmuls =
        supplied.ModelOf(request.device().device().calibrations().calibrations(0), "c", none)
            ->Matmuls(DataType::kBf16);
    ASSERT_TRUE(matmuls.ok());
    if (call == 0) {
      first = response.SerializeAsString();
      fitted = *matmuls;
      ASSERT_NE(fitted, nullptr);
      EXPECT_NE(fitted->own_model(), nullptr);
    }
    EXPECT_EQ(response.SerializeAsString(), first);
    EXPECT_EQ(*matmuls, fitted);
  }
}

v1::PlanRunRequest RequestWithCalibrations(int count) {
  v1::PlanRunRequest request;
  for (int i = 0; i < count; ++i) {
    *SuppliedTo(request).Add() = SampleCalibration(absl::StrCat("CPU-", i));
  }
  return request;
}

TEST(SuppliedCalibrations, OfARequestAreSixteenAtMost) {
  SuppliedCalibrations supplied;
  FieldViolations none;
  const v1::PlanRunRequest most = RequestWithCalibrations(16);
  EXPECT_THAT(RunSpecFrom(most, FinderOf(supplied), none).cluster.device.calibrations, SizeIs(16));
  EXPECT_TRUE(none.empty());
}

TEST(SuppliedCalibrations, AreNotLookedAtBeyondWhatAnAnswerNames) {
  v1::PlanRunRequest request = RequestWithCalibrations(3);
  for (v1::Calibration& c : SuppliedTo(request)) {
    for (int i = 0; i < 400; ++i) c.add_matmuls();
  }
  SuppliedTo(request)[2].clear_device();
  SuppliedCalibrations supplied;
  FieldViolations violations;
  RunSpecFrom(request, FinderOf(supplied), violations);
  EXPECT_TRUE(violations.Mentions("cluster.device.calibrations.calibrations[0]"));
  EXPECT_FALSE(violations.Mentions("cluster.device.calibrations.calibrations[1]"));
  EXPECT_FALSE(violations.Mentions("cluster.device.calibrations.calibrations[2]"));
}

}  // namespace
}  // namespace sextant::server
