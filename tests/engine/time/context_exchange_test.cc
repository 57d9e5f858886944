// Steps of runs whose context parallel ranks exchange heads, or pass keys and values in a ring.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine/hardware/links/link_times.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/time/planned_step.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// 40 layers of 40 heads of 128, sequences of 8,192 on 64 H100: CP8 DP8, 8 micro-batches.
RunSpec Llama13b() {
  RunSpec run = RunOnH100s("llama-2-13b", 64, 64, 8192);
  run.training.recompute_given = true;
  run.layout->context_parallel_size = 8;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.layout->framework = {.kind = Framework::kDeepSpeed, .named = true};
  return run;
}

// The same of another framework's ring, or exchange.
RunSpec Llama13b(ContextParallelKind kind) {
  RunSpec run = Llama13b();
  run.layout->framework = {.kind = Framework::kMegatronLm, .named = true};
  run.layout->context_parallel_kind = kind;
  return run;
}

StepEstimate ExchangedStepOf(const RunSpec& run) {
  return Planned(run).step.value_or(StepPlan()).estimate;
}
double ExchangeSecondsOf(const RunSpec& run) {
  return ExchangedStepOf(run).seconds.expected.value();
}
double ExchangeOf(const RunSpec& run) {
  return ExchangedStepOf(run).of(StepCause::kContextExchange);
}

constexpr auto kRing = ContextParallelKind::kRing;
constexpr auto kAllToAll = ContextParallelKind::kAllToAll;

// In each of 8 micro-batches and 40 layers: queries, keys, values and output of 1,024 tokens x
// 5,120 features in 16 bits among the 8 devices of a server, forward and backward; of Transformer
// Engine the output once more. Attention waits for all of them.
TEST(ContextExchange, OfHeadsShowsInFull) {
  const NodeType& node = **FindNodeType("dgx-h100");
  const auto network = ResolveNetwork(node, 8, {});
  ASSERT_THAT(network, IsOk());
  const LinkTimes links(&node, {ReferenceCollectives("h100-sxm")}, *network);
  const double each =
      links.TimeOf(CollectiveOp::kAllToAll, Bytes(2 * 1024 * 5120), {1, 8})->expected.value();
  EXPECT_NEAR(ExchangeOf(Llama13b()), 8 * 40 * 8 * each, 1e-9);
  EXPECT_NEAR(ExchangeOf(Llama13b(kAllToAll)), 8 * 40 * 9 * each, 1e-9);
}

TEST(ContextExchange, IsTheFrameworks) {
  for (int i = 0; i < kFrameworkCount; ++i) {
    const FrameworkTraits& traits = TraitsOf(static_cast<Framework>(i));
    EXPECT_EQ(traits.context_parallel_kind.value,
              traits.kind == Framework::kDeepSpeed ? kAllToAll : kRing)
        << traits.title;
  }
  RunSpec run = Llama13b(kRing);
  const double ring = ExchangeSecondsOf(run);
  run.layout->context_parallel_kind.reset();
  EXPECT_EQ(ExchangeSecondsOf(run), ring);
  run = Llama13b();
  const double exchanged = ExchangeSecondsOf(run);
  run.layout->context_parallel_kind = kAllToAll;
  EXPECT_EQ(ExchangeSecondsOf(run), exchanged);
}

// Long sequences hide a ring within a server, and no exchange of heads.
TEST(ContextExchange, OfLongSequencesIsLessInARing) {
  RunSpec ring = Llama13b(kRing);
  RunSpec heads = Llama13b(kAllToAll);
  ring.training.sequence_length = heads.training.sequence_length = 131072;
  EXPECT_EQ(ExchangeOf(ring), 0);
  EXPECT_GT(ExchangeOf(heads), 0);
  EXPECT_LT(ExchangeSecondsOf(ring), ExchangeSecondsOf(heads));
}

// With 32 heads on 32 ranks of four servers a ring sends 31 x 2 parts of N h / P, the exchanges of
// heads 31/32 of 4: over a slow network that decides, since little attention hides either.
TEST(ContextExchange, OfShortSequencesOverASlowNetworkIsLessOfHeads) {
  RunSpec run = Llama13b(kRing);
  run.model.preset = "llama-2-7b";
  run.cluster.node_type = "hgx-h100";
  run.cluster.network.bytes_per_second = 12.5e9;
  run.layout->context_parallel_size = 32;
  const double ring = ExchangeSecondsOf(run);
  EXPECT_GT(ExchangeOf(run), 0);
  run.layout->context_parallel_kind = kAllToAll;
  EXPECT_LT(ExchangeSecondsOf(run), ring);
}

TEST(ContextExchange, IsNeverSlowedByAFasterNetwork) {
  RunSpec run = Llama13b(kAllToAll);
  run.model.preset = "llama-2-7b";
  run.cluster.node_type = "hgx-h100";
  run.layout->context_parallel_size = 32;
  double before = 1e300;
  for (const double rate : {12.5e9, 25e9, 50e9, 100e9}) {
    run.cluster.network.bytes_per_second = rate;
    const double seconds = ExchangeSecondsOf(run);
    EXPECT_LT(seconds, before) << rate;
    before = seconds;
  }
}

TEST(ContextExchange, OfOneRankIsNothing) {
  RunSpec ring = Llama13b(kRing);
  RunSpec heads = Llama13b(kAllToAll);
  ring.layout->context_parallel_size = heads.layout->context_parallel_size = 1;
  EXPECT_EQ(ExchangeSecondsOf(ring), ExchangeSecondsOf(heads));
  EXPECT_EQ(ExchangeOf(heads), 0);
  EXPECT_EQ(Planned(ring).memory_estimate->peak().counted().value(),
            Planned(heads).memory_estimate->peak().counted().value());
}

// Each rank computes an eighth of what one computes of the whole sequence.
TEST(ContextExchange, RanksShareTheFlops) {
  RunSpec run = Llama13b();
  run.options.full = run.options.include_operations = true;
  const double shared = Planned(run).compute->stages[0].flops;
  run.layout->context_parallel_size = 1;
  EXPECT_NEAR(8 * shared / Planned(run).compute->stages[0].flops, 1, 1e-9);
}

void ExpectRefused(const RunSpec& run, absl::string_view field, absl::string_view why) {
  const absl::Status status = PlanRun(run).status();
  EXPECT_THAT(status, NamesFields(Contains(std::string(field)))) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(why)));
}

TEST(ContextExchange, RefusesWhatFrameworksDoNotHave) {
  constexpr char kField[] = "layout.context_parallel_kind";
  RunSpec run = Llama13b();
  run.layout->context_parallel_kind = kRing;
  ExpectRefused(run, kField, "whose context parallel ranks exchange heads");
  run.layout->context_parallel_size = 1;  // without effect
  EXPECT_THAT(PlanRun(run), IsOk());
  run = Llama13b(kAllToAll);
  run.layout->framework.kind = Framework::kTorchtitan;
  run.layout->zero_stage.reset();
  ExpectRefused(run, kField, "pass keys and values in a ring");
  // 8 heads of keys and values on 16 ranks are copied by DeepSpeed alone.
  run = Llama13b(kAllToAll);
  run.model.preset = "llama-3.1-8b";
  run.layout->context_parallel_size = 16;
  ExpectRefused(run, kField, "divides the key and value heads");
  run.layout->framework.kind = Framework::kDeepSpeed;
  EXPECT_THAT(PlanRun(run), IsOk());
  run.layout->framework = {};  // a default refuses nothing
  EXPECT_THAT(PlanRun(run), IsOk());
  // Queries of latent attention are wider than its values.
  run = Llama13b(kAllToAll);
  run.model.preset = "deepseek-v2";
  ExpectRefused(run, kField, "of one width");
  run.layout->context_parallel_kind = kRing;
  EXPECT_THAT(PlanRun(run), IsOk());
}

TEST(ContextExchange, RefusesHeadsThatDoNotDivide) {
  RunSpec run = Llama13b();
  run.layout->context_parallel_size = 16;  // of 40 heads
  ExpectRefused(run, "layout.context_parallel_size", "write 10");
  run.layout->context_parallel_size = std::numeric_limits<int64_t>::max();
  ExpectRefused(run, "layout.context_parallel_size", "must be 1 to 65536");
}

TEST(ContextExchange, AMeasuredStepIsOfItsKind) {
  RunSpec run = Llama13b(kAllToAll);
  run.measured_step = MeasuredStep{.seconds = 10, .layout = *run.layout};
  run.measured_step->layout.context_parallel_kind = kRing;
  EXPECT_FALSE(Planned(run).step->calibration->applied);
  run.measured_step->layout.context_parallel_kind = kAllToAll;
  EXPECT_TRUE(Planned(run).step->calibration->applied);
}

}  // namespace
}  // namespace sextant
