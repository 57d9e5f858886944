// Plans of devices of which a fleet's metrics have the rates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/base/reason.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/known_rates.h"
#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMeasured = 1'769'860'800;  // 2026-01-31T12:00:00Z

const Accelerator& FleetH100() { return *AcceleratorNamed("h100-sxm"); }

KnownRates Gpu(std::string uuid, double burst) {
  return {.uuid = std::move(uuid),
          .hostname = "node7",
          .product_name = "NVIDIA H100 80GB HBM3",
          .accelerator = &FleetH100(),
          .origin = "its host, by the fleet's metrics",
          .measured_unix_seconds = kMeasured,
          .memory = Bytes(85'000'000'000),
          .bf16_burst = FlopsPerSecond(burst),
          .bf16_sustained = FlopsPerSecond(burst / 1.1)};
}

// The slowest of 16 devices of two hosts.
FleetRates FleetOf(const std::vector<KnownRates>& devices) {
  FleetRates out = {.device_count = 16,
                    .host_count = 2,
                    .oldest_unix_seconds = kMeasured,
                    .oldest_age_seconds = 3600};
  for (const KnownRates& device : devices) {
    out.models.push_back(*DeviceOfRates(device, BestCurvesOf(FleetH100(), {})));
  }
  return out;
}

RunSpec RunOn(FleetRates fleet) {
  RunSpec run = RunOnH100s("llama-3.1-8b", 16, 64);
  run.cluster.network.bytes_per_second = 50e9;
  run.layout->parallel.tensor_parallel_size = 2;
  run.economics.device_hour_price_usd = 2;
  run.cluster.device.fleet = std::move(fleet);
  return run;
}

double StepSeconds(const Plan& plan) {
  EXPECT_TRUE(plan.step.has_value());
  return plan.step.has_value() ? plan.step->estimate.seconds.expected.value() : 0;
}

// Unless the request says what will be reserved, 0 too.
TEST(FleetPlan, KeepsFromTheRunWhatProcessesHold) {
  FleetRates fleet = FleetOf({Gpu("GPU-a", 600e12)});
  fleet.taken = Bytes(60'000'000'000);
  RunSpec run = RunOn(fleet);
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.capacity.usable(), Bytes(25'000'000'000));
  EXPECT_TRUE(plan.capacity.taken);
  EXPECT_THAT(NoteOf(plan, NoteKind::kNothingReserved).text, HasSubstr("Processes hold 55.88 GiB"));
  run.cluster.reserved_memory_bytes = 0;
  EXPECT_EQ(Planned(run).capacity.usable(), Bytes(85'000'000'000));
  EXPECT_FALSE(Planned(run).capacity.taken);
  run.cluster.reserved_memory_bytes = absl::nullopt;
  run.cluster.device.fleet->taken = Bytes(85'000'000'000);
  EXPECT_EQ(Planned(run).verdict(), Verdict::kDoesNotFit);
}

// Every device at 600 TFLOP/s, and one of them at 500.
TEST(FleetPlan, OneSlowDeviceSlowsTheStepDownAndIsNamed) {
  const Plan even = Planned(RunOn(FleetOf({Gpu("GPU-a", 600e12), Gpu("GPU-b", 600e12)})));
  const Plan slow = Planned(RunOn(FleetOf({Gpu("GPU-a", 600e12), Gpu("GPU-slow", 500e12)})));
  EXPECT_GT(StepSeconds(slow), 1.05 * StepSeconds(even));
  EXPECT_LT(StepSeconds(slow), 1.2 * StepSeconds(even));
  EXPECT_FALSE(even.whole_run.slowest.has_value());
  ASSERT_TRUE(slow.whole_run.slowest.has_value());
  EXPECT_EQ(slow.whole_run.slowest->device.uuid, "GPU-slow");
  EXPECT_EQ(slow.whole_run.slowest->hostname, "node7");
  EXPECT_NEAR(slow.whole_run.slowest->device.saved_share, 1 - StepSeconds(even) / StepSeconds(slow),
              1e-9);
  EXPECT_THAT(NoteOf(slow, NoteKind::kSlowestDevice).text,
              HasSubstr("All devices wait for GPU-slow on node7: "));
  EXPECT_THAT(NoteOf(slow, NoteKind::kSlowestDevice).text, HasSubstr(" USD."));
}

TEST(FleetPlan, TheMeasuredBoundIsOfTheSlowestSustainedRate) {
  // A plan's rates point into it.
  const RunSpec run = RunOn(FleetOf({Gpu("GPU-a", 600e12), Gpu("GPU-b", 550e12)}));
  const Plan plan = Planned(run);
  const auto rate = std::find_if(plan.rates.begin(), plan.rates.end(), [](const Rate& each) {
    return each.quantity == "matmul_flops_per_second";
  });
  ASSERT_NE(rate, plan.rates.end());
  EXPECT_DOUBLE_EQ(rate->value, 500e12);
  EXPECT_EQ(rate->source, RateSource::kMeasuredDevice);
  EXPECT_EQ(rate->measured->device_uuid, "GPU-b");
  EXPECT_EQ(rate->measured->unix_seconds, kMeasured);
  EXPECT_EQ(rate->citation,
            "sustained matmul rate; measured 2026-01-31T12:00:00Z by its host, by the fleet's "
            "metrics; the slowest of 16 devices");
}

TEST(FleetPlan, SaysWhoseRatesTheyAre) {
  const Plan plan = Planned(RunOn(FleetOf({Gpu("GPU-a", 600e12)})));
  EXPECT_EQ(NoteOf(plan, NoteKind::kFleetRates).text,
            "Rates are of the slowest of 16 devices on 2 hosts, by the fleet's metrics; the oldest "
            "measured 2026-01-31T12:00:00Z.");
  EXPECT_THAT(KindsOf(plan.notes), Not(Contains(NoteKind::kDevicesNotMeasured)));
  RunSpec larger = RunOn(FleetOf({Gpu("GPU-a", 600e12)}));
  larger.cluster.device_count = 32;
  EXPECT_EQ(NoteOf(Planned(larger), NoteKind::kDevicesNotMeasured).text,
            "Of 32 devices 16 were measured; the others are taken to be no slower.");
}

TEST(FleetPlan, TheMedianOfAProductIsNoDevice) {
  KnownRates usual = Gpu("", 620e12);
  usual.origin = "the fleet's hosts, the median of 12480 devices";
  FleetRates fleet = FleetOf({usual});
  fleet.source = RateSource::kMeasuredModel;
  fleet.device_count = 12480;
  fleet.host_count = 0;
  const Plan plan = Planned(RunOn(fleet));
  EXPECT_THAT(NoteOf(plan, NoteKind::kFleetRates).text,
              HasSubstr("Rates are the median of 12480 devices, by the fleet's metrics"));
  EXPECT_THAT(KindsOf(plan.notes), Not(Contains(NoteKind::kDevicesNotMeasured)));
  EXPECT_THAT(KindsOf(plan.notes), Not(Contains(NoteKind::kFleetUnread)));
  fleet.missing = "they have no series there";
  EXPECT_EQ(NoteOf(Planned(RunOn(fleet)), NoteKind::kFleetUnread).text,
            "No rates of these devices were read from the fleet's metrics: they have no series "
            "there; the fleet's median of h100-sxm stands in.");
}

// The plan is that of the product by its name, to the last digit.
TEST(FleetPlan, WithoutRatesThePublishedStandIn) {
  FleetRates nothing;
  nothing.missing = "Prometheus can't be reached (Connection)";
  const Plan plan = Planned(RunOn(nothing));
  RunSpec named = RunOn(nothing);
  named.cluster.device.fleet.reset();
  EXPECT_EQ(StepSeconds(plan), StepSeconds(Planned(named)));
  EXPECT_EQ(NoteOf(plan, NoteKind::kFleetUnread).text,
            "No rates of these devices were read from the fleet's metrics: Prometheus can't be "
            "reached (Connection); what is published of h100-sxm stands in.");
  EXPECT_TRUE(IsWarning(NoteKind::kFleetUnread));
}

TEST(FleetPlan, StaleRatesAreUsedAndTheirAgeIsSaid) {
  FleetRates fleet = FleetOf({Gpu("GPU-a", 600e12)});
  const double fresh = StepSeconds(Planned(RunOn(fleet)));
  fleet.unread_seconds = 340;
  fleet.failure = "Prometheus can't be reached (Connection)";
  const Plan plan = Planned(RunOn(fleet));
  EXPECT_EQ(StepSeconds(plan), fresh);
  EXPECT_EQ(NoteOf(plan, NoteKind::kFleetStale).text,
            "The fleet's rates are those of 340 seconds ago: Prometheus can't be reached "
            "(Connection).");
}

TEST(FleetPlan, DevicesWithWrongResultsAreNamed) {
  FleetRates fleet = FleetOf({Gpu("GPU-a", 600e12)});
  fleet.unhealthy = {"GPU-x", "GPU-y"};
  const Plan plan = Planned(RunOn(fleet));
  EXPECT_THAT(NoteOf(plan, NoteKind::kFleetDevicesUnhealthy).text, HasSubstr("GPU-x, GPU-y"));
}

TEST(FleetPlan, AnAgeLimitHoldsForTheOldest) {
  RunSpec run = RunOn(FleetOf({Gpu("GPU-a", 600e12)}));
  run.rate_requirement.maximum_age_seconds = 3600;
  EXPECT_THAT(PlanRun(run), IsOk());
  run.rate_requirement.maximum_age_seconds = 3599;
  const absl::Status status = PlanRun(run).status();
  EXPECT_EQ(ReasonOf(status), kRatesNotMeasured);
  EXPECT_EQ(PreconditionsOf(status).front().description,
            "the oldest measurement of these devices is of 2026-01-31T12:00:00Z, 3600 seconds ago, "
            "and rate_requirement.maximum_age is 3599 seconds: have their hosts measure again");
}

TEST(FleetPlan, ARequiredSourceIsMetByMeasurementsAlone) {
  RunSpec run = RunOn(FleetOf({Gpu("GPU-a", 600e12)}));
  run.rate_requirement.minimum_source = RateSource::kMeasuredDevice;
  EXPECT_THAT(PlanRun(run), IsOk());
  run.cluster.device.fleet = FleetRates();
  EXPECT_EQ(ReasonOf(PlanRun(run).status()), kRatesNotMeasured);
}

// Types of which the metrics have no rate follow the product's.
TEST(FleetPlan, RunsInOtherTypesAreTimed) {
  for (const DataType type : {DataType::kFp16, DataType::kFp32, DataType::kFp8E4m3}) {
    RunSpec run = RunOn(FleetOf({Gpu("GPU-a", 600e12), Gpu("GPU-b", 500e12)}));
    run.training.precision.compute_data_type = type;
    const Plan plan = Planned(run);
    EXPECT_GT(StepSeconds(plan), 0) << DataTypeName(type);
    EXPECT_NE(plan.estimate(EstimateKind::kMeasuredBound), nullptr) << DataTypeName(type);
  }
}

}  // namespace
}  // namespace sextant
