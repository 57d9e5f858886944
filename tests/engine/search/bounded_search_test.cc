// A bounded search against the exhaustive one, on questions of all kinds. Prints a line for each:
// docs/search.md, "Bounded against exhaustive", has them.
#include "engine/search/bounded_search.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <vector>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/engine/search/searched.h"

namespace sextant {
namespace {

struct Question {
  const char* model = "";
  int64_t devices = 8;
  int64_t sequences = 64;
  int64_t length = 4096;
  Framework framework = Framework::kMegatronLm;
  bool named = true;      // false: of no framework
  bool adapters = false;  // adapters
  bool fp8 = false;
  bool kernels = false;  // of attention and loss are open, too
};

constexpr Question kQuestions[] = {
    // Dense.
    {"llama-3.1-8b", 8, 64, 4096},
    {"llama-3.1-8b", 64, 128, 4096},
    {"llama-3.1-8b", 512, 1024, 8192},
    {"gpt3-6.7b", 128, 512, 2048},
    {"gpt3-175b", 64, 64, 2048},
    {"gpt3-175b", 1024, 1536, 2048},
    {"llama-3.1-70b", 64, 128, 8192},
    {"llama-3.1-70b", 512, 512, 8192},
    {"llama-3.1-70b", 4096, 2048, 8192},
    {"llama-3.1-405b", 16384, 2048, 8192},
    {"llama-3.1-405b", 98304, 12288, 8192},
    // Frameworks.
    {"llama-3.1-8b", 64, 128, 8192, Framework::kTorchtitan},
    {"llama-3.1-70b", 256, 512, 8192, Framework::kTorchtitan},
    {"llama-2-13b", 64, 256, 4096, Framework::kDeepSpeed},
    {"llama-3.1-8b", 32, 128, 4096, Framework::kMegatronLm, false},
    {"llama-3.1-70b", 128, 256, 8192, Framework::kMegatronBridge},
    {.model = "gpt3-6.7b", .devices = 32, .length = 2048, .named = false, .kernels = true},
    // Long sequences.
    {"llama-3.1-8b", 128, 64, 131072},
    {"llama-3.1-70b", 1024, 128, 131072},
    // Adapters.
    {"llama-3.1-8b", 8, 64, 4096, Framework::kTorchtitan, true, true},
    {"llama-3.1-70b", 64, 64, 4096, Framework::kMegatronLm, true, true},
    // Mixtures of experts.
    {"mixtral-8x7b", 64, 256, 4096},
    {"mixtral-8x22b", 256, 512, 8192},
    {"qwen3-30b-a3b", 64, 512, 4096},
    {"gpt-oss-120b", 128, 512, 4096},
    {"qwen3-235b-a22b", 512, 1024, 4096},
    {"llama-4-scout", 256, 512, 8192},
    {"llama-4-maverick", 1024, 2048, 8192},
    // With latent attention.
    {"deepseek-v2-lite", 32, 256, 4096},
    {"deepseek-v2", 512, 2048, 4096},
    {"deepseek-v3", 2048, 15360, 4096, Framework::kMegatronBridge},
    {.model = "deepseek-v3",
     .devices = 2048,
     .sequences = 15360,
     .framework = Framework::kMegatronBridge,
     .fp8 = true},
    {"kimi-k2", 2048, 8192, 4096, Framework::kMegatronBridge},
    {"kimi-k2", 98304, 98304, 4096, Framework::kMegatronBridge},
};

RunSpec RunOf(const Question& question, SearchExtent extent) {
  RunSpec run = RunOn(question.model, question.devices, question.sequences, question.length);
  run.options.search = extent;
  run.layout->framework = {};
  if (question.named) run.layout->framework = {.kind = question.framework, .named = true};
  if (question.adapters) {
    run.model.changes.base_frozen = true;
    run.model.changes.adapters =
        AdapterSpec{.rank = 16, .targets = {{"attention", "query"}, {"attention", "value"}}};
  }
  if (question.fp8) run.training.precision.compute_data_type = DataType::kFp8E4m3;
  run.options.search_kernels = question.kernels;
  return run;
}

TEST(Random, Questions) {
  const char* seed = getenv("SEED");
  if (!seed) return;
  std::mt19937 random(unsigned(atoi(seed)));
  const auto any = [&](auto list) { return *(list.begin() + random() % list.size()); };
  const int count = getenv("COUNT") ? atoi(getenv("COUNT")) : 50;
  for (int i = 0; i < count; ++i) {
    Question q;
    q.model = any(std::initializer_list<const char*>{
        "llama-3.1-8b",  "llama-3.1-70b",    "llama-3.1-405b",   "gpt3-13b",
        "gpt3-175b",     "qwen3-32b",        "mixtral-8x7b",     "mixtral-8x22b",
        "qwen3-30b-a3b", "qwen3-235b-a22b",  "gpt-oss-20b",      "gpt-oss-120b",
        "llama-4-scout", "llama-4-maverick", "deepseek-v2-lite", "deepseek-v2",
        "deepseek-v3",   "kimi-k2",          "t5-11b",           "bert-large-uncased"});
    q.devices = any(std::initializer_list<int64_t>{8, 16, 24, 32, 48, 64, 96, 128, 256, 384, 512,
                                                   1024, 2048, 4096, 16384, 98304});
    q.sequences = q.devices * any(std::initializer_list<int64_t>{1, 2, 3, 4, 8, 16});
    q.length = any(std::initializer_list<int64_t>{512, 2048, 4096, 8192, 32768, 131072});
    if (std::string(q.model)[0] == 'g' || std::string(q.model)[0] == 't' ||
        std::string(q.model)[0] == 'b')
      q.length = 512;
    q.framework = any(std::initializer_list<Framework>{
        Framework::kMegatronLm, Framework::kMegatronBridge, Framework::kMegatronLm,
        Framework::kTorchtitan, Framework::kDeepSpeed});
    q.named = random() % 6 != 0;
    q.adapters = random() % 10 == 0;
    q.fp8 = random() % 4 == 0;
    q.kernels = random() % 12 == 0;
    const bool across = random() % 10 == 0;
    const auto with = [&](RunSpec r) { r.options.tensor_across_nodes = across; return r; };
    const char* only = getenv("ONLYQ");
    if (only && !strstr(only, ("," + std::to_string(i) + ",").c_str())) continue;
    auto t0 = std::chrono::steady_clock::now();
    CallWork work;
    auto one = SearchLayouts(with(RunOf(q, SearchExtent::kBounded)), {}, {}, work);
    if (!one.ok()) {
      printf("%d %s %ld: %s\n", i, q.model, long(q.devices), one.status().ToString().c_str());
      continue;
    }
    auto t1 = std::chrono::steady_clock::now();
    auto all = SearchLayouts(with(RunOf(q, SearchExtent::kExhaustive)), {}, {}, work);
    auto t2 = std::chrono::steady_clock::now();
    const bool b = !one->best.empty(), a = all.ok() && !all->best.empty();
    const double ratio =
        a && b ? one->best.front().step.expected.value() / all->best.front().step.expected.value()
               : (a != b ? 99 : 1);
    printf(
        "%s%d %s %ld gbs %ld len %ld fw %d across %d named %d ad %d fp8 %d k %d: cons %ld look %ld / %ld exh "
        "%d t %.2f %.2f v %d %d ratio %+.2f%% small %+.2f%%\n",
        ratio > 1.005 ? "BAD " : "", i, q.model, long(q.devices), long(q.sequences), long(q.length),
        int(q.framework), across, q.named, q.adapters, q.fp8, q.kernels, long(one->considered),
        long(ProgressOf(*one).searched), long(ProgressOf(*all).searched), all->exhaustive,
        std::chrono::duration<double>(t1 - t0).count(),
        std::chrono::duration<double>(t2 - t1).count(), b ? int(one->best.front().verdict) : -1,
        a ? int(all->best.front().verdict) : -1, (ratio - 1) * 100,
        one->smallest && all->smallest ? (double(one->smallest->process.expected.value()) /
                                              double(all->smallest->process.expected.value()) -
                                          1) *
                                             100
                                       : -1.0);
    if (ratio > 1.003 && ratio < 90) {
      for (const auto* o : {&one->best.front(), &all->best.front()}) {
        const LayoutChoice& c = o->choice;
        printf(
            "     %.5g t%d p%d v%d c%d e%d et%d mb%d z%d sp%d g%d st%d r%d/%d:%d%d%d%d sch%d "
            "k%d%d%d\n",
            o->step.expected.value(), c.tensor, c.pipeline, c.virtual_stages, c.context, c.expert,
            c.expert_tensor, c.micro_batch, int(c.zero_stage), c.sequence_parallel, c.shard_group,
            c.stays_gathered, c.recompute.full, c.recompute.layers_per_block,
            c.recompute.norm_outputs, c.recompute.activation_function,
            c.recompute.latent_projections, c.recompute.attention_core, int(c.schedule),
            c.kernels.is_chosen, int(c.kernels.attention), int(c.kernels.loss));
      }
    }
    fflush(stdout);
  }
}

TEST(BoundedSearch, FindsWhatTheExhaustiveSearchFinds) {
  for (const Question& question : kQuestions) {
    const SearchOutcome bounded = OutcomeOf(RunOf(question, SearchExtent::kBounded));
    const SearchOutcome all = OutcomeOf(RunOf(question, SearchExtent::kExhaustive));
    SCOPED_TRACE(absl::StrCat(question.model, " on ", question.devices));
    ASSERT_FALSE(bounded.best.empty());
    ASSERT_TRUE(all.exhaustive);
    EXPECT_EQ(bounded.considered, all.considered);
    EXPECT_EQ(bounded.exhaustive, ProgressOf(all).searched <= kBoundedEvaluations);
    EXPECT_LE(ProgressOf(bounded).searched, kBoundedEvaluations);
    EXPECT_EQ(bounded.best.front().verdict, all.best.front().verdict);
    const double ratio =
        bounded.best.front().step.expected.value() / all.best.front().step.expected.value();
    EXPECT_LE(ratio, 1.03);
    std::cout << absl::StreamFormat("%-18s %6d %8d considered %7d of %7d looked at %+.2f %%\n",
                                    question.model, question.devices, all.considered,
                                    ProgressOf(bounded).searched, ProgressOf(all).searched,
                                    (ratio - 1) * 100);
  }
}

// The likely fastest first: the best is found with a twentieth of the evaluations, of one choice of
// kernels.
TEST(LargeSpace, LeavesOutTheLikelySlowestOfALargeSpace) {
  RunSpec run = RunOn("llama-3.1-8b", 64, 128, 8192);
  run.layout->framework = {};
  run.layout->sharding.shard_group_size = 64;
  run.layout->context_parallel_size = 1;
  run.options.search_kernels = true;
  const SearchOutcome all = OutcomeOf(run);
  ASSERT_TRUE(all.exhaustive);
  const int64_t most = ProgressOf(all).searched / 20;
  ASSERT_GT(most, 1000);
  SearchOutcome part;
  for (int64_t i = 0; i < 3; ++i) {
    CallWork work;
    auto shard = SearchLayouts(run, {.index = i, .count = 3, .max_evaluations = most}, {}, work);
    ASSERT_TRUE(shard.ok()) << shard.status();
    Merge(*std::move(shard), part);
  }
  EXPECT_FALSE(part.exhaustive);
  EXPECT_EQ(part.considered, all.considered);
  EXPECT_LE(ProgressOf(part).searched, most);
  EXPECT_GT(ProgressOf(part).searched, most / 2);
  for (const LayoutOption& option : part.best) {
    EXPECT_EQ(option.choice.kernels, all.best.front().choice.kernels);
  }
  EXPECT_LE(part.best.front().step.expected.value(), 1.01 * all.best.front().step.expected.value());
}

}  // namespace
}  // namespace sextant
