// Faults of other tools that must not be ours, each under its name.
#include <gtest/gtest.h>

#include "engine/run/plan.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

struct SparsePeak {
  const char* accelerator;
  double sparse_flops_per_second;  // bf16 with structured sparsity, as datasheets print it first
};

// Megatron issues 1276 and 1565: the sparse peak as the denominator, which halves every MFU.
// Figures from memory of the vendor's datasheets.
TEST(PeerFaults, SparsePeakAsTheDenominatorOfAnMfu) {
  for (const SparsePeak& gpu : {SparsePeak{"a100-sxm-80", 624e12}, SparsePeak{"h100-sxm", 1979e12},
                                SparsePeak{"h200-sxm", 1979e12}, SparsePeak{"l40s", 733e12},
                                SparsePeak{"b200-sxm", 4500e12}}) {
    SCOPED_TRACE(gpu.accelerator);
    RunSpec run;
    run.model.preset = "llama-2-7b";
    run.training.token_count = 1'000'000'000'000;
    run.training.sequence_length = 4096;
    run.cluster.device.accelerator = gpu.accelerator;
    run.cluster.device_count = 1;
    const Plan plan = Planned(run);
    // At an MFU of 1 the run goes at the dense peak, half of the sparse one.
    const double reached =
        plan.flops.used().run.value() / At(plan, EstimateKind::kLowerBound).duration.value();
    EXPECT_EQ(At(plan, EstimateKind::kLowerBound).mfu, 1);
    EXPECT_NEAR(reached / (gpu.sparse_flops_per_second / 2), 1, 0.015);
  }
}

// A run under a layout, in Megatron-LM's mixed precision.
RunSpec RunOf(absl::string_view preset, absl::string_view accelerator, int64_t devices) {
  RunSpec run;
  run.model.preset = preset;
  run.training.token_count = 1'000'000'000;
  run.training.precision.gradient_data_type = DataType::kFp32;
  run.cluster.device.accelerator = accelerator;
  run.cluster.device_count = devices;
  run.layout = RunLayout();
  return run;
}

// calculon knows no fused attention, and refuses Llama-2-7B at 4,096 tokens on 80 GB. Case B.
TEST(PeerFaults, Llama2Of7bAt4096TokensFits80Gb) {
  RunSpec run = RunOf("llama-2-7b", "a100-sxm-80", 8);
  run.training.sequence_length = 4096;
  run.layout->zero_stage = ZeroStage::kParameters;
  const MemoryEstimate memory = EstimateOf(run);
  EXPECT_EQ(memory.verdict, Verdict::kFits);
  // 14.12 GiB of shards, 16.08 GiB of layers.
  EXPECT_GT(memory.peak().total(), Bytes(30 * (int64_t{1} << 30)));
  EXPECT_LT(memory.peak().total(), Bytes(45 * (int64_t{1} << 30)));
}

// Megatron-LM's estimate takes every stage to have as many layers.
TEST(PeerFaults, StagesHaveTheLayersTheyHave) {
  RunSpec run = RunOf("llama-3-70b", "h100-sxm", 32);
  run.training.sequence_length = 8192;
  run.layout->parallel = {
      .tensor_parallel_size = 8, .pipeline_parallel_size = 4, .layers_per_chunk = {19, 21, 21, 19}};
  const MemoryEstimate uneven = EstimateOf(run);
  run.layout->parallel.layers_per_chunk = {};
  const MemoryEstimate even = EstimateOf(run);
  const auto weights = [](const MemoryEstimate& memory, size_t stage) {
    return memory.stages[stage].memory.of(LedgerKind::kWeight).value();
  };
  // A layer: 2 x (2 x 8192^2 + 2 x 8192 x 1024 + 3 x 8192 x 28672) / 8 bytes, and two whole norms.
  constexpr int64_t kLayer =
      2 * ((2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * int64_t{8192} * 28'672) / 8 + 2 * 8192);
  EXPECT_EQ(weights(even, 0) - weights(uneven, 0), kLayer);
  EXPECT_EQ(weights(uneven, 1) - weights(even, 1), kLayer);
  EXPECT_EQ(uneven.stages[1].layer_count, 21);
}

// Megatron-LM's estimate forgets that no more micro-batches than a step has can be in flight where
// stages are interleaved.
TEST(PeerFaults, InterleavedStagesHoldNoMoreThanAStepHas) {
  RunSpec run = RunOf("llama-3-70b", "h100-sxm", 64);
  run.training.sequence_length = 4096;
  run.layout->parallel = {
      .tensor_parallel_size = 8, .pipeline_parallel_size = 8, .virtual_stage_count = 5};
  run.layout->global_batch_size = 8;
  const MemoryEstimate memory = EstimateOf(run);
  for (const StageEstimate& stage : memory.stages) {
    for (const int64_t held : stage.micro_batches_in_flight) EXPECT_LE(held, 8);
  }
}

}  // namespace
}  // namespace sextant
