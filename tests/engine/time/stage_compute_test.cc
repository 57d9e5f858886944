// The work of one GPU of a stage, and its time.
#include "engine/time/stage_compute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <variant>

#include "engine/hardware/catalogue.h"
#include "engine/model/presets/presets.h"
#include "engine/run/plan.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/note_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kMillisecond = 1e-3;

RunSpec A100s(absl::string_view preset, int64_t sequence_length, int64_t devices) {
  RunSpec run;
  run.model.preset = preset;
  run.training.token_count = 1'000'000'000'000;
  run.training.sequence_length = sequence_length;
  run.cluster.device.accelerator = "a100-sxm-80";
  run.cluster.device_count = devices;
  run.layout = RunLayout{};
  // The published kernels, without what a software stack makes of them.
  run.layout->software.of(StackConstant::kAttentionTimeRatio) = 1;
  run.layout->software.of(StackConstant::kMemoryPassTimeRatio) = 1;
  run.options.full = true;
  run.options.include_operations = true;
  return run;
}

// 175B parameters, TP8 PP8, attention in separate kernels, its core recomputed.
RunSpec CaseA() {
  RunSpec run = A100s("gpt3-175b", 2048, 64);
  run.layout->parallel.tensor_parallel_size = 8;
  run.layout->parallel.pipeline_parallel_size = 8;
  run.layout->global_batch_size = 64;
  run.layout->attention = AttentionKernel::kUnfused;
  run.layout->kernels.dropout = true;
  run.training.recompute = RecomputePolicy::kSelective;
  return run;
}

// 70B parameters, TP8 PP4 DP2, ZeRO-1.
RunSpec CaseC() {
  RunSpec run = A100s("llama-3-70b", 8192, 64);
  run.layout->parallel.tensor_parallel_size = 8;
  run.layout->parallel.pipeline_parallel_size = 4;
  run.layout->global_batch_size = 64;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  return run;
}

ComputeEstimate ComputeOf(const RunSpec& run) {
  const auto plan = PlanRun(run);
  EXPECT_THAT(plan, IsOk());
  EXPECT_TRUE(plan.ok() && plan->compute.has_value());
  return plan.ok() && plan->compute.has_value() ? *plan->compute : ComputeEstimate();
}

void ExpectWithin(double share, const SecondsInterval& time, double milliseconds) {
  EXPECT_NEAR(time.expected.value() / (milliseconds * kMillisecond), 1, share);
  EXPECT_LT(time.low.value(), milliseconds * kMillisecond);
  EXPECT_GT(time.high.value(), milliseconds * kMillisecond);
}

// By hand, in milliseconds a layer of 20, 8,192 tokens. Products as published of an A100
// (ai-dynamo/aiconfigurator, SGLang 0.5.10 bf16), where one is between two of them, their mean or
// its FLOPs' share; passes at 0.80 of 2,039 GB/s.
//   forward   query_key_value n 1280: (0.5457 + 0.8495) / 2 = 0.698; output 0.563; gate_up 3.879;
//             down 1.937; attention of 8 heads 0.873; passes of 381 MB: 0.234
//   backward  query_key_value 0.703 + 0.698; output 0.546 + 0.546; gate_up 3.838 + 3.879; down
//             2.019 + 2.019; attention 3 x 0.873; passes of 533 MB: 0.327; 106.95e6 gradients of
//             0.6 x 6 bytes: 0.236
TEST(StageCompute, OfLlama70bIsTheHandsSum) {
  const ComputeEstimate compute = ComputeOf(CaseC());
  ASSERT_EQ(compute.stages.size(), 3U);
  const StageCompute& middle = compute.stages[1];
  EXPECT_EQ(middle.first_stage, 1);
  EXPECT_EQ(middle.stage_count, 2);
  const double forward = 0.698 + 0.563 + 3.879 + 1.937 + 0.873 + 0.234;
  const double backward =
      0.703 + 0.698 + 2 * 0.546 + 3.838 + 3.879 + 2 * 2.019 + 3 * 0.873 + 0.327 + 0.236;
  ExpectWithin(0.05, middle.forward, 20 * forward);
  ExpectWithin(0.05, middle.backward, 20 * backward);
  // Step: 70.55e9 / 32 parameters' norms: 17.6e9 / 8 a stage; of half of the middle's 1.07e9 x 2.
  EXPECT_GT(middle.step.expected.value(), 0.01);
  // The last stage has the head: 6 x 8192 x 8192 x 129024 / 8 FLOP more, the vocabulary padded to
  // a multiple of 128 x 8.
  const double head = 6.0 * 8192 * 8192 * 129024 / 8;
  EXPECT_NEAR(compute.stages[2].flops - middle.flops, head, 1e-6 * head);
}

// The same of 12 layers of 2,048 tokens: products of (2048, 12288, 6144) run at 238e12 FLOP/s
// published, batched ones at 0.55 of the peak; passes as above.
//   forward   0.976 + 0.330 + 1.301 + 1.320; scores and values 0.075 each; softmax 0.124, its
//             dropout 0.154; other passes 0.073
//   backward  2 x (0.976 + 0.330) + 2 x (1.301 + 1.320); the core again 0.428; four products 0.300;
//             softmax 0.185, dropout 0.154; other passes 0.112; 226.5e6 gradients 0.500
TEST(StageCompute, OfGpt3IsTheHandsSum) {
  const ComputeEstimate compute = ComputeOf(CaseA());
  ASSERT_EQ(compute.stages.size(), 3U);
  const StageCompute& middle = compute.stages[1];
  EXPECT_EQ(middle.stage_count, 6);
  const double forward = 0.976 + 0.330 + 1.301 + 1.320 + 2 * 0.075 + 0.124 + 0.154 + 0.073;
  const double backward =
      2 * (0.976 + 0.330 + 1.301 + 1.320) + 0.428 + 0.300 + 0.185 + 0.154 + 0.112 + 0.500;
  ExpectWithin(0.05, middle.forward, 12 * forward);
  ExpectWithin(0.05, middle.backward, 12 * backward);
}

double SecondsOf(const StageCompute& stage, absl::string_view module, absl::string_view name) {
  double out = 0;
  for (const TimedOperation& each : stage.operations) {
    if (each.op.module == module && each.op.name == name) out += each.time.expected.value();
  }
  return out;
}

TEST(StageCompute, AddsUpToItsOperations) {
  for (const StageCompute& stage : ComputeOf(CaseA()).stages) {
    double sum = 0;
    int64_t launches = 0;
    for (const TimedOperation& each : stage.operations) {
      EXPECT_GT(each.time.expected.value(), 0) << each.op.module << each.op.name;
      EXPECT_LE(each.time.low, each.time.expected);
      EXPECT_LE(each.time.expected, each.time.high);
      // Exchanges are timed alone and add nothing.
      if (!KernelKindOf(each.op).has_value()) continue;
      sum += each.time.expected.value();
      launches += each.op.launches * each.layers;
    }
    EXPECT_NEAR(stage.micro_batch.expected.value(), sum, 1e-12);
    EXPECT_NEAR((stage.forward.expected + stage.backward.expected).value(), sum, 1e-12);
    EXPECT_EQ(stage.host.launches, launches);
  }
}

// Full recomputation adds one forward pass of the layers.
TEST(StageCompute, RecomputationIsOneMoreForwardPass) {
  RunSpec run = CaseC();
  const StageCompute none = ComputeOf(run).stages[1];
  run.training.recompute = RecomputePolicy::kFull;
  const StageCompute full = ComputeOf(run).stages[1];
  EXPECT_NEAR((full.backward.expected - none.backward.expected).value(),
              none.forward.expected.value(), 1e-9);
}

// Half of the tokens on each rank: matrices take half of the time, attention half of its pairs.
TEST(StageCompute, ContextParallelRanksShareASequence) {
  RunSpec run = CaseC();
  run.training.sequence_length = 65536;
  run.layout->zero_stage = ZeroStage::kNone;
  const StageCompute one = ComputeOf(run).stages[1];
  run.layout->context_parallel_size = 2;
  const StageCompute two = ComputeOf(run).stages[1];
  EXPECT_NEAR(SecondsOf(two, "feed_forward", "gate_up") / SecondsOf(one, "feed_forward", "gate_up"),
              0.5, 0.02);
  EXPECT_NEAR(SecondsOf(two, "attention", "core") / SecondsOf(one, "attention", "core"), 0.5, 0.1);
  EXPECT_NEAR(two.flops / one.flops, 0.5, 1e-9);
}

// Products in 8 bits take less time, and need passes that quantise.
TEST(StageCompute, NarrowProductsAreQuantised) {
  RunSpec run = CaseC();
  run.cluster.device.accelerator = "h100-sxm";
  const StageCompute wide = ComputeOf(run).stages[1];
  run.training.precision.compute_data_type = DataType::kFp8E4m3;
  const StageCompute narrow = ComputeOf(run).stages[1];
  EXPECT_LT(SecondsOf(narrow, "feed_forward", "gate_up"),
            0.7 * SecondsOf(wide, "feed_forward", "gate_up"));
  EXPECT_GT(SecondsOf(narrow, "feed_forward", "quantise"), 0);
  EXPECT_EQ(SecondsOf(wide, "feed_forward", "quantise"), 0);
  EXPECT_EQ(SecondsOf(narrow, "attention", "core"), SecondsOf(wide, "attention", "core"));
  EXPECT_LT(narrow.micro_batch.expected, wide.micro_batch.expected);
}

TEST(StageCompute, ProjectionsAreFusedAsTheFrameworkDoes) {
  RunSpec run = CaseC();
  const StageCompute fused = ComputeOf(run).stages[1];
  run.layout->framework.fused_projections = false;
  const StageCompute separate = ComputeOf(run).stages[1];
  // Two products more for query, key and value, one for gate and up; forward and twice backward.
  EXPECT_EQ(separate.host.launches - fused.host.launches, 20 * 3 * 3);
  EXPECT_EQ(separate.flops, fused.flops);
}

// A small model in small micro-batches: 8 us a launch are more than the device needs.
TEST(StageCompute, TellsWhereTheHostIsTooSlow) {
  RunSpec run = A100s("gpt2", 128, 8);
  run.cluster.device.accelerator = "h100-sxm";
  run.layout->global_batch_size = 8;
  const Plan bound = Planned(run);
  EXPECT_TRUE(bound.compute->stages[0].host.bound);
  EXPECT_THAT(bound.notes, Contains(IsNote(NoteKind::kHostBound, HasSubstr("captured graphs"))));
  run.layout->framework.captured_graphs = true;
  const Plan captured = Planned(run);
  EXPECT_FALSE(captured.compute->stages[0].host.bound);
  EXPECT_THAT(captured.notes, Not(Contains(IsNote(NoteKind::kHostBound, HasSubstr("host")))));
}

// No datasheet of it has a rate of fp8 products.
TEST(StageCompute, IsAbsentWhereAKernelIsUnknown) {
  RunSpec run = CaseC();
  run.training.precision.compute_data_type = DataType::kFp8E4m3;
  const auto plan = PlanRun(run);
  if (!plan.ok()) return;  // refused before, for its peak
  EXPECT_FALSE(plan->compute.has_value());
  EXPECT_THAT(plan->notes, Contains(IsNote(NoteKind::kOperationsNotTimed, HasSubstr("unknown"))));
}

// Two kinds of layers in turn, one layer a stage: no stage is like the one before.
TEST(StageCompute, ListsSoManyOperationsAtMost) {
  ArchitectureSpec spec = FindModelPreset("llama-3.1-8b").value()->architecture;
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "other";
  spec.layer_kinds[1].feed_forward->size = 8192;
  spec.decoder.layers.clear();
  for (int i = 0; i < 400; ++i) spec.decoder.layers.push_back({i % 2, 1});
  RunSpec run = A100s("", 2048, 400);
  run.model = {};
  run.model.architecture = spec;
  run.layout->parallel.pipeline_parallel_size = 400;
  run.layout->global_batch_size = 400;
  const absl::Status refused = PlanRun(run).status();
  ASSERT_THAT(FieldViolationsOf(refused), ::testing::SizeIs(1)) << refused;
  EXPECT_EQ(FieldViolationsOf(refused)[0].field, "options.include_operations");
  EXPECT_THAT(FieldViolationsOf(refused)[0].description, HasSubstr("10000 operations over 400"));
}

// Published latent attention is of another library than that of heads of one size.
TEST(StageCompute, NamesTheSourceOfLatentAttention) {
  RunSpec run = A100s("deepseek-v3", 4096, 256);
  run.cluster.device.accelerator = "h100-sxm";
  run.layout->parallel.expert_parallel_size = 64;
  run.layout->global_batch_size = 256;
  const ComputeEstimate latent = ComputeOf(run);
  run = CaseC();
  run.cluster.device.accelerator = "h100-sxm";
  const ComputeEstimate plain = ComputeOf(run);
  const auto source = [](const ComputeEstimate& compute) {
    for (const TimedOperation& each : compute.stages[0].operations) {
      if (each.op.name == "core") return compute.sources[each.source].citation;
    }
    return std::string();
  };
  EXPECT_THAT(source(plain), HasSubstr("sglang"));
  EXPECT_THAT(source(latent), HasSubstr("trtllm"));
}

TEST(StageCompute, IsLeftOutUnlessAskedFor) {
  RunSpec run = CaseC();
  run.options.include_operations = false;
  EXPECT_FALSE(PlanRun(run)->compute.has_value());
}

// Llama 3 8B on one GPU, adapters of query and value alone trained.
RunSpec Adapted() {
  RunSpec run = A100s("llama-3-8b", 4096, 1);
  run.layout->global_batch_size = 1;
  run.model.changes.base_frozen = true;
  run.model.changes.adapters.emplace();
  run.model.changes.adapters->rank = 16;
  run.model.changes.adapters->targets = {{"attention", "query"}, {"attention", "value"}};
  return run;
}

double FlopsIn(const StageCompute& stage, TracePass pass) {
  double out = 0;
  for (const TimedOperation& each : stage.operations) {
    if (each.op.pass == pass) out += each.op.flops * static_cast<double>(each.layers);
  }
  return out;
}

// Frozen matrices have no weight gradients: of 2 x 8e9 FLOPs a token only the adapters', a
// thousandth, remain. The optimizer moves the adapters alone.
TEST(StageCompute, FrozenWeightsHaveNoGradients) {
  RunSpec run = Adapted();
  const StageCompute adapted = ComputeOf(run).stages[0];
  const double forward = FlopsIn(adapted, TracePass::kForward);
  EXPECT_GT(FlopsIn(adapted, TracePass::kWeightGradient), 0);
  EXPECT_LT(FlopsIn(adapted, TracePass::kWeightGradient), 2e-3 * forward);
  run.model.changes = {};
  const StageCompute whole = ComputeOf(run).stages[0];
  EXPECT_NEAR(FlopsIn(whole, TracePass::kForward) / forward, 1, 2e-3);
  EXPECT_GT(FlopsIn(whole, TracePass::kWeightGradient), 0.8 * forward);
  EXPECT_LT(adapted.step.expected.value(), 0.01 * whole.step.expected.value());
}

// An adapter's output is scaled and added, its gradient scaled. Of 32 layers the first, whose input
// is the frozen embedding, sums no input gradient. Query 4096 wide, value 1024; 2 bytes an element.
TEST(StageCompute, AdaptersAreScaledAndSummed) {
  std::map<std::pair<std::string, TracePass>, double> bytes;
  const ComputeEstimate adapted = ComputeOf(Adapted());
  for (const TimedOperation& each : adapted.stages[0].operations) {
    const auto* const work = std::get_if<PassWork>(&each.op.work);
    if (work == nullptr) continue;
    bytes[{std::string(each.op.name), each.op.pass}] +=
        (work->read_bytes + work->written_bytes) * static_cast<double>(each.layers);
  }
  const double outputs = 32.0 * 4096 * (4096 + 1024) * 2;
  EXPECT_DOUBLE_EQ((bytes[{"scale_adapter", TracePass::kForward}]), 2 * outputs);
  EXPECT_DOUBLE_EQ((bytes[{"scale_adapter", TracePass::kInputGradient}]), 2 * outputs);
  EXPECT_DOUBLE_EQ((bytes[{"add_adapter", TracePass::kForward}]), 3 * outputs);
  EXPECT_DOUBLE_EQ((bytes[{"add_adapter_gradient", TracePass::kInputGradient}]),
                   3 * 31.0 * 2 * 4096 * 4096 * 2);
}

// QLoRA: 6.98e9 weights of the layers' matrices are read in 4 bits and a fp32 a 64 of them, 0.5625
// bytes, and written in 2, before the forward products and again before the input gradients; the
// first layer's projections of queries, keys and values need no input gradient.
TEST(StageCompute, QuantisedWeightsAreWidenedBeforeEachProduct) {
  RunSpec run = Adapted();
  const ComputeEstimate plain = ComputeOf(run);
  run.layout->frozen.data_type = DataType::kFp4;
  const ComputeEstimate quantised = ComputeOf(run);
  double forward = 0;
  double backward = 0;
  for (const TimedOperation& each : quantised.stages[0].operations) {
    if (each.op.name != "dequantise") continue;
    const auto& work = std::get<PassWork>(each.op.work);
    EXPECT_NEAR(work.read_bytes / work.written_bytes, 0.5625 / 2, 1e-12);
    (each.op.pass == TracePass::kForward ? forward : backward) +=
        work.written_bytes * static_cast<double>(each.layers);
  }
  // 32 layers of 2 x 4096^2 + 2 x 4096 x 1024 + 3 x 4096 x 14336.
  const double matrices = 32.0 * (2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 3.0 * 4096 * 14336);
  EXPECT_DOUBLE_EQ(forward, 2 * matrices);
  EXPECT_LE(backward, forward);
  EXPECT_GT(backward, 0.95 * forward);
  EXPECT_GT(quantised.stages[0].micro_batch.expected, plain.stages[0].micro_batch.expected);
}

}  // namespace
}  // namespace sextant
