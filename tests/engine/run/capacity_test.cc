// The memory of a plan's devices: whose figure is taken, and what of it can be used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

// 81,559 MiB and 480 MiB of 2^20 bytes.
constexpr Bytes kH100(85'520'809'984);
constexpr Bytes kH100Reserved(503'316'480);

// `accelerator` outlives the run.
RunSpec RunOn(absl::string_view accelerator) {
  RunSpec run;
  run.model.parameter_count = 1'000'000'000;
  run.training.token_count = 20'000'000'000;
  run.cluster.device.accelerator = accelerator;
  run.cluster.device_count = 8;
  return run;
}

Rate MemoryRate(const Plan& plan) { return RateOf(plan, "memory_bytes"); }

TEST(Capacity, OfAnUnmeasuredProductIsWhatItsDriverReports) {
  const Plan plan = Planned(RunOn("h100-sxm"));
  EXPECT_EQ(plan.capacity.source, CapacitySource::kReported);
  EXPECT_EQ(plan.capacity.capacity, kH100);
  EXPECT_EQ(plan.capacity.reported, kH100);
  EXPECT_EQ(plan.capacity.nominal, Bytes(80'000'000'000));
  EXPECT_EQ(plan.capacity.driver_reserved, kH100Reserved);
  EXPECT_EQ(plan.capacity.usable(), Bytes(85'017'493'504));  // 79.18 GiB
  EXPECT_EQ(MemoryRate(plan).value, 85'520'809'984.0);
  EXPECT_EQ(MemoryRate(plan).source, RateSource::kReference);
  EXPECT_THAT(MemoryRate(plan).citation, HasSubstr("k8s-test-infra"));
}

TEST(Capacity, OfADriverIsNotedWithItsReserve) {
  const Plan plan = Planned(RunOn("h100-sxm"));
  const Note note = NoteOf(plan, NoteKind::kDeviceCapacity);
  EXPECT_THAT(note.text, AllOf(HasSubstr("85520809984 bytes"), HasSubstr("less 503316480")));
  EXPECT_THAT(note.values, ElementsAre(NoteValue{"capacity_bytes", 85520809984},
                                       NoteValue{"driver_reserved_bytes", 503316480}));
  EXPECT_THAT(KindsOf(plan.notes), Not(Contains(NoteKind::kCapacityNominal)));
  // HIP's total of an MI210 is its driver's.
  RunSpec mi210 = RunOn("mi210");
  EXPECT_EQ(Planned(mi210).capacity.usable(), Bytes(68'702'699'520));
  EXPECT_THAT(NoteOf(Planned(mi210), NoteKind::kDeviceCapacity).text, Not(HasSubstr("less")));
}

// No public report of a TPU's driver is known.
TEST(Capacity, WithoutADriversFigureIsNominalAndSaysSo) {
  const Plan plan = Planned(RunOn("tpu-v5p"));
  EXPECT_EQ(plan.capacity.source, CapacitySource::kNominal);
  EXPECT_EQ(plan.capacity.usable(), Bytes(95'000'000'000));
  EXPECT_EQ(plan.capacity.driver_reserved, Bytes(0));
  EXPECT_FALSE(plan.capacity.reported.has_value());
  EXPECT_EQ(MemoryRate(plan).source, RateSource::kDatasheet);
  const Note note = NoteOf(plan, NoteKind::kCapacityNominal);
  EXPECT_THAT(note.text, AllOf(HasSubstr("1e9 bytes"), HasSubstr("no figure of its driver")));
  EXPECT_THAT(note.values, ElementsAre(NoteValue{"capacity_bytes", 95e9}));
  EXPECT_THAT(note.fields, ElementsAre("cluster.device_memory_bytes"));
  EXPECT_THAT(KindsOf(plan.notes), Not(Contains(NoteKind::kDeviceCapacity)));
}

// A calibration has CUDA's total, of which the driver keeps nothing more.
TEST(Capacity, OfAMeasuredDeviceIsItsOwnReport) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  ChangeCalibration(run.cluster.device.calibrations[0],
                    [](auto& c) { c.memory = Bytes(84'900'000'000); });
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.capacity.source, CapacitySource::kReported);
  EXPECT_EQ(plan.capacity.reported, Bytes(84'900'000'000));
  EXPECT_EQ(plan.capacity.driver_reserved, Bytes(0));
  EXPECT_EQ(plan.capacity.usable(), Bytes(84'900'000'000));
  EXPECT_EQ(MemoryRate(plan).source, RateSource::kMeasuredSupplied);
}

TEST(Capacity, OfAProcessorIsItsHosts) {
  const RunSpec run = SuppliedRun(Processor("CPU-1"));
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.capacity.source, CapacitySource::kReported);
  EXPECT_EQ(plan.capacity.usable(), Bytes(64'000'000'000));
  EXPECT_FALSE(plan.capacity.nominal.has_value());
}

// The caller's figure is what a process can use.
TEST(Capacity, OfTheRequestComesFirstAndIsUsedInFull) {
  for (RunSpec run : {RunOn("h100-sxm"), SuppliedRun(MeasuredH100("GPU-1"))}) {
    run.cluster.device_memory_bytes = 85'000'000'000;
    const Plan plan = Planned(run);
    EXPECT_EQ(plan.capacity.source, CapacitySource::kRequest);
    EXPECT_EQ(plan.capacity.usable(), Bytes(85'000'000'000));
    EXPECT_EQ(plan.capacity.driver_reserved, Bytes(0));
    EXPECT_TRUE(plan.capacity.reported.has_value());
    EXPECT_EQ(plan.capacity.nominal, Bytes(80'000'000'000));
    EXPECT_THAT(KindsOf(plan.notes), AllOf(Not(Contains(NoteKind::kDeviceCapacity)),
                                           Not(Contains(NoteKind::kCapacityNominal))));
  }
}

// Both reserves are subtracted, and may not be all that there is.
TEST(Capacity, OfADriverLessTheRequestsReserve) {
  RunSpec run = RunOn("h100-sxm");
  run.cluster.reserved_memory_bytes = 5'000'000'000;
  EXPECT_EQ(Planned(run).capacity.usable(), Bytes(80'017'493'504));
  run.cluster.reserved_memory_bytes = 85'017'493'503;
  EXPECT_EQ(Planned(run).capacity.usable(), Bytes(1));
  run.cluster.reserved_memory_bytes = 85'017'493'504;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("cluster.reserved_memory_bytes")));
}

}  // namespace
}  // namespace sextant
