// Operations whose rates are not as good as their requests demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/base/reason.h"
#include "engine/run/rate_requirement.h"
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
