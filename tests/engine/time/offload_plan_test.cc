// Steps of whole runs whose state is in host memory, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/time/planned_step.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kParameters = 8'030'261'248;

// Eight H100 of one DGX, Llama-3 8B on eight data parallel ranks.
RunSpec Offloaded(Framework framework, ZeroStage stage) {
  RunSpec run = RunOnH100s("llama-3-8b", 8, 16, 8192);
  run.training.recompute = RecomputePolicy::kFull;
  run.training.recompute_given = true;
  run.layout->zero_stage = stage;
  run.layout->sharding.offload_optimizer = true;
  run.layout->framework = {.kind = framework, .named = true};
  run.options.full = true;
  return run;
}

double PartOf(const RunSpec& run, StepCause cause) {
  return Planned(run).step.value_or(StepPlan()).estimate.of(cause);
}

// A DGX H100's memory: 2 x 8 channels x 4.8e9 x 8 = 614.4 GB/s, half of it reached: 38.4 a device,
// less than the link's 0.82 of 63.
constexpr double kUpdateRate = 614.4e9 / 2;
constexpr double kCopyRate = kUpdateRate / 8;

TEST(OffloadPlan, MegatronsStepByHand) {
  const RunSpec run = Offloaded(Framework::kMegatronLm, ZeroStage::kOptimizer);
  // fp32 gradients there, bf16 weights back; 30 bytes a parameter on the host.
  EXPECT_NEAR(PartOf(run, StepCause::kHostCopy), kParameters / 8 * 6 / kCopyRate, 1e-9);
  EXPECT_NEAR(PartOf(run, StepCause::kHostOptimizer), kParameters * 30 / kUpdateRate, 1e-9);
}

TEST(OffloadPlan, DeepSpeedsStepByHand) {
  RunSpec run = Offloaded(Framework::kDeepSpeed, ZeroStage::kGradients);
  // Gradients in 16 bits are hidden; weights come back; 28 bytes a parameter and 4 to clip.
  EXPECT_NEAR(PartOf(run, StepCause::kHostCopy), kParameters / 8 * 2 / kCopyRate, 1e-9);
  EXPECT_NEAR(PartOf(run, StepCause::kHostOptimizer), kParameters * 32 / kUpdateRate, 1e-9);
}

TEST(OffloadPlan, FsdpsStepByHand) {
  RunSpec run = Offloaded(Framework::kTorchtitan, ZeroStage::kParameters);
  run.layout->sharding.offload_parameters = true;
  // fp32 weights, their own master: 28 bytes and 12 for norm and clipping; of two micro-batches the
  // second one's gradients wait, 4 bytes, and are added, 12.
  EXPECT_NEAR(PartOf(run, StepCause::kHostOptimizer), kParameters * 52 / kUpdateRate, 1e-9);
  EXPECT_NEAR(PartOf(run, StepCause::kHostCopy), kParameters / 8 * 4 / kCopyRate, 1e-9);
}

// One device has the host to itself: copies are the link's.
TEST(OffloadPlan, OneDeviceSharesTheHostWithNone) {
  RunSpec run = Offloaded(Framework::kMegatronLm, ZeroStage::kOptimizer);
  run.cluster.device_count = 1;
  EXPECT_NEAR(PartOf(run, StepCause::kHostCopy), kParameters * 6 / (0.82 * 63e9), 1e-9);
  run.cluster.host_link_bytes_per_second = 100e9;
  run.cluster.host_memory_bytes_per_second = 400e9;
  EXPECT_NEAR(PartOf(run, StepCause::kHostCopy), kParameters * 6 / 82e9, 1e-9);
  EXPECT_NEAR(PartOf(run, StepCause::kHostOptimizer), kParameters * 30 / 200e9, 1e-9);
}

// The rates are the answer's, once each and with their sources; without offloading they are not.
TEST(OffloadPlan, NamesTheHostsRates) {
  RunSpec run = Offloaded(Framework::kMegatronLm, ZeroStage::kOptimizer);
  const auto count = [](const Plan& plan, absl::string_view quantity) {
    int out = 0;
    for (const Rate& rate : plan.rates) out += rate.quantity == quantity ? 1 : 0;
    return out;
  };
  const Plan plan = Planned(run);
  EXPECT_EQ(count(plan, "host_copy_bytes_per_second"), 1);
  EXPECT_EQ(count(plan, "host_update_bytes_per_second"), 1);
  for (const Rate& rate : plan.rates) {
    if (rate.quantity != "host_update_bytes_per_second") continue;
    EXPECT_EQ(rate.value, kUpdateRate);
    EXPECT_EQ(rate.source, RateSource::kDatasheet);
    EXPECT_THAT(rate.citation, HasSubstr("host memory of a dgx-h100: 2 x Xeon 8480C"));
  }
  run.layout->sharding.offload_optimizer = false;
  EXPECT_EQ(count(Planned(run), "host_update_bytes_per_second"), 0);
  EXPECT_EQ(PartOf(run, StepCause::kHostOptimizer), 0);
}

TEST(OffloadPlan, SaysWhichRateIsMissing) {
  RunSpec run = Offloaded(Framework::kMegatronLm, ZeroStage::kOptimizer);
  run.cluster.node_type = "hgx-h100";  // sold with any processors
  const auto missing = [](const RunSpec& of) {
    const absl::StatusOr<Plan> plan = PlanRun(of);
    EXPECT_THAT(plan, IsOk());
    EXPECT_FALSE(plan.ok() && plan->step.has_value());
    for (const Note& note : plan.value_or(Plan()).notes) {
      if (note.kind == NoteKind::kStepNotPredicted) return note.fields;
    }
    return std::vector<std::string>();
  };
  EXPECT_THAT(missing(run), ElementsAre("cluster.host_memory_bytes_per_second"));
  run.cluster.host_memory_bytes_per_second = 600e9;
  EXPECT_GT(PartOf(run, StepCause::kHostOptimizer), 0);
  run.cluster.device.accelerator = "gb200";  // whose link to Grace is not known
  run.cluster.node_type = "";
  EXPECT_THAT(missing(run), ElementsAre("cluster.host_link_bytes_per_second"));
  run.cluster.host_link_bytes_per_second = 225e9;
  EXPECT_GT(PartOf(run, StepCause::kHostOptimizer), 0);
}

TEST(OffloadPlan, RefusesRatesOutOfRange) {
  for (const double rate : {0.0, -1.0, 9.9e5, 1e300, std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity()}) {
    RunSpec run = Offloaded(Framework::kMegatronLm, ZeroStage::kOptimizer);
    run.cluster.host_link_bytes_per_second = rate;
    run.cluster.host_memory_bytes_per_second = rate;
    EXPECT_THAT(PlanRun(run).status(),
                NamesFields(ElementsAre("cluster.host_link_bytes_per_second",
                                        "cluster.host_memory_bytes_per_second")))
        << rate;
  }
}

// The slowest and the fastest host that a request can have.
TEST(OffloadPlan, TheEndsOfTheRange) {
  RunSpec run = Offloaded(Framework::kTorchtitan, ZeroStage::kParameters);
  run.layout->sharding.offload_parameters = true;
  for (const auto& [link, memory] : {std::pair{1e6, 1e6}, {1e13, 1e15}, {1e6, 1e15}}) {
    run.cluster.host_link_bytes_per_second = link;
    run.cluster.host_memory_bytes_per_second = memory;
    const double seconds = Planned(run).step->estimate.seconds.expected.value();
    EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << link << " " << memory;
  }
}

// A step that offloads says nothing of one that does not.
TEST(OffloadPlan, AMeasuredStepIsOfItsOwnPlaceOfState) {
  RunSpec run = Offloaded(Framework::kMegatronLm, ZeroStage::kOptimizer);
  MeasuredStep& measured = run.measured_step.emplace();
  measured.seconds = 10;
  measured.layout = *run.layout;
  EXPECT_TRUE(Planned(run).step->calibration->applied);
  measured.layout.sharding.offload_optimizer = false;
  const Plan plan = Planned(run);
  EXPECT_FALSE(plan.step->calibration->applied);
  EXPECT_EQ(plan.step->calibration->factor, 1);
}

}  // namespace
}  // namespace sextant
