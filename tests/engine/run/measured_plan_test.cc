// Plans that stand on measured rates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/run/plan.h"
#include "tests/engine/run/measured_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(MeasuredPlan, OfAProcessorByHand) {
  const RunSpec run = SuppliedRun(Processor("CPU-1"));
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.device, "Some Processor 9000");
  ASSERT_TRUE(plan.estimate(EstimateKind::kMeasuredBound) != nullptr);
  // 6 x 1e9 x 2e10 FLOP / 2e12 FLOP/s
  EXPECT_DOUBLE_EQ(At(plan, EstimateKind::kMeasuredBound).duration.value(), 6e7);
  EXPECT_DOUBLE_EQ(At(plan, EstimateKind::kMeasuredBound).tokens_per_second, 2e10 / 6e7);
  EXPECT_EQ(At(plan, EstimateKind::kMeasuredBound).measured_fraction, 1);
  // No datasheet: no peak, hence none of what stands on one.
  EXPECT_FALSE(At(plan, EstimateKind::kMeasuredBound).mfu.has_value());
  EXPECT_FALSE(plan.estimate(EstimateKind::kLowerBound) != nullptr);
  EXPECT_FALSE(plan.estimate(EstimateKind::kTextbook) != nullptr);
  EXPECT_FALSE(At(plan, EstimateKind::kMeasuredBound).energy.has_value());
  EXPECT_EQ(plan.capacity.usable(), Bytes(64'000'000'000));
}

TEST(MeasuredPlan, SaysOfEachRateWhatWasMeasured) {
  const RunSpec run = SuppliedRun(Processor("CPU-1"));
  const Plan plan = Planned(run);
  ASSERT_THAT(plan.rates, SizeIs(2));
  const Rate matmul = RateOf(plan, "matmul_flops_per_second");
  EXPECT_EQ(matmul.source, RateSource::kMeasuredSupplied);
  EXPECT_EQ(matmul.value, 2e12);
  EXPECT_EQ(matmul.data_type, DataType::kBf16);
  EXPECT_EQ(matmul.device, "Some Processor 9000");
  EXPECT_THAT(matmul.citation, AllOf(HasSubstr("4096x4096x4096"), HasSubstr("2026-01-31")));
  ASSERT_TRUE(matmul.measured.has_value());
  EXPECT_EQ(matmul.measured->relative_spread, 0.01);
  EXPECT_EQ(matmul.measured->stable, true);
  EXPECT_EQ(matmul.measured->unix_seconds, 1'769'860'800);
  EXPECT_EQ(matmul.measured->device_uuid, "CPU-1");
  EXPECT_EQ(matmul.measured->calibration_fingerprint, "0123456789abcdef");
  // A figure that the host reports has no samples and no spread.
  const Rate memory = RateOf(plan, "memory_bytes");
  EXPECT_EQ(memory.source, RateSource::kMeasuredSupplied);
  ASSERT_TRUE(memory.measured.has_value());
  EXPECT_FALSE(memory.measured->relative_spread.has_value());
  EXPECT_FALSE(memory.measured->stable.has_value());
}

TEST(MeasuredPlan, OfThisHostSaysSo) {
  const RunSpec run = HostRun(Processor("CPU-1"));
  EXPECT_EQ(RateOf(Planned(run), "matmul_flops_per_second").source, RateSource::kMeasuredDevice);
  EXPECT_EQ(RateOf(Planned(run), "memory_bytes").source, RateSource::kMeasuredDevice);
}

// 700e12 measured of a datasheet's 989.4e12.
TEST(MeasuredPlan, HasBothBoundsWhereThereIsADatasheet) {
  const RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.device, "h100-sxm");
  EXPECT_EQ(RateOf(plan, "peak_flops_per_second").source, RateSource::kDatasheet);
  EXPECT_EQ(RateOf(plan, "device_power_watts").source, RateSource::kDatasheet);
  EXPECT_DOUBLE_EQ(*At(plan, EstimateKind::kMeasuredBound).mfu, 700 / 989.4);
  EXPECT_EQ(At(plan, EstimateKind::kMeasuredBound).measured_fraction, 1);
  EXPECT_DOUBLE_EQ(*At(plan, EstimateKind::kLowerBound).measured_fraction, 989.4 / 700);
  EXPECT_DOUBLE_EQ(*At(plan, EstimateKind::kTextbook).measured_fraction, 0.4 * 989.4 / 700);
  EXPECT_DOUBLE_EQ(At(plan, EstimateKind::kMeasuredBound).duration.value() /
                       At(plan, EstimateKind::kLowerBound).duration.value(),
                   989.4 / 700);
  EXPECT_DOUBLE_EQ(At(plan, EstimateKind::kMeasuredBound).energy->value(), 700 * 1.2e20 / 700e12);
}

TEST(MeasuredPlan, TakesTheRequestsOwnFiguresFirst) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  run.cluster.peak_flops_per_second = 1e15;
  run.cluster.device_memory_bytes = 70'000'000'000;
  run.economics.device_power_watts = 500;
  const Plan plan = Planned(run);
  EXPECT_EQ(RateOf(plan, "peak_flops_per_second").source, RateSource::kRequest);
  EXPECT_EQ(RateOf(plan, "memory_bytes").source, RateSource::kRequest);
  EXPECT_EQ(RateOf(plan, "device_power_watts").source, RateSource::kRequest);
  EXPECT_EQ(RateOf(plan, "matmul_flops_per_second").source, RateSource::kMeasuredSupplied);
  EXPECT_DOUBLE_EQ(*At(plan, EstimateKind::kMeasuredBound).mfu, 0.7);
}

// A gang runs at its slowest member and holds what its smallest holds.
TEST(MeasuredPlan, OfSeveralDevicesTakesTheSlowestAndTheSmallest) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  run.cluster.device.calibrations.push_back(ModelOf(MeasuredH100("GPU-2")));
  run.cluster.device.calibrations.push_back(ModelOf(MeasuredH100("GPU-3")));
  ChangeCalibration(run.cluster.device.calibrations[1],
                    [](auto& c) { c.matmuls[0].rate = FlopsPerSecond(600e12); });
  ChangeCalibration(run.cluster.device.calibrations[2],
                    [](auto& c) { c.memory = Bytes(79'000'000'000); });
  run.cluster.device_count = 3;
  const Plan plan = Planned(run);
  const Rate matmul = RateOf(plan, "matmul_flops_per_second");
  EXPECT_EQ(matmul.value, 600e12);
  EXPECT_EQ(matmul.measured->device_uuid, "GPU-2");
  EXPECT_THAT(matmul.citation, HasSubstr("the slowest of 3 devices"));
  EXPECT_EQ(RateOf(plan, "memory_bytes").value, 79e9);
  EXPECT_EQ(RateOf(plan, "memory_bytes").measured->device_uuid, "GPU-3");
  // 1.2e20 / (3 x 600e12)
  EXPECT_DOUBLE_EQ(At(plan, EstimateKind::kMeasuredBound).duration.value(), 1.2e20 / 1.8e15);
}

TEST(MeasuredPlan, UsesTheRateOfTheComputeType) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  run.training.precision.compute_data_type = DataType::kFp32;
  EXPECT_EQ(RateOf(Planned(run), "matmul_flops_per_second").value, 1e12);
}

// --- Assumptions ---------------------------------------------------------------------

TEST(MeasuredPlan, DoesNotSayThatNothingWasMeasured) {
  for (const DeviceCalibration& device : {Processor("CPU-1"), MeasuredH100("GPU-1")}) {
    const RunSpec run = SuppliedRun(device);
    const Plan plan = Planned(run);
    EXPECT_THAT(TextsOf(plan.notes), Not(Contains(HasSubstr("nothing was measured"))));
    EXPECT_THAT(TextsOf(plan.notes), Contains(HasSubstr("4096x4096x4096")));
    EXPECT_THAT(TextsOf(plan.notes), Contains(HasSubstr("all that its host reports")));
  }
}

TEST(MeasuredPlan, SaysThatAProcessorIsOne) {
  const RunSpec run = SuppliedRun(Processor("CPU-1"));
  EXPECT_THAT(TextsOf(Planned(run).notes),
              Contains(HasSubstr("is a processor, Some Processor 9000")));
  const RunSpec gpu = SuppliedRun(MeasuredH100("GPU-1"));
  EXPECT_THAT(TextsOf(Planned(gpu).notes), Not(Contains(HasSubstr("processor"))));
}

// One sample has no spread, and 0 would read as a perfect one.
TEST(MeasuredPlan, ClaimsNoSpreadOfASingleSample) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  ChangeCalibration(run.cluster.device.calibrations[0], [](auto& c) {
    c.matmuls[0].stable = false;
    c.matmuls[0].relative_spread = 0;
    c.matmuls[0].sample_count = 1;
  });
  const Plan plan = Planned(run);
  EXPECT_THAT(TextsOf(plan.notes), Contains(HasSubstr("not stable: it is of a single sample")));
  for (const Rate& rate : plan.rates) {
    EXPECT_THAT(rate.citation, Not(HasSubstr("spread")));
    if (rate.measured.has_value()) {
      EXPECT_FALSE(rate.measured->relative_spread.has_value());
    }
  }
}

TEST(MeasuredPlan, SaysWhatWeakensTheMeasurement) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  EXPECT_THAT(TextsOf(Planned(run).notes), Not(Contains(HasSubstr("not stable"))));
  EXPECT_THAT(TextsOf(Planned(run).notes), Not(Contains(HasSubstr("partial"))));
  EXPECT_THAT(TextsOf(Planned(run).notes), Not(Contains(HasSubstr("no slower"))));
  ChangeCalibration(run.cluster.device.calibrations[0], [](auto& c) {
    c.matmuls[0].stable = false;
    c.matmuls[0].relative_spread = 0.25;
    c.coverage_ratio = 0.5;
  });
  run.cluster.device_count = 4;
  const auto assumptions = TextsOf(Planned(run).notes);
  EXPECT_THAT(assumptions, Contains(AllOf(HasSubstr("not stable"), HasSubstr("0.25"))));
  EXPECT_THAT(assumptions, Contains(AllOf(HasSubstr("partial"), HasSubstr("0.5"))));
  EXPECT_THAT(assumptions, Contains("Of 4 devices 1 was measured; the others are taken to be no "
                                    "slower."));
}

// 37 of 74 points is half, and 3 % is within what counts as noise.
TEST(MeasuredPlan, SaysWhatDisturbedTheMeasurement) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  const auto warning_with = [&run](int64_t stable, absl::optional<double> drift) -> Note {
    ChangeCalibration(run.cluster.device.calibrations[0], [&](auto& c) {
      c.point_count = 74;
      c.stable_point_count = stable;
      c.drift_ratio = drift;
    });
    for (Note& note : Planned(run).notes) {
      if (note.kind == NoteKind::kRateUnstable) return note;
    }
    return {};
  };
  EXPECT_EQ(warning_with(37, absl::nullopt).text, "");
  EXPECT_EQ(warning_with(74, 0.03).text, "");
  EXPECT_EQ(warning_with(74, -0.03).text, "");
  const Note few = warning_with(36, 0.01);
  EXPECT_EQ(few.text,
            "The measurement was disturbed: 36 of 74 points of the calibration are stable; measure "
            "again while the device does nothing else.");
  ASSERT_EQ(few.values.size(), 2U);
  EXPECT_EQ(few.values[0].name, "stable_point_count");
  EXPECT_EQ(few.values[0].value, 36);
  EXPECT_EQ(few.values[1].value, 74);
  EXPECT_THAT(warning_with(74, -0.0625).text,
              HasSubstr("disturbed: the device became 6.2 % faster while it was measured;"));
  ChangeCalibration(run.cluster.device.calibrations[0],
                    [](auto& c) { c.matmuls[0].stable = false; });
  EXPECT_EQ(warning_with(11, 0.1).text,
            "The measured rate is not stable: its samples have a relative spread of 0.01, 11 of 74 "
            "points of the calibration are stable, the device became 10.0 % slower while it was "
            "measured; measure again while the device does nothing else.");
}

// The H100's rate is sustained, 700e12.
TEST(MeasuredPlan, NamesTheStableBurstBesideAnUnstableSustainedRate) {
  DeviceCalibration calibration = MeasuredH100("GPU-1");
  MeasuredMatmul burst = calibration.matmuls[0];
  burst.sustained = false;
  burst.m = 2048;
  burst.rate = FlopsPerSecond(900e12);
  calibration.KeepIfBetter(burst);
  RunSpec run = SuppliedRun(calibration);
  EXPECT_THAT(TextsOf(Planned(run).notes), Not(Contains(HasSubstr("burst"))));
  ChangeCalibration(run.cluster.device.calibrations[0],
                    [](auto& c) { c.matmuls[0].stable = false; });
  const Plan plan = Planned(run);
  EXPECT_EQ(RateOf(plan, "matmul_flops_per_second").value, 700e12);
  EXPECT_THAT(TextsOf(plan.notes),
              Contains("The measured rate is not stable: its samples have a relative spread of "
                       "0.01, and a short burst of 2048x4096x4096, stable, ran at "
                       "9e+14 FLOP/s; measure again while the device does nothing "
                       "else."));
}

// A datasheet's peak is that of a nominal clock, 989.4e12.
TEST(MeasuredPlan, SaysThatAMeasurementAboveThePeakCantBe) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  ChangeCalibration(run.cluster.device.calibrations[0], [](auto& c) {
    for (MeasuredMatmul& matmul : c.matmuls) matmul.rate = FlopsPerSecond(1038.87e12);
  });
  const Plan plan = Planned(run);
  EXPECT_DOUBLE_EQ(*At(plan, EstimateKind::kMeasuredBound).mfu, 1.05);
  EXPECT_THAT(TextsOf(plan.notes), Contains(HasSubstr("one of the two figures is wrong")));
}

// 700e12 measured.
TEST(MeasuredPlanRefuses, APeakBelowWhatWasMeasured) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  run.cluster.peak_flops_per_second = 700e12;
  EXPECT_EQ(*At(Planned(run), EstimateKind::kMeasuredBound).mfu, 1);
  run.cluster.peak_flops_per_second = 699e12;
  EXPECT_THAT(PlanRun(run), HasViolation("cluster.peak_flops_per_second", HasSubstr("7e+14")));
}

TEST(MeasuredPlan, SaysWhereAMaximumAgeLimitsNothing) {
  RunSpec supplied = SuppliedRun(Processor("CPU-1"));
  RunSpec datasheet = supplied;
  datasheet.cluster.device.calibrations = {};
  datasheet.cluster.device.accelerator = "h100-sxm";
  const RunSpec host = HostRun(Processor("CPU-1"), 0.5);
  for (const auto& [named, says] :
       {std::pair(supplied, true), std::pair(datasheet, true), std::pair(host, false)}) {
    const auto limits_nothing = Contains(HasSubstr("rate_requirement.maximum_age limits nothing"));
    RunSpec run = named;
    EXPECT_THAT(TextsOf(Planned(run).notes), Not(limits_nothing));
    run.rate_requirement.maximum_age_seconds = 1;
    if (says) {
      EXPECT_THAT(TextsOf(Planned(run).notes), limits_nothing);
    } else {
      EXPECT_THAT(TextsOf(Planned(run).notes), Not(limits_nothing));
    }
  }
}

// --- Derivation and fingerprint --------------------------------------------------------

TEST(MeasuredPlan, DerivesItsOwnNumbers) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  run.options.include_derivation = run.options.full = true;
  run.economics.device_hour_price_usd = 2;
  const Plan plan = Planned(run);
  std::map<std::string, DerivationStep> steps;
  for (const DerivationStep& step : plan.derivation) {
    EXPECT_FALSE(step.formula.empty() || step.substitution.empty() || step.unit.empty() ||
                 step.source.empty())
        << step.symbol;
    EXPECT_TRUE(steps.emplace(step.symbol, step).second) << step.symbol << " twice";
  }
  EXPECT_EQ(steps["estimates.measured_bound.duration_seconds.expected"].substitution,
            "1.2e+20 / (1 * 700000000000000)");
  EXPECT_EQ(steps["estimates.measured_bound.mfu"].substitution,
            "700000000000000 / 989400000000000");
  for (const char* symbol :
       {"rates.matmul_flops_per_second.value", "rates.matmul_flops_per_second.relative_spread",
        "rates.matmul_flops_per_second.measured_time.seconds",
        "rates.memory_bytes.measured_time.seconds", "estimates.measured_bound.measured_fraction",
        "estimates.measured_bound.energy_joules", "estimates.measured_bound.cost_usd",
        "estimates.lower_bound.measured_fraction", "estimates.textbook.measured_fraction"}) {
    EXPECT_TRUE(steps.contains(symbol)) << symbol;
  }
}

TEST(MeasuredPlan, FingerprintFollowsTheCalibration) {
  const RunSpec run = SuppliedRun(Processor("CPU-1"));
  RunSpec again = run;
  EXPECT_EQ(RatesFingerprint(Planned(run).rates), RatesFingerprint(Planned(again).rates));
  ChangeCalibration(again.cluster.device.calibrations[0],
                    [](auto& c) { c.fingerprint = "another"; });
  EXPECT_NE(RatesFingerprint(Planned(run).rates), RatesFingerprint(Planned(again).rates));
}

// --- What is refused -------------------------------------------------------------------

TEST(MeasuredPlanRefuses, ARunOnNoDevice) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  run.cluster.device = {};
  const auto plan = PlanRun(run);
  EXPECT_THAT(plan, NamesFields(ElementsAre("cluster.device")));
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("write cluster.device.accelerator"));
}

TEST(MeasuredPlanRefuses, MoreDevicesNamedThanThereAre) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  run.cluster.device.calibrations.push_back(ModelOf(Processor("CPU-2")));
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("cluster.device_count")));
  run.cluster.device_count = 2;
  EXPECT_THAT(PlanRun(run), IsOk());
}

TEST(MeasuredPlanRefuses, ADeviceNamedTwice) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  run.cluster.device.calibrations.push_back(ModelOf(Processor("CPU-1")));
  run.cluster.device_count = 2;
  EXPECT_THAT(PlanRun(run),
              NamesFields(ElementsAre("cluster.device.calibrations.calibrations[1]")));
}

TEST(MeasuredPlanRefuses, DevicesOfTwoProducts) {
  RunSpec run = HostRun(MeasuredH100("GPU-1"));
  run.cluster.device.devices.push_back(DeviceOf(Processor("CPU-1")));
  run.cluster.device_count = 2;
  const auto plan = PlanRun(run);
  EXPECT_THAT(plan, NamesFields(ElementsAre("cluster.device.host_devices.devices[1]")));
  EXPECT_THAT(std::string(plan.status().message()),
              AllOf(HasSubstr("Some Processor 9000"), HasSubstr("NVIDIA H100 80GB HBM3")));
}

// An MFU is a share of a peak: without one it would be ignored.
TEST(MeasuredPlanRefuses, AnAssumedMfuOfNoPeak) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  run.options.assumed_mfu = 0.5;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("options.assumed_mfu")));
  run.cluster.peak_flops_per_second = 4e12;
  EXPECT_DOUBLE_EQ(At(Planned(run), EstimateKind::kTextbook).duration.value(), 6e7);
}

TEST(MeasuredPlanRefuses, MoreMemoryThanAPlanCanCount) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  ChangeCalibration(run.cluster.device.calibrations[0],
                    [](auto& c) { c.memory = Bytes(10'000'000'000'001); });
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("cluster.device_memory_bytes")));
  run.cluster.device_memory_bytes = 10'000'000'000'000;
  EXPECT_THAT(PlanRun(run), IsOk());
}

TEST(MeasuredPlanRefuses, AReserveOfAllMeasuredMemory) {
  RunSpec run = SuppliedRun(Processor("CPU-1"));
  run.cluster.reserved_memory_bytes = 64'000'000'000;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("cluster.reserved_memory_bytes")));
}

}  // namespace
}  // namespace sextant
