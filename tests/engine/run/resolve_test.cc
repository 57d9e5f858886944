// A run resolved as a variant of another one, against the same run resolved by itself.
#include "engine/run/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/run/step_plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

// 24 layers of a model that no catalogue has counted before.
RunSpec Decoder() {
  RunSpec run = RunOnH100s("", 16, 64);
  run.model.transformer = TransformerSpec{.layer_count = 24,
                                          .hidden_size = 2048,
                                          .feed_forward_size = 5504,
                                          .attention_head_count = 16,
                                          .vocabulary_size = 32'000,
                                          .feed_forward_kind = FeedForwardKind::kGated,
                                          .norm_kind = NormKind::kRmsNorm};
  run.layout->parallel.tensor_parallel_size = 2;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.options.full = true;
  return run;
}

struct Variant {
  const char* what;
  RunParts changed;
  void (*change)(RunSpec&);
};

const Variant kVariants[] = {
    {"layout", {.layout = true}, [](RunSpec& run) { run.layout->micro_batch_size = 4; }},
    {"framework",
     {.layout = true},
     [](RunSpec& run) {
       run.layout->framework = {.kind = Framework::kPytorchFsdp, .named = true};
       run.layout->zero_stage = ZeroStage::kParameters;
     }},
    {"offload",
     {.layout = true},
     [](RunSpec& run) { run.layout->sharding.offload_optimizer = true; }},
    {"search", {.layout = true}, [](RunSpec& run) { run.options.search = SearchExtent::kBounded; }},
    {"device count", {.device_count = true}, [](RunSpec& run) { run.cluster.device_count = 32; }},
    {"one server", {.device_count = true}, [](RunSpec& run) { run.cluster.device_count = 8; }},
    {"length", {.training = true}, [](RunSpec& run) { run.training.sequence_length = 1024; }},
    {"recomputation",
     {.training = true},
     [](RunSpec& run) { run.training.recompute = RecomputePolicy::kFull; }},
    {"tokens", {.training = true}, [](RunSpec& run) { run.training.token_count = 7'000'000; }},
    {"model", {.model = true}, [](RunSpec& run) { run.model.transformer->layer_count = 12; }},
};

std::vector<std::pair<std::string, double>> FiguresOf(const ResolvedRun& run) {
  std::vector<std::pair<std::string, double>> out;
  for (const Rate& rate : run.rates) {
    out.emplace_back(rate.quantity, rate.value);
    out.emplace_back(rate.citation, 0);
  }
  for (const FlopsCount& count : run.flops.counts) {
    out.emplace_back("per token", count.per_token.value());
    out.emplace_back("run", count.run.value());
  }
  out.emplace_back("hardware", run.flops.hardware->ratio());
  out.emplace_back("parameters", run.parameters.all.total);
  out.emplace_back("usable", run.capacity.usable().value());
  out.emplace_back("host", run.host.link.value());
  out.emplace_back("network", run.network.has_value() ? 1 : 0);
  out.emplace_back("vocabulary", run.counted_shape().embedding.padded_vocabulary_size);
  out.emplace_back("gradient", static_cast<double>(run.precision.gradient_data_type));
  if (!run.memory.has_value()) return out;
  const auto peak = run.memory->Peak();
  EXPECT_THAT(peak, IsOk());
  out.emplace_back("stage", peak->memory.total().value());
  return out;
}

TEST(ResolvedRun, WithAChangeIsTheChangedRun) {
  const RunSpec run = Decoder();
  const auto resolved = Resolve(run, {});
  ASSERT_THAT(resolved, IsOk());
  for (const Variant& variant : kVariants) {
    RunSpec changed = run;
    variant.change(changed);
    const auto other = resolved->With(changed, variant.changed);
    const auto alone = Resolve(changed, {});
    ASSERT_THAT(other, IsOk()) << variant.what;
    ASSERT_THAT(alone, IsOk()) << variant.what;
    EXPECT_EQ(FiguresOf(*other), FiguresOf(*alone)) << variant.what;
    EXPECT_NE(FiguresOf(*other), FiguresOf(*resolved)) << variant.what;
  }
}

// The weights are counted once for all variants of one model.
TEST(ResolvedRun, WithAChangeKeepsTheCountedModel) {
  const RunSpec run = Decoder();
  const auto resolved = Resolve(run, {});
  ASSERT_THAT(resolved, IsOk());
  for (const Variant& variant : kVariants) {
    RunSpec changed = run;
    variant.change(changed);
    const auto other = resolved->With(changed, variant.changed);
    ASSERT_THAT(other, IsOk()) << variant.what;
    EXPECT_EQ(other->shape.checked == resolved->shape.checked, !variant.changed.model)
        << variant.what;
  }
}

TEST(ResolvedRun, WithAChangeReportsItsFaults) {
  const RunSpec run = Decoder();
  const auto resolved = Resolve(run, {});
  ASSERT_THAT(resolved, IsOk());
  RunSpec changed = run;
  changed.cluster.device_count = 15;
  EXPECT_EQ(resolved->With(changed, {.device_count = true}).status(),
            Resolve(changed, {}).status());
  EXPECT_FALSE(resolved->With(changed, {.device_count = true}).ok());
}

}  // namespace
}  // namespace sextant
