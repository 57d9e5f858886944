// Plans whose rates are missing, or not as good as the run demands.
#include "engine/run/rate_requirement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "engine/base/reason.h"
#include "engine/run/plan.h"
#include "tests/engine/run/measured_runs.h"
#include "tests/support/precondition_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The preconditions that planning `run` misses; they are all there is.
std::vector<PreconditionViolation> MissingOf(const RunSpec& run) {
  const absl::Status status = PlanRun(run).status();
  if (status.ok()) return {};
  EXPECT_THAT(status, Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
  return PreconditionsOf(status);
}

RunSpec DatasheetRun() {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  run.cluster.device.calibrations = {};
  run.cluster.device.accelerator = "h100-sxm";
  return run;
}

TEST(RatesNotMeasured, NamesEachDeviceNeverMeasured) {
  RunSpec run = HostRun(MeasuredH100("GPU-1"));
  for (const char* uuid : {"GPU-2", "GPU-3"}) {
    run.cluster.device.devices.push_back(
        {.found = {}, .uuid = uuid, .product_name = "NVIDIA H100 80GB HBM3"});
  }
  run.cluster.device_count = 3;
  EXPECT_THAT(MissingOf(run), ElementsAre(Misses("GPU-2", HasSubstr("measured: measure it")),
                                          Misses("GPU-3", HasSubstr("never measured"))));
}

TEST(RatesNotMeasured, SaysWhichTypesWereMeasured) {
  DeviceCalibration processor = Processor("CPU-1");
  processor.matmuls[1].data_type = DataType::kInt8;
  RunSpec run = HostRun(processor);
  run.training.precision.compute_data_type = DataType::kFp16;
  // int8 was measured too, but no run can compute in it.
  EXPECT_THAT(MissingOf(run), ElementsAre(Misses("CPU-1", AllOf(HasSubstr("in fp16 (it has: bf16)"),
                                                                HasSubstr("compute_data_type")))));
  processor.matmuls.clear();
  run.cluster.device.devices = HostRun(processor).cluster.device.devices;
  EXPECT_THAT(MissingOf(run),
              ElementsAre(Misses(
                  "CPU-1", HasSubstr("nor in another floating-point type: measure it again"))));
}

// Only of a calibration that has nothing else.
TEST(RatesNotMeasured, OfShapesThatWereAskedFor) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  std::shared_ptr<const DeviceModel>& model = run.cluster.device.calibrations[0];
  ChangeCalibration(model, [](auto& c) { c.requested_matmul_count = 3; });
  EXPECT_THAT(PlanRun(run), IsOk());
  run.training.precision.compute_data_type = DataType::kFp16;
  EXPECT_THAT(MissingOf(run), ElementsAre(Misses("CPU-1", HasSubstr("it has: bf16, fp32"))));
  ChangeCalibration(model, [](auto& c) { c.matmuls.clear(); });
  EXPECT_THAT(MissingOf(run),
              ElementsAre(Misses("CPU-1", AllOf(HasSubstr("only shapes that a request named"),
                                                HasSubstr("without naming shapes")))));
}

TEST(RatesNotMeasured, OfADistrustedDevice) {
  RunSpec run = HostRun(Processor("CPU-1"));
  run.cluster.device.devices[0] = {.found = {}, .uuid = "CPU-1", .distrusted = true};
  EXPECT_THAT(
      MissingOf(run),
      ElementsAre(Misses("CPU-1", AllOf(HasSubstr("wrong result"), HasSubstr("withdrawn")))));
}

TEST(RatesNotMeasured, OfASuppliedCalibration) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  run.training.precision.compute_data_type = DataType::kFp64;
  EXPECT_THAT(MissingOf(run), ElementsAre(Misses("CPU-1", HasSubstr("it has: bf16, fp32"))));
}

// Faults of the request come first: without them it may need other rates.
TEST(RatesNotMeasured, ComesAfterFaultsOfTheRequest) {
  RunSpec run = HostRun(Processor("CPU-1"));
  run.cluster.device.devices[0] = {.found = {}, .uuid = "CPU-1"};
  run.training.token_count = 0;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("training.token_count")));
}

TEST(MaximumAge, LetsThroughWhatIsAsOldAsItSays) {
  RunSpec run = HostRun(Processor("CPU-1"), 3600);
  run.rate_requirement.maximum_age_seconds = 3600;
  EXPECT_THAT(PlanRun(run), IsOk());
  run.rate_requirement.maximum_age_seconds = 3599.5;
  EXPECT_THAT(MissingOf(run), ElementsAre(Misses("CPU-1", AllOf(HasSubstr("2026-01-31T12:00:00Z"),
                                                                HasSubstr("3600 seconds ago"),
                                                                HasSubstr("3599.5 seconds")))));
}

// A host whose clock was ahead when it measured: a little is nothing, more leaves no age.
TEST(MaximumAge, OfTheFutureIsNotKnown) {
  RunSpec run = HostRun(Processor("CPU-1"), -60);
  run.rate_requirement.maximum_age_seconds = 1;
  EXPECT_THAT(PlanRun(run), IsOk());
  run = HostRun(Processor("CPU-1"), -61);
  EXPECT_THAT(PlanRun(run), IsOk());
  run.rate_requirement.maximum_age_seconds = 1e6;
  EXPECT_THAT(MissingOf(run), ElementsAre(Misses("CPU-1", AllOf(HasSubstr("measured in the future"),
                                                                HasSubstr("compare the clocks")))));
}

// Who has what was measured: the same run in four ways, against each demand.
TEST(MinimumSource, IsTheWorstAllowed) {
  RunSpec own_peak = DatasheetRun();
  own_peak.cluster.peak_flops_per_second = 1e15;
  const struct {
    RunSpec run;
    bool supplied, device, datasheet;  // which demands it meets
    const char* subject;
    const char* remedy;
  } cases[] = {
      {SuppliedRun(Processor("CPU-1")), true, true, true, "", ""},
      {HostRun(Processor("CPU-1")), false, true, true, "CPU-1", "cluster.device.calibrations"},
      {DatasheetRun(), false, false, true, "h100-sxm", "cluster."},
      {own_peak, false, false, false, "h100-sxm", "cluster."},
  };
  for (const auto& c : cases) {
    RunSpec run = c.run;
    EXPECT_THAT(PlanRun(run), IsOk());
    const std::pair<RateSource, bool> demands[] = {{RateSource::kMeasuredSupplied, c.supplied},
                                                   {RateSource::kMeasuredDevice, c.device},
                                                   {RateSource::kDatasheet, c.datasheet}};
    for (const auto& [minimum, met] : demands) {
      run.rate_requirement.minimum_source = minimum;
      if (met) {
        EXPECT_THAT(PlanRun(run), IsOk()) << RateSourceName(minimum);
      } else {
        EXPECT_THAT(MissingOf(run), ElementsAre(Misses(c.subject, HasSubstr(c.remedy))))
            << RateSourceName(minimum);
      }
    }
  }
}

// A measured rate is what the times stand on, whoever gave the peak.
TEST(MinimumSource, IsNotAboutThePeakWhereARateWasMeasured) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  run.cluster.peak_flops_per_second = 1e15;
  run.rate_requirement.minimum_source = RateSource::kMeasuredSupplied;
  EXPECT_THAT(PlanRun(run), IsOk());
}

TEST(RateRequirement, OutOfRangeIsRefused) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  run.rate_requirement.minimum_source = RateSource::kRequest;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("rate_requirement.minimum_source")));
  run.rate_requirement = {};
  for (const double bad :
       {0.0, -1.0, std::nan(""), 1e300, std::numeric_limits<double>::infinity()}) {
    run.rate_requirement.maximum_age_seconds = bad;
    EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("rate_requirement.maximum_age"))) << bad;
  }
}

TEST(UnknownDevice, AloneIsNotFound) {
  RunSpec run = HostRun(Processor("CPU-1"));
  run.cluster.device.devices[0] = {
      .found = WithReason(absl::NotFoundError("device \"x\" is not known"), "DEVICE_UNKNOWN")};
  EXPECT_THAT(PlanRun(run), Fails(absl::StatusCode::kNotFound, "DEVICE_UNKNOWN"));
  // Beside others it is a fault like them.
  run.cluster.device.devices.push_back(run.cluster.device.devices[0]);
  run.cluster.device_count = 2;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("cluster.device.host_devices.devices[0]",
                                                    "cluster.device.host_devices.devices[1]")));
  run.options.assumed_mfu = 0.5;  // of which nothing can be said before the devices are known
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("cluster.device.host_devices.devices[0]",
                                                    "cluster.device.host_devices.devices[1]")));
}

}  // namespace
}  // namespace sextant
