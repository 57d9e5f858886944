// A bounded search against the exhaustive one, on questions of all kinds. Prints a line for each:
// docs/search.md, "Bounded against exhaustive", has them.
#include "engine/search/bounded_search.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/engine/search/searched.h"

namespace sextant {
namespace {

// A question. 0 leaves a size open; where a whole space would take too long, both searches get the
// same part of it.
struct Question {
  const char* model = "";
  int64_t devices = 8;
  int64_t sequences = 64;
  int64_t length = 4096;
  Framework framework = Framework::kMegatronLm;  // kCustom: any
  bool named = true;
  bool adapters = false;  // adapters
  int64_t micro_batch = 0;
  int64_t context = 0;
  int64_t expert_tensor = 0;  // 1 or as tensor parallel ranks
  bool norms_alone = false;
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
  if (question.micro_batch > 0) run.layout->micro_batch_size = question.micro_batch;
  if (question.context > 0) run.layout->context_parallel_size = question.context;
  return run;
}

class Timed {
 public:
  explicit Timed(const RunSpec& run) {
    const auto start = std::chrono::steady_clock::now();
    out = OutcomeOf(run);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  SearchOutcome out;
  double seconds = 0;
};

std::string Text(const LayoutOption& o) {
  const LayoutChoice& c = o.choice;
  char line[300];
  std::snprintf(line, sizeof line,
                "%.4gs v%d t%d p%d v%d c%d e%d et%d mb%d z%d sp%d g%d st%d r%d%d:%d%d%d%d sch%d",
                o.step.expected.value(), int(o.verdict), c.tensor, c.pipeline, c.virtual_stages,
                c.context, c.expert, c.expert_tensor, c.micro_batch, int(c.zero_stage),
                c.sequence_parallel, c.shard_group, c.stays_gathered, c.recompute.full,
                c.recompute.layers_per_block, c.recompute.norm_outputs,
                c.recompute.activation_function, c.recompute.latent_projections,
                c.recompute.attention_core, int(c.schedule));
  return line;
}

TEST(BoundedSearch, FindsWhatTheExhaustiveSearchFinds) {
  const char* only = getenv("ONLY");
  int number = -1;
  for (const Question& question : kQuestions) {
    ++number;
    if (only && !strstr(only, (std::string(",") + std::to_string(number) + ",").c_str())) continue;
    std::printf("#%d ", number);
    std::fflush(stdout);
    const Timed bounded(RunOf(question, SearchExtent::kBounded));
    const Timed all(RunOf(
        question, getenv("ONLY_BOUNDED") ? SearchExtent::kBounded : SearchExtent::kExhaustive));
    const auto count = [](const SearchOutcome& o, Pruned why) {
      return static_cast<long>(o.pruned[static_cast<size_t>(why)]);
    };
    std::printf(
        "%s %ld: considered %ld state %ld; bounded %.2fs timed %ld mem %ld exh %d; all %.2fs timed "
        "%ld mem %ld exh %d\n",
        question.model, long(question.devices), long(all.out.considered), long(all.out.by_state),
        bounded.seconds, long(bounded.out.evaluated),
        count(bounded.out, Pruned::kMemory) - long(bounded.out.by_state), bounded.out.exhaustive,
        all.seconds, long(all.out.evaluated),
        count(all.out, Pruned::kMemory) - long(all.out.by_state), all.out.exhaustive);
    if (bounded.out.best.empty() || all.out.best.empty()) {
      std::printf("   none %d %d\n", int(bounded.out.best.size()), int(all.out.best.size()));
      continue;
    }
    const LayoutOption& b = bounded.out.best.front();
    const LayoutOption& a = all.out.best.front();
    std::printf("   %+.2f%%\n   B %s\n   A %s\n",
                (b.step.expected.value() / a.step.expected.value() - 1) * 100, Text(b).c_str(),
                Text(a).c_str());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace sextant
