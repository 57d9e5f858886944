// The servers that a run is taken to be on; and a run resolved as a variant of another one, against
// the same run resolved by itself.
#include "engine/run/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ClusterSpec Assumed(ClusterSpec cluster) {
  AssumeNodes(cluster);
  return cluster;
}

ClusterSpec Of(absl::string_view accelerator, int64_t devices) {
  ClusterSpec out;
  out.device.accelerator = accelerator;
  out.device_count = devices;
  return out;
}

TEST(AssumeNodes, FillsInTheUsualServerAndNetwork) {
  // 0: how many there are is what is asked.
  for (const int64_t devices : {9, 1024, 0}) {
    const ClusterSpec out = Assumed(Of("h100-sxm", devices));
    EXPECT_EQ(out.node_type, "dgx-h100") << devices;
    EXPECT_EQ(out.network.name, "ib-ndr");
    EXPECT_TRUE(out.node_is_assumed);
    EXPECT_TRUE(out.network_is_assumed);
  }
}

TEST(AssumeNodes, LeavesASingleServerAlone) {
  const ClusterSpec out = Assumed(Of("h100-sxm", 8));
  EXPECT_EQ(out.node_type, "");
  EXPECT_EQ(out.network.name, "");
  EXPECT_FALSE(out.node_is_assumed);
  EXPECT_FALSE(out.network_is_assumed);
}

TEST(AssumeNodes, KeepsWhatIsGiven) {
  ClusterSpec given = Of("h100-sxm", 64);
  given.network.bytes_per_second = 25e9;
  const ClusterSpec networked = Assumed(given);
  EXPECT_EQ(networked.node_type, "dgx-h100");
  EXPECT_EQ(networked.network.name, "");
  EXPECT_EQ(networked.network.bytes_per_second, 25e9);
  EXPECT_FALSE(networked.network_is_assumed);

  given = Of("h100-sxm", 64);
  given.node_type = "hgx-h100";  // a board: its network is assumed
  const ClusterSpec board = Assumed(given);
  EXPECT_EQ(board.node_type, "hgx-h100");
  EXPECT_EQ(board.network.name, "ib-ndr");
  EXPECT_FALSE(board.node_is_assumed);
  EXPECT_TRUE(board.network_is_assumed);

  given.node_type = "dgx-h100";  // comes with its network
  const ClusterSpec whole = Assumed(given);
  EXPECT_EQ(whole.network.name, "");
  EXPECT_FALSE(whole.network_is_assumed);
}

// Servers of PCIe cards come with any network, and no server of an MI250X is known.
TEST(AssumeNodes, AssumesNothingWhereNothingIsUsual) {
  for (const char* name : {"l40s", "rtx-4090", "mi250x", "no-such-product"}) {
    const ClusterSpec out = Assumed(Of(name, 64));
    EXPECT_EQ(out.node_type, "") << name;
    EXPECT_EQ(out.network.name, "") << name;
  }
  ClusterSpec unknown = Of("h100-sxm", 64);
  unknown.node_type = "no-such-server";
  EXPECT_EQ(Assumed(unknown).network.name, "");
}

std::vector<std::string> AssumedNames(const RunSpec& run) {
  const absl::StatusOr<Plan> plan = PlanRun(run);
  EXPECT_THAT(plan, IsOk());
  for (const Note& note : plan.ok() ? plan->notes : Notes()) {
    if (note.kind == NoteKind::kNodesAssumed) return note.names;
  }
  return {};
}

TEST(AssumeNodes, IsSaidWhereServersExchange) {
  RunSpec run = Tp8Pp4();
  run.options.assumptions = false;  // a warning, which all views have
  AssumeNodes(run.cluster);
  EXPECT_THAT(AssumedNames(run), ElementsAre("dgx-h100", "ib-ndr"));
  // One server may be enough where the number is asked for.
  run.cluster.device_count = 8;
  run.layout->parallel.pipeline_parallel_size = 1;
  EXPECT_THAT(AssumedNames(run), IsEmpty());
  EXPECT_THAT(AssumedNames(RunOnH100s("llama-3.1-8b", 64, 64)), IsEmpty());
}

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
  CallWork work;
  const auto resolved = Resolve(run, {}, work);
  ASSERT_THAT(resolved, IsOk());
  for (const Variant& variant : kVariants) {
    RunSpec changed = run;
    variant.change(changed);
    const auto other = resolved->With(changed, variant.changed, work);
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
  CallWork work;
  const auto resolved = Resolve(run, {}, work);
  ASSERT_THAT(resolved, IsOk());
  for (const Variant& variant : kVariants) {
    RunSpec changed = run;
    variant.change(changed);
    const auto other = resolved->With(changed, variant.changed, work);
    ASSERT_THAT(other, IsOk()) << variant.what;
    EXPECT_EQ(other->shape.checked == resolved->shape.checked, !variant.changed.model)
        << variant.what;
  }
}

TEST(ResolvedRun, KnowsWhatAChangeLeaves) {
  const RunSpec run = Decoder();
  CallWork work;
  const auto resolved = Resolve(run, {}, work);
  ASSERT_THAT(resolved, IsOk());
  const KnownParts cluster = resolved->Known({.layout = true, .device_count = true});
  EXPECT_EQ(cluster.model, resolved->shape.checked);
  EXPECT_EQ(cluster.flops, &resolved->flops);
  EXPECT_EQ(cluster.devices, nullptr);
  const KnownParts model = resolved->Known({.model = true, .training = true});
  EXPECT_EQ(model.model, nullptr);
  EXPECT_EQ(model.flops, nullptr);
  EXPECT_EQ(model.devices, &*resolved);
}

TEST(ResolvedRun, WithAChangeReportsItsFaults) {
  const RunSpec run = Decoder();
  CallWork work;
  const auto resolved = Resolve(run, {}, work);
  ASSERT_THAT(resolved, IsOk());
  RunSpec changed = run;
  changed.cluster.device_count = 15;
  EXPECT_EQ(resolved->With(changed, {.device_count = true}, work).status(),
            Resolve(changed, {}).status());
  EXPECT_FALSE(resolved->With(changed, {.device_count = true}, work).ok());
}

// Whatever else is predicted of it: a measured step, and the steps of four other batches.
TEST(PlanRun, CountsTheWeightsOnce) {
  RunSpec run = Decoder();
  run.measured_step = MeasuredStep{.seconds = 10, .layout = *run.layout};
  run.measured_step->layout.parallel.tensor_parallel_size = 4;
  run.layout->batch_ramp.assign(4, {.token_count = 1'000'000, .global_batch_size = 32});
  CallWork work;
  const auto plan = PlanRun(run, {}, work);
  ASSERT_THAT(plan, IsOk());
  EXPECT_TRUE(plan->step->calibration.has_value());
  EXPECT_EQ(plan->whole_run.steps->phases.size(), 5u);
  EXPECT_EQ(work.models(), 1);
}

}  // namespace
}  // namespace sextant
