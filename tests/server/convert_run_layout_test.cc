#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/convert/enums.h"
#include "server/convert/run_spec.h"
#include "tests/server/message_matchers.h"
#include "tests/server/wire_values.h"
#include "tests/support/field_names.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Every field has a different value, other than its default, so that a dropped or swapped one is
// detected.
constexpr char kEveryField[] = R"json({
  "parallel": {"tensor_parallel_size": 2, "pipeline_parallel_size": 3, "virtual_stage_count": 4,
    "layers_per_chunk": [5, 6], "expert_parallel_size": 7, "expert_tensor_parallel_size": 8,
    "split_key_value_heads": true},
  "context_parallel_size": 9, "context_parallel_kind": "CONTEXT_PARALLEL_KIND_ALL_TO_ALL",
  "sequence_parallel": false, "micro_batch_size": 10,
  "global_batch_size": 11, "schedule": "PIPELINE_SCHEDULE_ZERO_BUBBLE_H1",
  "deferred_head_gradients": 67,
  "sharding": {"zero_stage": "ZERO_STAGE_GRADIENTS", "shard_group_size": 12,
    "reshard_after_forward": false, "prefetched_unit_count": 13, "offload_optimizer": true,
    "offload_parameters": true},
  "storage": {"frozen_data_type": "DATA_TYPE_INT4", "frozen_block_size": 14,
    "double_quantization": true, "scaling": "SCALING_BLOCK", "fp8_weight_copies": 15},
  "kernels": {"attention": "ATTENTION_UNFUSED", "loss": "LOSS_FUSED", "loss_chunk_tokens": 16,
    "dropout": true, "matmul_input_data_type": "DATA_TYPE_FP8", "recomputed_layers_per_block": 17,
    "recompute_activation_function": true, "recompute_norm_outputs": true,
    "recompute_latent_up_projections": true, "expert_load_factor": 1.8,
    "expert_scaling": "EXPERT_SCALING_AFTER_DOWN", "attention_output_copied": true,
    "fused_expert_activation": false},
  "framework": {"kind": "KIND_DEEPSPEED", "persistent_gradients": false,
    "fused_weight_gradient": true, "reduce_bucket_elements": 19, "gather_bucket_elements": 20,
    "workspace_bytes": 21, "fragmentation_ratio": 0.22, "context_bytes": 23,
    "communicator_bytes": 24, "deferred_reduction": false,
    "transformer_engine": true, "deterministic": true, "grouped_experts": false,
    "fused_projections": false, "captured_graphs": true},
  "software": {"name": "torchtitan", "attention_time_ratio": 0.50,
    "memory_pass_time_ratio": 0.51, "tensor_exchange_exposure": 0.52,
    "data_exchange_overlap": 0.53, "overlap_contention": 0.54, "host_seconds_per_layer": 0.55,
    "broadcast_seconds_per_rank": 0.56, "growth_per_doubling": 0.57,
    "sustained_time_ratio": 0.58, "narrow_sustained_time_ratio": 0.59,
    "narrow_product_time_ratio": 0.60, "expert_time_ratio": 0.61,
    "expert_layer_host_seconds": 0.62, "one_copy_per_node": true,
    "pipeline_exchange_exposure": 0.64,
    "expert_exchange_exposure": 0.65, "gradient_addition_overlap": 0.66,
    "misaligned_product_time_ratio": 0.67, "misaligned_head_time_ratio": 0.68,
    "optimizer_time_ratio": 0.69, "kernel_launch_seconds": 0.70,
    "all_reduces_gradients": true},
  "batch_ramp": [{"token_count": 65, "global_batch_size": 66}]})json";

class EveryField : public ::testing::Test {
 protected:
  void SetUp() override { EXPECT_TRUE(violations_.empty()); }

  FieldViolations violations_;
  const v1::RunLayout wire_ = MessageOf<v1::RunLayout>(kEveryField);
  const RunLayout layout_ = RunLayoutFrom(wire_, "layout", violations_);
};

// Detects a field that is added to the API but not to the conversion or to the test. What is false
// here is false by default, too.
TEST_F(EveryField, IsSet) { EXPECT_THAT(UnsetFields(wire_), IsEmpty()); }

TEST_F(EveryField, OfTheLayoutItselfArrives) {
  EXPECT_EQ(layout_.parallel.tensor_parallel_size, 2);
  EXPECT_EQ(layout_.parallel.pipeline_parallel_size, 3);
  EXPECT_EQ(layout_.parallel.virtual_stage_count, 4);
  EXPECT_THAT(layout_.parallel.layers_per_chunk, ElementsAre(5, 6));
  EXPECT_EQ(layout_.parallel.expert_parallel_size, 7);
  EXPECT_EQ(layout_.parallel.expert_tensor_parallel_size, 8);
  EXPECT_TRUE(layout_.parallel.split_key_value_heads);
  EXPECT_EQ(layout_.context_parallel_size, 9);
  EXPECT_EQ(layout_.context_parallel_kind, ContextParallelKind::kAllToAll);
  EXPECT_EQ(layout_.sequence_parallel, false);
  EXPECT_EQ(layout_.micro_batch_size, 10);
  EXPECT_EQ(layout_.global_batch_size, 11);
  EXPECT_EQ(layout_.schedule, PipelineSchedule::kZeroBubbleH1);
  EXPECT_EQ(layout_.deferred_head_gradients, 67);
}

TEST_F(EveryField, OfModelStateArrives) {
  EXPECT_EQ(layout_.zero_stage, ZeroStage::kGradients);
  EXPECT_EQ(layout_.sharding.shard_group_size, 12);
  EXPECT_EQ(layout_.reshard_after_forward, false);
  EXPECT_EQ(layout_.sharding.prefetched_unit_count, 13);
  EXPECT_TRUE(layout_.sharding.offload_optimizer);
  EXPECT_TRUE(layout_.sharding.offload_parameters);
  EXPECT_EQ(layout_.frozen.data_type, DataType::kInt4);
  EXPECT_EQ(layout_.frozen.block_size, 14);
  EXPECT_TRUE(layout_.frozen.double_quantization);
  EXPECT_EQ(layout_.weight_scaling, WeightScaling::kBlock);
  EXPECT_EQ(layout_.fp8_weight_copies, 15);
}

TEST_F(EveryField, OfKernelsArrives) {
  EXPECT_EQ(layout_.kernels.attention, AttentionKernel::kUnfused);
  EXPECT_EQ(layout_.loss, LossKind::kFused);
  EXPECT_EQ(layout_.kernels.loss_chunk_tokens, 16);
  EXPECT_TRUE(layout_.kernels.dropout);
  EXPECT_EQ(layout_.kernels.matmul_input_data_type, DataType::kFp8);
  EXPECT_EQ(layout_.kernels.recomputation.layers_per_block, 17);
  EXPECT_TRUE(layout_.kernels.recomputation.activation_function);
  EXPECT_TRUE(layout_.kernels.recomputation.norm_outputs);
  EXPECT_TRUE(layout_.kernels.recomputation.latent_up_projections);
  EXPECT_EQ(layout_.kernels.expert_load_factor, 1.8);
  EXPECT_EQ(layout_.kernels.expert_scaling, ExpertScaling::kAfterDown);
  EXPECT_EQ(layout_.attention_output_copied, true);
  EXPECT_EQ(layout_.fused_expert_activation, false);
}

TEST_F(EveryField, OfTheFrameworkArrives) {
  EXPECT_EQ(layout_.framework.kind, Framework::kDeepSpeed);
  EXPECT_EQ(layout_.framework.persistent_gradients, false);
  EXPECT_EQ(layout_.framework.fused_weight_gradient, true);
  EXPECT_EQ(layout_.framework.reduce_bucket_elements, 19);
  EXPECT_EQ(layout_.framework.gather_bucket_elements, 20);
  EXPECT_EQ(layout_.framework.workspace_bytes, 21);
  EXPECT_EQ(layout_.framework.fragmentation_ratio, 0.22);
  EXPECT_EQ(layout_.framework.context_bytes, 23);
  EXPECT_EQ(layout_.framework.communicator_bytes, 24);
  EXPECT_EQ(layout_.framework.deferred_reduction, false);
  EXPECT_TRUE(layout_.framework.named);
  EXPECT_EQ(layout_.framework.transformer_engine, true);
  EXPECT_TRUE(layout_.framework.deterministic);
  EXPECT_EQ(layout_.framework.grouped_experts, false);
  EXPECT_EQ(layout_.framework.fused_projections, false);
  EXPECT_TRUE(layout_.framework.captured_graphs);
}

TEST_F(EveryField, OfTheSoftwareArrives) {
  ASSERT_EQ(layout_.batch_ramp.size(), 1u);
  EXPECT_EQ(layout_.batch_ramp[0].token_count, 65);
  EXPECT_EQ(layout_.batch_ramp[0].global_batch_size, 66);
  EXPECT_EQ(layout_.software.name, "torchtitan");
  EXPECT_TRUE(layout_.interleaving_given);
  for (size_t i = 0; i < kStackConstantCount; ++i) {
    const auto constant = static_cast<StackConstant>(i);
    const bool is_bool = constant == StackConstant::kOneCopyPerNode ||
                         constant == StackConstant::kAllReducesGradients;
    const double expected = is_bool ? 1 : 0.5 + static_cast<double>(i) / 100;
    ASSERT_TRUE(layout_.software.given[i].has_value()) << StackConstantName(constant);
    EXPECT_NEAR(*layout_.software.given[i], expected, 1e-12) << StackConstantName(constant);
  }
}

TEST(RunLayoutFrom, WhatIsAbsentStaysAbsent) {
  FieldViolations violations;
  const RunLayout layout = RunLayoutFrom(v1::RunLayout(), "layout", violations);
  EXPECT_TRUE(violations.empty());
  EXPECT_EQ(layout.parallel.tensor_parallel_size, 1);
  EXPECT_EQ(layout.parallel.expert_tensor_parallel_size, 0);
  EXPECT_FALSE(layout.context_parallel_size.has_value());
  EXPECT_FALSE(layout.context_parallel_kind.has_value());
  EXPECT_FALSE(layout.sequence_parallel.has_value());
  EXPECT_FALSE(layout.micro_batch_size.has_value());
  EXPECT_FALSE(layout.global_batch_size.has_value());
  EXPECT_FALSE(layout.zero_stage.has_value());
  EXPECT_EQ(layout.sharding.shard_group_size, 0);
  EXPECT_FALSE(layout.reshard_after_forward.has_value());
  EXPECT_EQ(layout.sharding.prefetched_unit_count, 1);
  EXPECT_EQ(layout.frozen.data_type, DataType::kUnspecified);
  EXPECT_EQ(layout.frozen.block_size, 0);
  EXPECT_EQ(layout.kernels.recomputation.layers_per_block, 1);
  EXPECT_EQ(layout.kernels.expert_load_factor, 1);
  EXPECT_FALSE(layout.loss.has_value());
  EXPECT_FALSE(layout.framework.persistent_gradients.has_value());
  EXPECT_FALSE(layout.framework.fused_weight_gradient.has_value());
  EXPECT_FALSE(layout.framework.reduce_bucket_elements.has_value());
  EXPECT_FALSE(layout.framework.gather_bucket_elements.has_value());
  EXPECT_FALSE(layout.framework.workspace_bytes.has_value());
  EXPECT_FALSE(layout.framework.fragmentation_ratio.has_value());
  EXPECT_FALSE(layout.framework.context_bytes.has_value());
  EXPECT_FALSE(layout.framework.communicator_bytes.has_value());
  EXPECT_FALSE(layout.framework.deferred_reduction.has_value());
}

// Zeros with a meaning arrive as zeros; those that would be taken for a default are refused.
TEST(RunLayoutFrom, TellsAnExplicitZeroFromADefault) {
  FieldViolations violations;
  const RunLayout layout = RunLayoutFrom(
      MessageOf<v1::RunLayout>(
          R"json({"context_parallel_size": 0, "micro_batch_size": 0, "global_batch_size": 0,
                   "sharding": {"shard_group_size": 0, "prefetched_unit_count": 0},
                   "storage": {"frozen_block_size": 0},
                   "parallel": {"tensor_parallel_size": 0, "expert_tensor_parallel_size": 0},
                   "kernels": {"recomputed_layers_per_block": 0, "expert_load_factor": 0},
                   "framework": {"reduce_bucket_elements": 0, "context_bytes": 0}})json"),
      "layout", violations);
  EXPECT_THAT(
      FieldsOf(violations),
      UnorderedElementsAre("layout.sharding.shard_group_size", "layout.storage.frozen_block_size",
                           "layout.parallel.tensor_parallel_size",
                           "layout.parallel.expert_tensor_parallel_size"));
  EXPECT_EQ(layout.context_parallel_size, 0);
  EXPECT_EQ(layout.micro_batch_size, 0);
  EXPECT_EQ(layout.global_batch_size, 0);
  EXPECT_EQ(layout.sharding.prefetched_unit_count, 0);
  EXPECT_EQ(layout.kernels.recomputation.layers_per_block, 0);
  EXPECT_EQ(layout.kernels.expert_load_factor, 0);
  EXPECT_EQ(layout.framework.reduce_bucket_elements, 0);
  EXPECT_EQ(layout.framework.context_bytes, 0);
}

TEST(RunLayoutFrom, NamesEnumNumbersThatItDoesNotKnow) {
  FieldViolations violations;
  const RunLayout layout =
      RunLayoutFrom(MessageOf<v1::RunLayout>(R"json({"schedule": 6, "sharding": {"zero_stage": 5},
                   "storage": {"frozen_data_type": 99, "scaling": -1},
                   "kernels": {"attention": 3, "loss": 6, "expert_scaling": 3,
                               "matmul_input_data_type": 99},
                   "framework": {"kind": 9}})json"),
                    "layout", violations);
  EXPECT_THAT(
      FieldsOf(violations),
      UnorderedElementsAre("layout.schedule", "layout.sharding.zero_stage",
                           "layout.storage.frozen_data_type", "layout.storage.scaling",
                           "layout.kernels.attention", "layout.kernels.loss",
                           "layout.kernels.expert_scaling", "layout.kernels.matmul_input_data_type",
                           "layout.framework.kind"));
  EXPECT_EQ(layout.schedule, PipelineSchedule::kOneForwardOneBackward);
  EXPECT_FALSE(layout.zero_stage.has_value());
  EXPECT_FALSE(layout.loss.has_value());
}

}  // namespace
}  // namespace sextant::server
