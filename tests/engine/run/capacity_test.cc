// The memory of a plan's devices and of their hosts: whose figure is taken, what of it can be used,
// and the verdict on the hosts'.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/run/plan.h"
#include "engine/run/resolve.h"
#include "tests/engine/run/h100_runs.h"
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

constexpr int64_t kGb = 1'000'000'000;
// Master weights and two moments in fp32, 12 bytes each of Llama 3.1 8B's 8,030,261,248 parameters.
constexpr double kStateBytes = 12 * 8'030'261'248.0;

// Llama 3.1 8B under Megatron-LM, whose gradients stay on the device.
RunSpec Llama8b(int64_t devices) {
  RunSpec run = RunOnH100s("llama-3.1-8b", devices, 8, 1024);
  run.layout->framework = {.kind = Framework::kMegatronLm, .named = true};
  return run;
}

// The same with its optimizer on the host of 8 H100s.
RunSpec Offloaded() {
  RunSpec run = Llama8b(8);
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.layout->sharding.offload_optimizer = true;
  return run;
}

HostServer ServerFor(const char* accelerator, const char* node_type) {
  RunSpec run = Offloaded();
  run.cluster.device.accelerator = accelerator;
  run.cluster.node_type = node_type;
  const auto resolved = Resolve(run, {});
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.ok() ? resolved->server : HostServer();
}

bool ChangesOffload(const FittingChange& change) {
  return std::any_of(change.settings.begin(), change.settings.end(), [](const auto& setting) {
    return setting.field == "layout.sharding.offload_optimizer";
  });
}

TEST(HostMemory, IsTheNodeTypesOfTheAccelerator) {
  EXPECT_EQ(ServerFor("a100-sxm-40", "dgx-a100").memory, Bytes(1000 * kGb));
  EXPECT_EQ(ServerFor("a100-sxm-80", "dgx-a100").memory, Bytes(2000 * kGb));
  EXPECT_EQ(ServerFor("h100-sxm", "dgx-h100").memory, Bytes(2000 * kGb));
  EXPECT_EQ(ServerFor("h100-sxm", "dgx-h100").name, "dgx-h100");
  EXPECT_EQ(ServerFor("h100-sxm", "hgx-h100").memory, absl::nullopt);
  // A tray of 4 devices: 2 Grace with 480 GB each.
  EXPECT_EQ(ServerFor("gb200", "gb200-nvl72").memory, Bytes(960 * kGb));
  EXPECT_EQ(ServerFor("gb200", "gb200-nvl72").device_count, 4);
}

TEST(HostMemory, IsTheRequestsWhereItIsGiven) {
  RunSpec run = Offloaded();
  run.cluster.host_memory_bytes = 512 * kGb;
  const MemoryEstimate memory = EstimateOf(run);
  EXPECT_EQ(memory.host.server.memory, Bytes(512 * kGb));
  EXPECT_EQ(memory.host.server.citation, "the request");
  EXPECT_EQ(memory.host.server.name, "dgx-h100");
}

TEST(HostMemory, HoldsWhatAllDevicesOfAServerOffload) {
  RunSpec run = Offloaded();
  EXPECT_NEAR(static_cast<double>(EstimateOf(run).host.need.value()), kStateBytes,
              1e-4 * kStateBytes);
  // Two servers, each with 8 of the 16 parts.
  run = Offloaded();
  run.cluster.device_count = 16;
  run.layout->global_batch_size = 16;
  EXPECT_NEAR(static_cast<double>(EstimateOf(run).host.need.value()), kStateBytes / 2,
              1e-4 * kStateBytes);
  run.layout->sharding.offload_optimizer = false;
  EXPECT_EQ(EstimateOf(run).host.need, Bytes(0));
}

TEST(HostMemory, MakesTheVerdictWorse) {
  RunSpec run = Offloaded();
  EXPECT_EQ(Planned(run).verdict(), Verdict::kFits);  // 96 GB of 2 TB
  run.cluster.host_memory_bytes = 100 * kGb;
  EXPECT_EQ(Planned(run).verdict(), Verdict::kTight);
  run.cluster.host_memory_bytes = 90 * kGb;
  EXPECT_EQ(Planned(run).verdict(), Verdict::kDoesNotFit);
  EXPECT_EQ(EstimateOf(run).fit_chance, 1);
  run.layout->sharding.offload_optimizer = false;
  EXPECT_EQ(Planned(run).verdict(), Verdict::kFits);
}

// Llama 2 70B's 69.0e9 parameters keep 16 bytes each, weights and gradients among them: 1.10 TB of
// 2, and more than the eighth that one device of eight has.
TEST(HostMemory, OfOtherDevicesMakesItTight) {
  RunSpec run = RunOnH100s("llama-2-70b", 1, 1, 1024);
  run.layout->framework = {.kind = Framework::kDeepSpeed, .named = true};
  run.layout->zero_stage = ZeroStage::kParameters;
  run.layout->sharding.offload_optimizer = true;
  run.layout->sharding.offload_parameters = true;
  run.training.recompute = RecomputePolicy::kFull;
  EXPECT_EQ(Planned(run).verdict(), Verdict::kTight);
  run.cluster.host_memory_bytes = 2000 * kGb;
  EXPECT_EQ(Planned(run).verdict(), Verdict::kFits);
}

TEST(HostMemory, MakesItTightWhereItIsNotKnown) {
  RunSpec run = Offloaded();
  run.cluster.node_type = "hgx-h100";
  const MemoryEstimate memory = EstimateOf(run);
  EXPECT_EQ(memory.verdict, Verdict::kTight);
  EXPECT_EQ(memory.changes_considered, 0);  // no change tells what the host has
  run.layout->sharding.offload_optimizer = false;
  EXPECT_EQ(Planned(run).verdict(), Verdict::kFits);
}

// State of 16 bytes a parameter is 128 GB of an H100's 80.
TEST(HostMemory, OffersNoChangeThatItDoesNotHold) {
  RunSpec run = Llama8b(1);
  const MemoryEstimate held = EstimateOf(run);
  EXPECT_EQ(held.verdict, Verdict::kDoesNotFit);
  const auto found = std::find_if(held.changes.begin(), held.changes.end(), ChangesOffload);
  ASSERT_NE(found, held.changes.end());
  EXPECT_NEAR(static_cast<double>(found->host.value()), kStateBytes, 1e-4 * kStateBytes);
  const auto offers = [&run] {
    const MemoryEstimate memory = EstimateOf(run);
    return std::any_of(memory.changes.begin(), memory.changes.end(), ChangesOffload);
  };
  run.cluster.host_memory_bytes = 121 * kGb;  // 96.4 GB are 0.796 of it
  EXPECT_TRUE(offers());
  run.cluster.host_memory_bytes = 120 * kGb;  // 0.803
  EXPECT_FALSE(offers());
  run.cluster.host_memory_bytes = absl::nullopt;
  run.cluster.node_type = "hgx-h100";
  EXPECT_FALSE(offers());
}

}  // namespace
}  // namespace sextant
