// Plans and operations whose rates are missing, or not as good as their requests demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "engine/base/reason.h"
#include "engine/run/plan.h"
#include "engine/time/operation_rates.h"
#include "tests/engine/run/measured_runs.h"
#include "tests/support/note_matchers.h"
#include "tests/support/precondition_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  run.economics.budget_usd = 1;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("economics.budget_usd")));
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
  EXPECT_THAT(MetadataOf(PlanRun(run).status()),
              ElementsAre(std::make_pair("field", "cluster.device.host_devices.devices[0]")));
  // Beside others it is a fault like them.
  run.cluster.device.devices.push_back(run.cluster.device.devices[0]);
  run.cluster.device_count = 2;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("cluster.device.host_devices.devices[0]",
                                                    "cluster.device.host_devices.devices[1]")));
  run.options.assumed_mfu = 0.5;  // of which nothing can be said before the devices are known
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("cluster.device.host_devices.devices[0]",
                                                    "cluster.device.host_devices.devices[1]")));
}

// An H100 with a copy in main memory.
DeviceCalibration MeasuredGpu() {
  DeviceCalibration out = MeasuredH100("GPU-1");
  out.ConsiderPass(StreamPattern::kCopy,
                   {.per_second = 2e12, .array_bytes = 1 << 30, .sample_count = 1});
  return out;
}

OperationDevice OfThisHost(double age_seconds) {
  OperationDevice out;
  out.device.devices = {DeviceOf(MeasuredGpu(), age_seconds)};
  return out;
}

// The failed preconditions where `minimum` is required.
std::vector<PreconditionViolation> MissingWith(OperationDevice device, RateSource minimum) {
  device.requirement.minimum_source = minimum;
  return PreconditionsOf(RatesFor(device, DataType::kBf16, "device").status());
}

TEST(OperationRequirement, OfADatasheetIsMetByTheDatasheetAlone) {
  const OperationDevice h100 = {.device = {.accelerator = "h100-sxm"}};
  EXPECT_THAT(MissingWith(h100, RateSource::kDatasheet), IsEmpty());
  for (const RateSource minimum :
       {RateSource::kMeasuredDevice, RateSource::kMeasuredModel, RateSource::kReference}) {
    EXPECT_THAT(MissingWith(h100, minimum),
                ElementsAre(Misses(
                    "h100-sxm", AllOf(HasSubstr("no measured rate of h100-sxm was named, and "
                                                "device.rate_requirement.minimum_source is "),
                                      HasSubstr("device.device.host_devices or calibrations")))));
  }
  EXPECT_THAT(MissingWith(h100, RateSource::kMeasuredSupplied),
              ElementsAre(Misses("h100-sxm", HasSubstr("give a calibration in "
                                                       "device.device.calibrations"))));
}

TEST(OperationRequirement, OfACalibrationIsMetByTheCallersBeforeTheServers) {
  const OperationDevice supplied = {.device = {.calibrations = {ModelOf(MeasuredGpu())}}};
  EXPECT_THAT(MissingWith(supplied, RateSource::kMeasuredSupplied), IsEmpty());
  EXPECT_THAT(MissingWith(OfThisHost(0), RateSource::kMeasuredDevice), IsEmpty());
  EXPECT_THAT(MissingWith(OfThisHost(0), RateSource::kMeasuredSupplied),
              ElementsAre(Misses("GPU-1", AllOf(HasSubstr("this server's own rates"),
                                                HasSubstr("MEASURED_SUPPLIED"),
                                                HasSubstr("device.device.calibrations")))));
}

// A figure of the caller's is not a measurement, whoever the device is.
TEST(OperationRequirement, NamesEachFigureOfTheRequests) {
  OperationDevice device = OfThisHost(0);
  device.matrix_flops_per_second = 1e15;
  device.memory_bytes_per_second = 1e12;
  EXPECT_THAT(MissingWith(device, RateSource::kDatasheet),
              ElementsAre(Misses("GPU-1", HasSubstr("device.matrix_flops_per_second is the")),
                          Misses("GPU-1", HasSubstr("leave it out for the device's"))));
  OperationDevice rates;
  rates.matrix_flops_per_second = 1e15;
  rates.memory_bytes_per_second = 1e12;
  EXPECT_THAT(MissingWith(rates, RateSource::kDatasheet),
              ElementsAre(Misses("device.matrix_flops_per_second",
                                 HasSubstr("name a device in device.device")),
                          Misses("device.memory_bytes_per_second", HasSubstr("DATASHEET"))));
  // Beside what the device itself lacks.
  OperationDevice h100 = {.device = {.accelerator = "h100-sxm"}};
  h100.general_flops_per_second = 1e13;
  EXPECT_THAT(MissingWith(h100, RateSource::kReference),
              ElementsAre(Misses("h100-sxm", HasSubstr("general_flops_per_second")),
                          Misses("h100-sxm", HasSubstr("no measured rate"))));
}

TEST(OperationRequirement, OfAnAgeIsAboutTheServersOwnDevices) {
  const auto with_age = [](OperationDevice device) {
    device.requirement.maximum_age_seconds = 3600;
    return RatesFor(device, DataType::kBf16, "device");
  };
  EXPECT_THAT(with_age(OfThisHost(3600)), IsOk());
  EXPECT_THAT(with_age(OfThisHost(-60)), IsOk());
  EXPECT_THAT(PreconditionsOf(with_age(OfThisHost(3601)).status()),
              ElementsAre(Misses("GPU-1", AllOf(HasSubstr("2026-01-31T12:00:00Z, 3601 seconds"),
                                                HasSubstr("device.rate_requirement.maximum_age "
                                                          "is 3600 seconds")))));
  EXPECT_THAT(PreconditionsOf(with_age(OfThisHost(-61)).status()),
              ElementsAre(Misses("GPU-1", HasSubstr("measured in the future"))));
  const auto datasheet = with_age({.device = {.accelerator = "h100-sxm"}});
  ASSERT_THAT(datasheet, IsOk());
  ASSERT_THAT(datasheet->notes,
              ::testing::Contains(IsNote(
                  NoteKind::kAgeLimitsNothing,
                  HasSubstr("device.rate_requirement.maximum_age limits none of the rates"))));
  EXPECT_THAT(datasheet->notes.back().fields, ElementsAre("device.rate_requirement.maximum_age"));
}

TEST(OperationRequirement, MustMakeSense) {
  OperationDevice device = {.device = {.accelerator = "h100-sxm"}};
  device.requirement = {.minimum_source = RateSource::kRequest, .maximum_age_seconds = 0};
  EXPECT_THAT(RatesFor(device, DataType::kBf16, "device"),
              NamesFields(ElementsAre("device.rate_requirement.minimum_source",
                                      "device.rate_requirement.maximum_age")));
  device.requirement = {.minimum_source = {}, .maximum_age_seconds = std::nan("")};
  EXPECT_THAT(RatesFor(device, DataType::kBf16, "device"),
              NamesFields(ElementsAre("device.rate_requirement.maximum_age")));
}

// The roofline may be measured where the kernel is not.
TEST(OperationRequirement, OfAPredictedTimeNamesWhatItStandsOn) {
  OperationDevice device = OfThisHost(0);
  KernelSource published;
  published.source = RateSource::kReference;
  published.device = "h200-sxm";
  EXPECT_THAT(CheckPredictionSource(device, published, "device"), IsOk());
  device.requirement.minimum_source = RateSource::kReference;
  EXPECT_THAT(CheckPredictionSource(device, published, "device"), IsOk());
  device.requirement.minimum_source = RateSource::kMeasuredDevice;
  EXPECT_THAT(
      PreconditionsOf(CheckPredictionSource(device, published, "device")),
      ElementsAre(Misses("h200-sxm", AllOf(HasSubstr("predicted from REFERENCE figures"),
                                           HasSubstr("minimum_source is MEASURED_DEVICE")))));
}

}  // namespace
}  // namespace sextant
