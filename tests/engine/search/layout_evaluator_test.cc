// Progress of a running search, its dimension of kernels, its framework, and layouts evaluated one
// after another, with all that is kept between them, against PlanRun() of each by itself.
#include "engine/search/layout_evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/search/searched.h"

namespace sextant {
namespace {

RunSpec With(RunSpec run, Framework framework) {
  run.layout->framework = {.kind = framework, .named = true};
  return run;
}

// With a step of TP2 that took longer than predicted.
RunSpec Measured() {
  RunSpec run = With(RunOnH100s("llama-3.1-8b", 16, 64), Framework::kMegatronLm);
  MeasuredStep& measured = run.measured_step.emplace();
  measured.seconds = 12;
  measured.layout = *run.layout;
  measured.layout.parallel.tensor_parallel_size = 2;
  measured.layout.zero_stage = ZeroStage::kOptimizer;
  return run;
}

std::vector<RunSpec> Runs() {
  RunSpec unfused = RunOnH100s("gpt3-6.7b", 16, 64);  // of no framework
  unfused.training.sequence_length = 2048;
  unfused.layout->attention = AttentionKernel::kUnfused;
  unfused.options.tensor_across_nodes = true;
  RunSpec kernels = RunOnH100s("gpt3-6.7b", 16, 64);
  kernels.training.sequence_length = 2048;
  kernels.options.search_kernels = true;
  RunSpec narrow = With(RunOnH100s("deepseek-v2-lite", 32, 128), Framework::kMegatronBridge);
  narrow.training.precision.compute_data_type = DataType::kFp8E4m3;
  // With an overlap under DualPipe alone; the framework has all schedules.
  RunSpec overlapped = With(RunOnH100s("mixtral-8x7b", 32, 128), Framework::kPytorchFsdp);
  overlapped.layout->software.name = "deepseek";
  // ZeRO stage 3 on one data parallel rank and on several.
  RunSpec divided = RunOnH100s("llama-2-7b", 16, 64);
  divided.layout->zero_stage = ZeroStage::kParameters;
  // Kernels, and a part that is recomputed, of the run; what else is recomputed is searched.
  RunSpec parts = With(RunOnH100s("gpt3-6.7b", 32, 128), Framework::kMegatronLm);
  parts.training.sequence_length = 2048;
  parts.layout->attention = AttentionKernel::kUnfused;
  parts.layout->kernels.dropout = true;
  parts.layout->kernels.recomputation.norm_outputs = true;
  // The residual is in fp32 where weights are not divided.
  RunSpec wide = With(RunOnH100s("llama-3.2-1b", 8, 64), Framework::kHuggingFaceTrainer);
  wide.training.optimizer.loop = OptimizerLoop::kFused;
  return {With(RunOnH100s("llama-3.1-8b", 24, 96), Framework::kMegatronLm),
          divided,
          With(RunOnH100s("llama-3.1-8b", 32, 128), Framework::kTorchtitan),
          With(RunOnH100s("pythia-2.8b", 8, 64), Framework::kDeepSpeed),
          wide,
          With(RunOnH100s("qwen3-30b-a3b", 32, 64), Framework::kMegatronLm),
          unfused,
          kernels,
          narrow,
          overlapped,
          Measured(),
          parts};
}

// GPT-3 175B on 64 A100s, of no framework, with tensor parallel groups of several servers.
RunSpec CaseA() {
  RunSpec run = RunOnH100s("gpt3-175b", 64, 64);
  run.training.sequence_length = 2048;
  run.cluster.device.accelerator = "a100-sxm-80";
  run.cluster.node_type = "dgx-a100";
  run.options.tensor_across_nodes = true;
  run.layout->attention = AttentionKernel::kUnfused;
  return run;
}

// A search looks up the host's rates, which layouts may need.
RunSpec Searched(RunSpec run) {
  run.options.search = SearchExtent::kExhaustive;
  return run;
}

// Fits, or may, unless `all` are timed.
bool IsTimed(const absl::StatusOr<Plan>& plan, bool all) {
  return plan.ok() && plan->step.has_value() && (all || plan->verdict() != Verdict::kDoesNotFit);
}

class Comparison {
 public:
  Comparison(const RunSpec& run, bool offloads) : run_(run), evaluator_(Searched(run), work_) {
    EXPECT_TRUE(evaluator_.Prepare({}, offloads).ok());
  }

  // Every layout that counting leaves.
  std::vector<LayoutChoice> Choices() const {
    std::vector<LayoutChoice> out;
    ForEachLayout(evaluator_.space(), [&out](const LayoutChoice& choice, const Pruned* pruned) {
      if (pruned == nullptr) out.push_back(choice);
      return true;
    });
    return out;
  }

  // Returns true where both have a time, which is the same to the last digit, and so is memory.
  bool Compare(const LayoutChoice& choice, bool times_all = false) {
    const int64_t layers = evaluator_.space().layer_count;
    auto option = evaluator_.Evaluate(choice, times_all);
    if (option.ok() && option->has_value()) evaluator_.Complete(**option);
    RunSpec run = run_;
    ApplyTo(choice, layers, run);
    const auto plan = PlanRun(run);
    EXPECT_TRUE(option.ok());
    const bool timed = option.ok() && option->has_value() &&
                       (times_all || (*option)->verdict != Verdict::kDoesNotFit);
    EXPECT_EQ(timed, IsTimed(plan, times_all)) << plan.status();
    if (!timed || !IsTimed(plan, times_all)) return false;
    SCOPED_TRACE(absl::StrCat(
        "tp ", choice.tensor, " pp ", choice.pipeline, " vpp ", choice.virtual_stages, " cp ",
        choice.context, " ep ", choice.expert, " mbs ", choice.micro_batch, " zero ",
        static_cast<int>(choice.zero_stage), " stays ", choice.stays_gathered, " offload ",
        static_cast<int>(choice.offload), " policy ", static_cast<int>(choice.recompute.policy),
        " by ", choice.recompute.layers_per_block));
    const SecondsInterval& step = plan->step->estimate.seconds;
    EXPECT_EQ((*option)->step.expected, step.expected);
    EXPECT_EQ((*option)->step.low, step.low);
    EXPECT_EQ((*option)->step.high, step.high);
    const BytesInterval& process = plan->memory_estimate->peak().process;
    EXPECT_EQ((*option)->process.expected, process.expected);
    EXPECT_EQ((*option)->process.low, process.low);
    EXPECT_EQ((*option)->process.high, process.high);
    return true;
  }

 private:
  const RunSpec run_;
  CallWork work_;
  LayoutEvaluator evaluator_;
};

// 200 layouts in a row, as a search comes by them, and 200 from all over the space; returns how
// many have a time.
int TimedOf(const RunSpec& run, bool offloads, std::mt19937& random) {
  Comparison comparison(run, offloads);
  std::vector<LayoutChoice> choices = comparison.Choices();
  EXPECT_GT(choices.size(), 400u);
  if (choices.size() <= 400) return 0;
  const size_t first = random() % (choices.size() - 200);
  std::vector<LayoutChoice> sample(choices.begin() + static_cast<ptrdiff_t>(first),
                                   choices.begin() + static_cast<ptrdiff_t>(first + 200));
  std::shuffle(choices.begin(), choices.end(), random);
  sample.insert(sample.end(), choices.begin(), choices.begin() + 200);
  int timed = 0;
  for (const LayoutChoice& choice : sample) timed += comparison.Compare(choice) ? 1 : 0;
  return timed;
}

TEST(LayoutEvaluator, EvaluatesAsAPlanDoes) {
  std::mt19937 random(5);
  int timed = 0;
  int number = 0;
  for (const RunSpec& run : Runs()) {
    SCOPED_TRACE(absl::StrCat("run ", number++));
    timed += TimedOf(run, /*offloads=*/false, random);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(timed, 1000);
}

TEST(LayoutEvaluator, EvaluatesOffloadedLayoutsAsAPlanDoes) {
  std::mt19937 random(6);
  int timed = 0;
  int number = 0;
  for (const RunSpec& run : Runs()) {
    SCOPED_TRACE(absl::StrCat("run ", number++));
    timed += TimedOf(run, /*offloads=*/true, random);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GT(timed, 1000);
}

// 1,000 from all over the space, in its order, timed where they don't fit, too. Of a space that has
// the kernels of the loss as a dimension.
TEST(LayoutEvaluator, EvaluatesCaseAAsAPlanDoes) {
  std::mt19937 random(6);
  RunSpec run = CaseA();
  run.options.search_kernels = true;
  Comparison comparison(run, /*offloads=*/false);
  const std::vector<LayoutChoice> choices = comparison.Choices();
  std::vector<LayoutChoice> sample;
  std::sample(choices.begin(), choices.end(), std::back_inserter(sample), 1000, random);
  int timed = 0;
  for (const LayoutChoice& choice : sample) timed += comparison.Compare(choice, true) ? 1 : 0;
  EXPECT_GT(timed, 900);
}

// The dimension of kernels: one space is the spaces of all kernels, each given, and finds their
// best. A framework that is not named restricts it likewise.
TEST(LayoutSearch, SearchesKernelsAsTheSearchesOfEachDo) {
  RunSpec run = RunOn("gpt3-6.7b", 16, 32, 2048);
  for (const bool named : {false, true}) {
    run.layout->framework = {.kind = Framework::kMegatronBridge, .named = named};
    run.options.search_kernels = true;
    const SearchOutcome all = OutcomeOf(run, 3);
    run.options.search_kernels = false;
    SearchOutcome each;
    using enum LossKind;
    for (const LossKind loss : {kVocabularyParallel, kFused}) {
      RunSpec one = run;
      one.layout->loss = loss;
      Merge(OutcomeOf(one), each);
    }
    EXPECT_EQ(all.considered, each.considered);
    EXPECT_EQ(all.evaluated, each.evaluated);
    EXPECT_EQ(all.pruned, each.pruned);
    ASSERT_FALSE(all.best.empty());
    EXPECT_EQ(all.best.front().step.expected, each.best.front().step.expected);
    EXPECT_EQ(all.front.size(), each.front.size());
  }
}

// No framework is Megatron-LM: the same layouts are looked at, and the same is found.
TEST(LayoutSearch, TakesTheDefaultFrameworkAsIfItWereNamed) {
  for (const bool kernels : {false, true}) {
    for (const char* const preset : {"llama-3.1-70b", "qwen3-30b-a3b"}) {
      RunSpec run = RunOn(preset, 64, 128, 8192);
      run.options.search = SearchExtent::kBounded;
      run.options.search_kernels = kernels;
      const SearchOutcome named = OutcomeOf(run);
      run.layout->framework = {};
      const SearchOutcome open = OutcomeOf(run);
      EXPECT_EQ(open.considered, named.considered) << preset;
      EXPECT_EQ(open.pruned, named.pruned) << preset;
      ASSERT_FALSE(named.best.empty());
      ASSERT_FALSE(open.best.empty());
      EXPECT_EQ(open.best.front().step.expected, named.best.front().step.expected) << preset;
      EXPECT_EQ(open.best.front().process.expected, named.best.front().process.expected) << preset;
    }
  }
}

// Megatron-LM, the default, has no DualPipe: it refuses that only where it is named. All else is
// its own: it divides at most the optimizer's state under a pipeline.
TEST(LayoutSearch, KeepsTheScheduleThatIsGiven) {
  RunSpec run = RunOn("qwen3-30b-a3b", 32, 512, 4096);
  run.layout->framework = {};
  run.layout->schedule = PipelineSchedule::kDualPipe;
  run.layout->parallel.pipeline_parallel_size = 4;
  const SearchOutcome found = OutcomeOf(run);
  ASSERT_FALSE(found.best.empty());
  for (const LayoutOption& option : found.best) {
    EXPECT_EQ(option.choice.schedule, PipelineSchedule::kDualPipe);
    EXPECT_LE(option.choice.zero_stage, ZeroStage::kOptimizer);
  }
  run.layout->framework.named = true;
  EXPECT_TRUE(OutcomeOf(run).best.empty());
}

// Progress reports count up to the layouts of the final outcome, less the last block, and have the
// best layout so far.
TEST(LayoutSearch, SaysHowFarItHasCome) {
  for (const SearchExtent extent : {SearchExtent::kBounded, SearchExtent::kExhaustive}) {
    RunSpec run = RunOn("llama-3.1-8b", 64, 128, 8192);
    run.options.search = extent;
    std::vector<SearchProgress> told;
    CallWork work;
    const auto watched = SearchLayouts(
        run, {}, {}, work, [&told](const SearchProgress& progress) { told.push_back(progress); });
    ASSERT_TRUE(watched.ok()) << watched.status();
    const SearchOutcome alone = OutcomeOf(run);
    EXPECT_EQ(watched->evaluated, alone.evaluated);
    EXPECT_EQ(watched->best.front().choice, alone.best.front().choice);
    const int64_t searched = ProgressOf(alone).searched;
    ASSERT_EQ(told.size(), static_cast<size_t>(searched / 1024));
    for (size_t i = 0; i < told.size(); ++i) {
      EXPECT_EQ(told[i].searched, static_cast<int64_t>(i) * 1024 + 1023);
      EXPECT_EQ(told[i].to_search, searched);
      if (i == 0 || !told[i - 1].best.has_value()) continue;
      ASSERT_TRUE(told[i].best.has_value());
      EXPECT_FALSE(IsBetter(*told[i - 1].best, *told[i].best));
    }
    EXPECT_EQ(told.back().layer_count, 32);
  }
}

// 12 bytes each of 13.0e9 parameters are 156 GB: 0.78 of 200 GB, 0.87 of 180, too much for 150.
TEST(LayoutSearch, FindsNoLayoutThatTheHostDoesNotHold) {
  RunSpec run = RunOn("llama-2-13b", 2, 16, 2048);
  run.cluster.host_memory_bytes = 200'000'000'000;
  const SearchOutcome held = OutcomeOf(run);
  ASSERT_FALSE(held.best.empty());
  EXPECT_EQ(held.best.front().verdict, Verdict::kFits);
  run.cluster.host_memory_bytes = 180'000'000'000;
  const SearchOutcome tight = OutcomeOf(run);
  ASSERT_FALSE(tight.best.empty());
  EXPECT_EQ(tight.best.front().verdict, Verdict::kTight);
  EXPECT_TRUE(tight.front.empty());
  run.cluster.host_memory_bytes = 150'000'000'000;
  EXPECT_TRUE(OutcomeOf(run).best.empty());
}

// A step that need not be timed to its end is given no longer than it is, and is timed where the
// layout is asked for again.
TEST(LayoutEvaluator, BoundsStepsFromBelow) {
  int bounded = 0;
  for (const RunSpec& run : Runs()) {
    CallWork work;
    LayoutEvaluator evaluator(Searched(run), work);
    ASSERT_TRUE(evaluator.Prepare({}).ok());
    LayoutEvaluator exact(Searched(run), work);
    ASSERT_TRUE(exact.Prepare({}).ok());
    int64_t index = 0;
    ForEachLayout(evaluator.space(), [&](const LayoutChoice& choice, const Pruned* pruned) {
      if (pruned != nullptr || index++ % 29 != 0) return true;
      const auto least = evaluator.EvaluateWithin(choice, /*times_all=*/false,
                                                  [](const LayoutOption&) { return 0.0; });
      const auto again = evaluator.Evaluate(choice);
      const auto alone = exact.Evaluate(choice);
      if (!least.ok() || !again.ok() || !alone.ok() || !alone->has_value()) return true;
      const Seconds step = (*alone)->step.expected;
      EXPECT_EQ((*again)->step.expected, step);
      EXPECT_LE((*least)->step.expected, step);
      EXPECT_EQ((*least)->verdict, (*alone)->verdict);
      bounded += (*least)->step.expected < step;
      return true;
    });
  }
  EXPECT_GT(bounded, 100);
}

}  // namespace
}  // namespace sextant
