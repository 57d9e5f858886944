// The search against brute force: every layout of a space planned by PlanRun() alone.
#include "engine/search/layout_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/run/resolve.h"
#include "tests/engine/search/searched.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

// The layouts of a space, each planned by itself.
struct BruteForce {
  int64_t considered = 0;
  int64_t planned = 0;  // those that fit, or may
  double seconds = 0;   // of the fastest that fits
};

class Brute {
 public:
  explicit Brute(const RunSpec& run) : run_(run) { run_.options.search = SearchExtent::kNone; }

  BruteForce Add(const LayoutSpace& space) {
    ForEachLayout(space, [&](const LayoutChoice& choice, const Pruned*) {
      ++out_.considered;
      RunSpec run = run_;
      ApplyTo(choice, space.layer_count, run);
      const auto plan = PlanRun(run);
      if (!plan.ok() || !plan->step.has_value()) return true;
      if (plan->verdict() == Verdict::kDoesNotFit) return true;
      ++out_.planned;
      const double seconds = plan->step->estimate.seconds.expected.value();
      if (plan->verdict() == Verdict::kFits && (out_.seconds == 0 || seconds < out_.seconds)) {
        out_.seconds = seconds;
      }
      return true;
    });
    return out_;
  }

 private:
  RunSpec run_;
  BruteForce out_;
};

LayoutSpace SpaceFor(const RunSpec& run, bool offloads = false) {
  const auto resolved = Resolve(run, {});
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return SpaceOf(run, {.spec = *resolved->shape.architecture,
                       .parameter_count = resolved->parameters.all.total,
                       .weight_bytes_each = 2,
                       .node_devices = 8,
                       .usable = resolved->capacity.usable(),
                       .offloads = offloads});
}

// Searches layouts that offload too, if no other fits.
BruteForce BruteForceOf(const RunSpec& run) {
  Brute brute(run);
  BruteForce out = brute.Add(SpaceFor(run));
  const bool offloads = out.seconds == 0 && MayOffload(run);
  return offloads ? brute.Add(SpaceFor(run, /*offloads=*/true)) : out;
}

void ExpectBruteForce(const RunSpec& run, int64_t shards) {
  const SearchOutcome found = OutcomeOf(run, shards);
  const BruteForce brute = BruteForceOf(run);
  EXPECT_TRUE(found.exhaustive);
  EXPECT_EQ(found.considered, brute.considered);
  EXPECT_EQ(found.evaluated, brute.planned);
  EXPECT_EQ(found.evaluated + std::accumulate(found.pruned.begin(), found.pruned.end(), int64_t{0}),
            found.considered);
  ASSERT_EQ(found.best.empty(), brute.planned == 0);
  for (const std::vector<LayoutOption>* const listed : {&found.best, &found.front}) {
    for (const LayoutOption& option : *listed) {
      EXPECT_LT(option.step.low, option.step.expected);
      EXPECT_GT(option.step.high, option.step.expected);
    }
  }
  if (brute.seconds == 0) return;
  EXPECT_EQ(found.best.front().step.expected.value(), brute.seconds);
}

TEST(LayoutSearch, FindsWhatBruteForceFinds) {
  std::mt19937 random(11);
  const auto any = [&](auto list) { return *(list.begin() + random() % list.size()); };
  for (int i = 0; i < 240; ++i) {
    const auto preset = any(std::initializer_list<const char*>{
        "llama-3.1-8b", "llama-2-13b", "gpt3-6.7b", "qwen3-30b-a3b", "pythia-2.8b"});
    RunSpec run = RunOn(preset, any(std::initializer_list<int64_t>{4, 8, 16, 24}),
                        any(std::initializer_list<int64_t>{16, 48, 64}), 2048);
    run.layout->framework = {
        .kind = any(std::initializer_list<Framework>{Framework::kMegatronLm, Framework::kTorchtitan,
                                                     Framework::kDeepSpeed}),
        .named = true};
    // Keeps each space small enough to be planned one by one.
    if (random() % 8 != 0) run.training.recompute = RecomputePolicy::kNone;
    run.layout->context_parallel_size = 1;
    if (random() % 4 != 0) run.layout->micro_batch_size = 1 << (random() % 3);
    run.layout->sequence_parallel = random() % 2 == 0;
    if (run.layout->sequence_parallel == true) run.layout->parallel.tensor_parallel_size = 2;
    SCOPED_TRACE(absl::StrCat(i, ": ", preset));
    ExpectBruteForce(run, 1 + static_cast<int64_t>(random() % 7));
  }
}

// 32 query heads, 8 of keys and values: DeepSpeed copies these, Megatron-LM does not.
TEST(LayoutSearch, ExchangesHeadsThatDivide) {
  for (const Framework framework : {Framework::kDeepSpeed, Framework::kMegatronLm}) {
    RunSpec run = RunOn("llama-3.1-8b", 64, 64, 65536);
    run.layout->framework = {.kind = framework, .named = true};
    run.layout->context_parallel_kind = ContextParallelKind::kAllToAll;
    run.layout->parallel.tensor_parallel_size = 2;
    run.layout->parallel.pipeline_parallel_size = 1;
    run.layout->micro_batch_size = 1;
    const SearchOutcome found = OutcomeOf(run);
    ASSERT_FALSE(found.best.empty());
    ExpectBruteForce(run, 1);
    const int64_t most = framework == Framework::kDeepSpeed ? 16 : 4;
    for (const LayoutOption& option : found.best) EXPECT_LE(option.choice.context, most);
    for (const int64_t size : {4, 8, 16, 32}) {
      run.layout->context_parallel_size = size;
      EXPECT_EQ(OutcomeOf(run).best.empty(), size > most) << size;
    }
  }
}

// Models that fit few of such devices, or none, where their state does not leave them: the fastest
// that fits is of the layouts that offload.
TEST(LayoutSearch, OffloadsWhereNothingElseFits) {
  std::mt19937 random(12);
  const auto any = [&](auto list) { return *(list.begin() + random() % list.size()); };
  int offloaded = 0;
  int kept = 0;
  for (int i = 0; i < 60; ++i) {
    RunSpec run = RunOn(
        any(std::initializer_list<const char*>{"llama-3.1-8b", "llama-2-13b", "qwen3-30b-a3b"}),
        any(std::initializer_list<int64_t>{1, 2, 4, 8}), 16, 2048);
    run.layout->framework = {
        .kind = any(std::initializer_list<Framework>{Framework::kMegatronLm, Framework::kTorchtitan,
                                                     Framework::kDeepSpeed}),
        .named = random() % 4 != 0};
    run.cluster.device_memory_bytes =
        any(std::initializer_list<int64_t>{24, 40, 80}) * 1'000'000'000;
    run.cluster.host_memory_bytes =
        any(std::initializer_list<int64_t>{200, 800, 2000}) * 1'000'000'000;
    if (random() % 4 != 0) run.training.recompute = RecomputePolicy::kFull;
    run.layout->context_parallel_size = 1;
    run.layout->micro_batch_size = 1;
    SCOPED_TRACE(absl::StrCat(i, ": ", run.model.preset, " on ", run.cluster.device_count));
    ExpectBruteForce(run, 1 + static_cast<int64_t>(random() % 7));
    const SearchOutcome found = OutcomeOf(run);
    if (found.best.empty() || found.best.front().verdict != Verdict::kFits) continue;
    const bool away = found.best.front().choice.offload != Offload::kNone;
    (away ? offloaded : kept) += 1;
    for (const LayoutOption& option : found.front) {
      EXPECT_EQ(option.choice.offload != Offload::kNone, away);
    }
  }
  EXPECT_GT(offloaded, 8);
  EXPECT_GT(kept, 8);
}

// Where a rate of the host is missing, none offloads, and the plan says which.
TEST(LayoutSearch, SaysWhatKeepsItFromOffloading) {
  RunSpec run = RunOn("llama-2-13b", 2, 16, 2048);
  run.cluster.node_type = "hgx-h100";
  const SearchOutcome without = OutcomeOf(run);
  EXPECT_TRUE(without.best.empty());
  CallWork work;
  const auto searched = PlanBest(run, without, work);
  ASSERT_TRUE(searched.ok()) << searched.status();
  const Note& note = searched->plan.notes.back();
  EXPECT_EQ(note.kind, NoteKind::kHostLinkUnknown);
  EXPECT_THAT(note.fields, ElementsAre("cluster.host_memory_bytes_per_second"));
  run.cluster.host_memory_bytes_per_second = 600e9;
  run.cluster.host_memory_bytes = 2'000'000'000'000;
  const SearchOutcome with = OutcomeOf(run);
  ASSERT_FALSE(with.best.empty());
  EXPECT_EQ(with.best.front().choice.offload, Offload::kOptimizer);
  const auto plan = PlanBest(run, with, work);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->plan.step->estimate.seconds.expected, with.best.front().step.expected);
  EXPECT_GT(plan->plan.step->estimate.of(StepCause::kHostOptimizer), 0);
  // A run that says itself what it offloads is searched once.
  run.layout->sharding.offload_optimizer = true;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  EXPECT_FALSE(HasToOffload(run, {}));
  EXPECT_EQ(OutcomeOf(run).best.front().step.expected, with.best.front().step.expected);
}

bool AreSame(const LayoutOption& a, const LayoutOption& b) {
  return a.choice == b.choice && a.step.expected == b.step.expected &&
         a.process.expected == b.process.expected;
}

TEST(LayoutSearch, EveryDivisionFindsTheSame) {
  for (const SearchExtent extent : {SearchExtent::kExhaustive, SearchExtent::kBounded}) {
    const bool all = extent == SearchExtent::kExhaustive;
    RunSpec run = RunOn("llama-3.1-8b", all ? 64 : 1024, all ? 128 : 2048, 8192);
    run.options.search = extent;
    const SearchOutcome whole = OutcomeOf(run);
    EXPECT_EQ(whole.exhaustive, extent == SearchExtent::kExhaustive);
    ASSERT_EQ(whole.best.size(), kAlternatives);
    for (const int64_t shards : {2, 3, 16}) {
      const SearchOutcome merged = OutcomeOf(run, shards);
      EXPECT_EQ(merged.considered, whole.considered);
      EXPECT_EQ(merged.pruned, whole.pruned);
      EXPECT_EQ(merged.evaluated, whole.evaluated);
      EXPECT_TRUE(std::equal(merged.best.begin(), merged.best.end(), whole.best.begin(),
                             whole.best.end(), AreSame));
      EXPECT_TRUE(std::equal(merged.front.begin(), merged.front.end(), whole.front.begin(),
                             whole.front.end(), AreSame));
    }
  }
}

TEST(LayoutSearch, PruningChangesNothing) {
  const RunSpec run = RunOn("llama-3.1-8b", 16, 32, 8192);
  CallWork work;
  const auto all = SearchLayouts(run, {.times_all = true}, {}, work);
  ASSERT_TRUE(all.ok()) << all.status();
  const SearchOutcome pruned = OutcomeOf(run);
  EXPECT_EQ(all->considered, pruned.considered);
  EXPECT_EQ(all->evaluated, pruned.evaluated);
  EXPECT_TRUE(std::equal(all->best.begin(), all->best.end(), pruned.best.begin(), pruned.best.end(),
                         AreSame));
  EXPECT_TRUE(std::equal(all->front.begin(), all->front.end(), pruned.front.begin(),
                         pruned.front.end(), AreSame));
}

TEST(LayoutSearch, TheChosenLayoutsPlanIsTheSearchs) {
  for (const char* preset : {"llama-3.1-8b", "llama-3.1-70b", "qwen3-30b-a3b"}) {
    RunSpec run = RunOn(preset, 64, 128, 8192);
    run.options.search = SearchExtent::kBounded;
    CallWork work;
    const auto searched = PlanBest(run, OutcomeOf(run), work);
    ASSERT_TRUE(searched.ok()) << searched.status();
    const LayoutOption& best = searched->outcome.best.front();
    EXPECT_EQ(searched->plan.step->estimate.seconds.expected, best.step.expected);
    EXPECT_EQ(searched->plan.memory_estimate->peak().process.expected, best.process.expected);
    EXPECT_EQ(searched->plan.verdict(), best.verdict);
  }
}

TEST(LayoutSearch, TheFrontIsFasterWhereItIsLarger) {
  const SearchOutcome found = OutcomeOf(RunOn("llama-3.1-8b", 32, 64, 8192));
  ASSERT_GE(found.front.size(), 2u);
  EXPECT_TRUE(AreSame(found.front.front(), found.best.front()));
  for (size_t i = 1; i < found.front.size(); ++i) {
    EXPECT_GT(found.front[i].step.expected, found.front[i - 1].step.expected);
    EXPECT_LT(found.front[i].process.expected, found.front[i - 1].process.expected);
  }
}

TEST(LayoutSearch, KeepsWhatTheLayoutGives) {
  RunSpec run = RunOn("llama-3.1-8b", 64, 128, 8192);
  run.layout->parallel.tensor_parallel_size = 4;
  run.layout->micro_batch_size = 2;
  const SearchOutcome found = OutcomeOf(run);
  ASSERT_FALSE(found.best.empty());
  for (const LayoutOption& option : found.best) {
    EXPECT_EQ(option.choice.tensor, 4);
    EXPECT_EQ(option.choice.micro_batch, 2);
  }
}

TEST(LayoutSearch, WhereNothingFitsPlansTheSmallest) {
  RunSpec run = RunOn("llama-3.1-405b", 8, 8, 8192);
  CallWork work;
  SearchOutcome found = OutcomeOf(run);
  EXPECT_TRUE(found.best.empty());
  ASSERT_TRUE(found.smallest.has_value());
  const auto searched = PlanBest(run, std::move(found), work);
  ASSERT_TRUE(searched.ok()) << searched.status();
  EXPECT_EQ(searched->plan.verdict(), Verdict::kDoesNotFit);
}

// Each layout would be refused for it.
TEST(LayoutSearch, NamesAnUnknownSoftwareStack) {
  RunSpec run = RunOn("llama-3.1-8b", 8, 8, 8192);
  run.layout->software.name = "no_such_stack";
  CallWork work;
  EXPECT_THAT(SearchLayouts(run, {}, {}, work),
              NamesFields(std::vector<std::string>{"layout.software.name"}));
  // Whoever does not ask before is not let down.
  const SoftwareConstants constants =
      ConstantsOf(run.layout->software, nullptr, DeviceGeneration::kHopper);
  EXPECT_EQ(constants.stack->name, "generic");
}

TEST(LayoutSearch, SaysWhatItNeeds) {
  RunSpec run = RunOn("llama-3.1-8b", 8, 8, 8192);
  run.layout->global_batch_size.reset();
  run.training.sequence_length.reset();
  CallWork work;
  const auto found = SearchLayouts(run, {}, {}, work);
  ASSERT_FALSE(found.ok());
  const auto violations = FieldViolationsOf(found.status());
  const auto names = [&](absl::string_view field) {
    return std::any_of(violations.begin(), violations.end(),
                       [&](const FieldViolation& each) { return each.field == field; });
  };
  EXPECT_TRUE(names("layout.global_batch_size"));
  EXPECT_TRUE(names("training.sequence_length"));
}

std::vector<FieldViolation> ErrorsOf(const RunSpec& run) {
  CallWork work;
  return FieldViolationsOf(PlanBest(run, OutcomeOf(run), work).status());
}

// 24 devices: 4 x 4 ranks don't divide them, though each 4 does; 5 doesn't by itself.
TEST(LayoutSearch, NamesTheFieldsThatContradictEachOther) {
  RunSpec run = RunOn("llama-3.1-8b", 24, 48, 8192);
  run.layout->parallel.tensor_parallel_size = 4;
  run.layout->parallel.pipeline_parallel_size = 4;
  auto errors = ErrorsOf(run);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].field, "layout.parallel.tensor_parallel_size");
  EXPECT_THAT(errors[0].description,
              ::testing::HasSubstr("layout.parallel.pipeline_parallel_size 4"));
  run.layout->parallel.tensor_parallel_size = 5;
  errors = ErrorsOf(run);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].description, ::testing::HasSubstr("cluster.device_count"));
  // 24 data parallel ranks of one sequence at least, and 7 sequences.
  run.layout->parallel = {.tensor_parallel_size = 1, .pipeline_parallel_size = 1};
  run.layout->context_parallel_size = 1;
  run.layout->global_batch_size = 7;
  errors = ErrorsOf(run);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].field, "layout.global_batch_size");
}

TEST(LayoutSearch, SizesOutOfRangeAreRefusedAndThoseThatDivideNothingLeaveNoLayout) {
  for (const int64_t size : {int64_t{-8}, int64_t{0}, int64_t{3}, int64_t{1} << 32, INT64_MAX}) {
    RunSpec run = RunOn("llama-3.1-8b", 64, 128, 8192);
    run.layout->parallel.tensor_parallel_size = size;
    run.layout->parallel.pipeline_parallel_size = size;
    run.layout->parallel.expert_parallel_size = size;
    run.layout->context_parallel_size = size;
    run.layout->micro_batch_size = size;
    CallWork work;
    const auto found = SearchLayouts(run, {}, {}, work);
    EXPECT_EQ(found.ok(), size == 3) << found.status();
    if (!found.ok()) {
      for (const char* name : {"tensor", "pipeline", "expert"}) {
        const std::string field = absl::StrCat("layout.parallel.", name, "_parallel_size: ");
        EXPECT_THAT(found.status().message(), ::testing::HasSubstr(field));
      }
      continue;
    }
    EXPECT_EQ(found->evaluated, 0) << size;
    EXPECT_FALSE(PlanBest(run, *found, work).ok());
  }
}

// Polled once a layout at most: a stop ends the search at the next one.
TEST(LayoutSearch, EndsWhereItIsStopped) {
  int polls = 0;
  const auto stop = [&] { return ++polls > 2 ? absl::CancelledError("gone") : absl::OkStatus(); };
  CallWork work(stop);
  const auto found = SearchLayouts(RunOn("llama-3.1-8b", 64, 128, 8192), {}, {}, work);
  EXPECT_TRUE(absl::IsCancelled(found.status()));
  EXPECT_EQ(polls, 3);
}

}  // namespace
}  // namespace sextant
