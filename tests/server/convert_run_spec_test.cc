// Runs and layouts from the wire.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "server/convert/enums.h"
#include "server/convert/layout.h"
#include "server/convert/run_spec.h"
#include "tests/server/message_matchers.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/wire_values.h"
#include "tests/support/field_names.h"

namespace sextant::server {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Every field has a different value, so that a dropped or swapped one is detected. Calibrations are
// read anew for each request.
RunSpec ReadRun(const v1::PlanRunRequest& request, FieldViolations& violations) {
  SuppliedCalibrations supplied;
  return RunSpecFrom(request, FinderOf(supplied), violations);
}

TEST(RunSpecFrom, CarriesEveryField) {
  v1::PlanRunRequest request = MessageOf<v1::PlanRunRequest>(R"({
    "model": {"preset": "p", "parameter_count": 1, "transformer": {
      "layer_count": 2, "hidden_size": 3, "feed_forward_size": 4, "attention_head_count": 5,
      "key_value_head_count": 6, "head_size": 7, "vocabulary_size": 8, "tied_embeddings": true,
      "learned_position_count": 9, "feed_forward_kind": "FEED_FORWARD_KIND_PLAIN",
      "norm_kind": "NORM_KIND_RMS_NORM", "norms_per_layer": 1, "final_norm": false,
      "query_key_norm": "QUERY_KEY_NORM_ALL_HEADS", "query_key_value_bias": true,
      "attention_output_bias": true, "feed_forward_bias": true, "output_head_bias": true,
      "embedding_size": 10}, "architecture": {"hidden_size": 25},
      "changes": {"vocabulary_multiple": 26, "base_frozen": true, "frozen_layer_count": 27,
        "frozen_components": ["norm", "router"],
        "adapters": {"rank": 28, "targets": ["attention.query", "output_head"]}}},
    "training": {"token_count": 11, "activation_bytes": 12, "sequence_length": 23,
      "encoder_sequence_length": 24, "recompute": "RECOMPUTE_POLICY_SELECTIVE",
      "precision": {"compute_data_type": "DATA_TYPE_FP8", "weight_data_type": "DATA_TYPE_FP16",
        "gradient_data_type": "DATA_TYPE_FP32", "master_weights": false,
        "optimizer_data_type": "DATA_TYPE_BF16"}, "optimizer": {"kind": "KIND_ADAFACTOR",
        "implementation": "IMPLEMENTATION_FOREACH", "paged": true,
        "adafactor_momentum": true, "in_backward": true, "galore_rank": 70,
        "quantization_block_size": 13}},
    "cluster": {"device": {"accelerator": "a"}, "device_count": 14, "peak_flops_per_second": 15,
      "device_memory_bytes": 16, "reserved_memory_bytes": 17, "node_type": "n",
      "network": {"name": "w", "bytes_per_second": 33}, "host_link_bytes_per_second": 34,
      "host_memory_bytes_per_second": 35, "host_memory_bytes": 36},
    "economics": {"device_hour_price_usd": 18, "device_power_watts": 19,
      "host_power_watts_per_device": 20, "power_usage_effectiveness": 21, "budget_usd": 34,
      "start_time": "2027-01-01T00:00:00.5Z", "deadline": "2027-01-02T00:00:01.25Z"},
    "interruptions": {"failures_per_device_hour": 35, "restart_duration": "36.5s",
      "checkpoint_write_bytes_per_second": 37, "device_write_bytes_per_second": 38,
      "checkpoint_read_bytes_per_second": 39, "checkpoint_stall_ratio": 40,
      "checkpoint_interval": "41s", "stall_ratio": 42},
    "layout": {"micro_batch_size": 29},
    "measured_step": {"seconds": 2.5, "layout": {"micro_batch_size": 30}, "device_count": 31,
      "sequence_length": 32, "recompute": "RECOMPUTE_POLICY_FULL"},
    "options": {"view": "PLAN_VIEW_FULL", "fits_chance": 0.95, "does_not_fit_chance": 0.05,
      "require_activations": true, "search": "LAYOUT_SEARCH_NONE", "tensor_across_nodes": true,
      "assumed_mfu": 0.22, "include_derivation": true, "include_ledger": true,
      "include_operations": true, "search_kernels": true,
      "flops_convention": "FLOPS_CONVENTION_SIX_N_NON_EMBEDDING"},
     "rate_requirement": {"minimum_source": "RATE_SOURCE_MEASURED_DEVICE",
       "maximum_age": "90.5s"}})");
  request.mutable_model()->set_hugging_face_config(
      R"({"model_type": "gptj", "n_layer": 2, "n_embd": 8, "n_head": 2, "vocab_size": 10,
          "rotary": true, "house_rule": true})");
  request.mutable_model()->set_allow_unread_fields(true);
  // Detects a field that is added to the API but not to the conversion or to the test.
  // Layouts and architectures have tests of their own; a device is selected in one way.
  v1::PlanRunRequest shallow = request;
  shallow.clear_layout();
  shallow.mutable_measured_step()->clear_layout();
  shallow.mutable_model()->clear_architecture();
  EXPECT_THAT(UnsetFields(shallow),
              UnorderedElementsAre(
                  "sextant.v1.DeviceSelector.calibrations", "sextant.v1.DeviceSelector.fleet",
                  "sextant.v1.DeviceSelector.host_devices", "sextant.v1.MeasuredStep.layout",
                  "sextant.v1.ModelSpec.architecture", "sextant.v1.PlanRunRequest.layout"));
  FieldViolations violations;
  const RunSpec run = ReadRun(request, violations);
  EXPECT_TRUE(violations.empty());

  EXPECT_EQ(run.model.preset, "p");
  EXPECT_EQ(run.model.parameter_count, 1);
  ASSERT_TRUE(run.model.hugging_face_config.has_value());
  EXPECT_EQ(run.model.hugging_face_config->model_type, "gptj");
  EXPECT_EQ(run.model.hugging_face_config->architecture.hidden_size, 8);
  EXPECT_THAT(run.model.hugging_face_config->ignored_fields, ::testing::ElementsAre("rotary"));
  EXPECT_THAT(run.model.hugging_face_config->unread_fields, ::testing::ElementsAre("house_rule"));
  ASSERT_TRUE(run.model.architecture.has_value());
  EXPECT_EQ(run.model.architecture->hidden_size, 25);  // more of it: convert_architecture_test.cc
  const ModelChanges& changes = run.model.changes;
  EXPECT_EQ(changes.vocabulary_multiple, 26);
  EXPECT_TRUE(changes.base_frozen);
  EXPECT_EQ(changes.frozen_layer_count, 27);
  EXPECT_EQ(changes.frozen_components,
            (std::vector{WeightComponent::kNorm, WeightComponent::kRouter}));
  ASSERT_TRUE(changes.adapters.has_value());
  EXPECT_EQ(changes.adapters->rank, 28);
  ASSERT_EQ(changes.adapters->targets.size(), 2u);
  EXPECT_EQ(changes.adapters->targets[0].module, "attention");
  EXPECT_EQ(changes.adapters->targets[0].name, "query");
  EXPECT_EQ(changes.adapters->targets[1].module, "output_head");
  EXPECT_EQ(changes.adapters->targets[1].name, "");
  ASSERT_TRUE(run.model.transformer.has_value());
  const TransformerSpec& t = *run.model.transformer;
  EXPECT_THAT(Numbers(t.layer_count, t.hidden_size, t.feed_forward_size, t.attention_head_count,
                      t.key_value_head_count, t.head_size, t.vocabulary_size, t.tied_embeddings,
                      t.learned_position_count, t.norms_per_layer, t.final_norm, t.embedding_size),
              ElementsAre(2, 3, 4, 5, 6, 7, 8, 1, 9, 1, 0, 10));
  EXPECT_THAT(Numbers(t.query_key_value_bias, t.attention_output_bias, t.feed_forward_bias,
                      t.output_head_bias),
              Each(1));
  EXPECT_EQ(t.feed_forward_kind, FeedForwardKind::kPlain);
  EXPECT_EQ(t.norm_kind, NormKind::kRmsNorm);
  EXPECT_EQ(t.query_key_norm, QueryKeyNorm::kAllHeads);

  const TrainingSpec& training = run.training;
  EXPECT_THAT(Numbers(training.token_count, training.activation_bytes, training.sequence_length,
                      training.encoder_sequence_length, training.precision.master_weights,
                      training.optimizer.adafactor_momentum, training.optimizer.in_backward,
                      training.optimizer.galore_rank, training.optimizer.quantization_block_size),
              ElementsAre(11, 12, 23, 24, 0, 1, 1, 70, 13));
  EXPECT_EQ(training.optimizer.loop, OptimizerLoop::kForeach);
  EXPECT_TRUE(training.optimizer.paged);
  EXPECT_EQ(training.recompute, RecomputePolicy::kSelective);
  EXPECT_EQ(training.precision.compute_data_type, DataType::kFp8);
  EXPECT_EQ(training.precision.weight_data_type, DataType::kFp16);
  EXPECT_EQ(training.precision.gradient_data_type, DataType::kFp32);
  EXPECT_EQ(training.precision.optimizer_data_type, DataType::kBf16);
  EXPECT_EQ(training.optimizer.kind, OptimizerKind::kAdafactor);

  EXPECT_EQ(run.cluster.device.accelerator, "a");
  EXPECT_EQ(run.cluster.node_type, "n");
  EXPECT_EQ(run.cluster.network.name, "w");
  EXPECT_THAT(Numbers(run.cluster.device_count, run.cluster.peak_flops_per_second,
                      run.cluster.device_memory_bytes, run.cluster.reserved_memory_bytes,
                      run.cluster.network.bytes_per_second, run.cluster.host_link_bytes_per_second,
                      run.cluster.host_memory_bytes_per_second, run.cluster.host_memory_bytes),
              ElementsAre(14, 15, 16, 17, 33, 34, 35, 36));
  EXPECT_THAT(
      Numbers(run.economics.device_hour_price_usd, run.economics.device_power_watts,
              run.economics.host_power_watts_per_device, run.economics.power_usage_effectiveness,
              run.economics.budget_usd, run.economics.seconds_to_deadline),
      ElementsAre(18, 19, 20, 21, 34, 86'400.75));
  const auto& stops = run.interruptions;
  EXPECT_THAT(Numbers(stops.failures_per_device_hour, stops.restart_seconds,
                      stops.checkpoint_write_bytes_per_second, stops.device_write_bytes_per_second,
                      stops.checkpoint_read_bytes_per_second, stops.checkpoint_stall_ratio,
                      stops.checkpoint_interval_seconds, stops.stall_ratio),
              ElementsAre(35, 36.5, 37, 38, 39, 40, 41, 42));
  const auto& options = run.options;
  EXPECT_THAT(
      Numbers(options.assumed_mfu, options.thresholds.fits, options.thresholds.does_not_fit),
      ElementsAre(0.22, 0.95, 0.05));
  EXPECT_THAT(Numbers(options.full, options.include_derivation, options.require_activations,
                      options.include_ledger, options.include_operations,
                      options.tensor_across_nodes, options.search_kernels),
              Each(1));
  EXPECT_EQ(options.flops_convention, FlopsConvention::kSixNNonEmbedding);
  ASSERT_TRUE(run.layout.has_value());
  EXPECT_EQ(run.layout->micro_batch_size, 29);  // more of it: EveryField
  ASSERT_TRUE(run.measured_step.has_value());
  EXPECT_THAT(Numbers(run.measured_step->seconds, run.measured_step->layout.micro_batch_size,
                      run.measured_step->device_count, run.measured_step->sequence_length),
              ElementsAre(2.5, 30, 31, 32));
  EXPECT_EQ(run.measured_step->recompute, RecomputePolicy::kFull);
  EXPECT_EQ(run.rate_requirement.minimum_source, RateSource::kMeasuredDevice);
  EXPECT_EQ(run.rate_requirement.maximum_age_seconds, 90.5);
}

TEST(RunSpecFrom, RefusesTimesThatAreNone) {
  v1::PlanRunRequest request;
  request.mutable_economics()->mutable_start_time()->set_nanos(-1);
  request.mutable_interruptions()->mutable_restart_duration()->set_nanos(-1);
  request.mutable_interruptions()->mutable_checkpoint_interval()->set_nanos(1'000'000'000);
  request.mutable_rate_requirement()->mutable_maximum_age()->set_nanos(-1);
  FieldViolations violations;
  ReadRun(request, violations);
  EXPECT_THAT(
      FieldsOf(violations),
      UnorderedElementsAre("economics.start_time", "interruptions.restart_duration",
                           "interruptions.checkpoint_interval", "rate_requirement.maximum_age"));
  request = {};
  request.mutable_economics()->mutable_start_time()->set_seconds(0);
  request.mutable_economics()->mutable_deadline()->set_seconds(int64_t{1} << 62);
  FieldViolations late;
  ReadRun(request, late);
  EXPECT_THAT(FieldsOf(late), ElementsAre("economics.deadline"));
}

TEST(RunSpecFrom, AnEmptyRequestStandsForDefaults) {
  FieldViolations violations;
  const RunSpec run = ReadRun(v1::PlanRunRequest(), violations);
  EXPECT_TRUE(violations.empty());  // missing fields are reported by the engine
  EXPECT_FALSE(run.model.transformer.has_value() || run.layout.has_value());
  EXPECT_EQ(run.training.optimizer.kind, OptimizerKind::kAdamw);
  EXPECT_THAT(Numbers(run.model.parameter_count, run.training.precision.master_weights,
                      run.options.assumed_mfu),
              Each(kAbsent));
  EXPECT_FALSE(run.options.include_ledger || run.options.include_operations);
}

// Every field has a different value, other than its default, so that a dropped or swapped one is
// detected.
constexpr char kEveryField[] = R"json({
  "parallel": {"tensor_parallel_size": 2, "pipeline_parallel_size": 3, "virtual_stage_count": 4,
    "layers_per_chunk": [5, 6], "expert_parallel_size": 7, "expert_tensor_parallel_size": 8,
    "split_key_value_heads": true},
  "context_parallel_size": 9, "context_parallel_kind": "CONTEXT_PARALLEL_KIND_ALL_TO_ALL",
  "sequence_parallel": false, "micro_batch_size": 10, "global_batch_size": 11,
  "schedule": "PIPELINE_SCHEDULE_ZERO_BUBBLE_H1", "deferred_head_gradients": 67,
  "unmodelled_settings": ["x", "y"], "unmodelled_effect": "MEMORY_EFFECT_RAISES",
  "sharding": {"zero_stage": "ZERO_STAGE_GRADIENTS", "shard_group_size": 12,
    "secondary_group_size": 68, "reshard_after_forward": false,
    "prefetched_unit_count": 13, "offload_optimizer": true, "offload_parameters": true},
  "storage": {"frozen_data_type": "DATA_TYPE_INT4", "frozen_block_size": 14,
    "double_quantization": true, "scaling": "SCALING_BLOCK", "fp8_weight_copies": 15},
  "kernels": {"attention": "ATTENTION_UNFUSED", "loss": "LOSS_FUSED", "loss_chunk_tokens": 16,
    "dropout": true, "adapter_dropout": true, "matmul_input_data_type": "DATA_TYPE_FP8",
    "recomputed_layers_per_block": 17,
    "recompute_activation_function": true, "recompute_norm_outputs": true,
    "recompute_latent_up_projections": true, "expert_load_factor": 1.8,
    "expert_scaling": "EXPERT_SCALING_AFTER_DOWN", "attention_output_copied": true,
    "fused_expert_activation": false, "expert_dispatch": "EXPERT_DISPATCH_ALL_GATHER"},
  "framework": {"kind": "KIND_DEEPSPEED", "model_code": "MODEL_CODE_PLAIN",
    "model_code_release": "4.45", "live_elements": 69,
    "persistent_gradients": false,
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
  const ParallelSizes& p = layout_.parallel;
  EXPECT_THAT(
      Numbers(p.tensor_parallel_size, p.pipeline_parallel_size, p.virtual_stage_count,
              p.expert_parallel_size, p.expert_tensor_parallel_size, p.split_key_value_heads),
      ElementsAre(2, 3, 4, 7, 8, 1));
  EXPECT_THAT(p.layers_per_chunk, ElementsAre(5, 6));
  EXPECT_THAT(
      Numbers(layout_.context_parallel_size, layout_.sequence_parallel, layout_.micro_batch_size,
              layout_.global_batch_size, layout_.deferred_head_gradients),
      ElementsAre(9, 0, 10, 11, 67));
  EXPECT_EQ(layout_.context_parallel_kind, ContextParallelKind::kAllToAll);
  EXPECT_EQ(layout_.schedule, PipelineSchedule::kZeroBubbleH1);
}

TEST_F(EveryField, OfModelStateArrives) {
  const auto& sharding = layout_.sharding;
  EXPECT_THAT(Numbers(sharding.shard_group_size, sharding.secondary_group_size,
                      layout_.reshard_after_forward, sharding.prefetched_unit_count,
                      sharding.offload_optimizer, sharding.offload_parameters),
              ElementsAre(12, 68, 0, 13, 1, 1));
  EXPECT_THAT(Numbers(layout_.frozen.block_size, layout_.frozen.double_quantization,
                      layout_.fp8_weight_copies),
              ElementsAre(14, 1, 15));
  EXPECT_EQ(layout_.zero_stage, ZeroStage::kGradients);
  EXPECT_EQ(layout_.frozen.data_type, DataType::kInt4);
  EXPECT_EQ(layout_.weight_scaling, WeightScaling::kBlock);
}

TEST_F(EveryField, OfKernelsArrives) {
  const auto& kernels = layout_.kernels;
  EXPECT_THAT(Numbers(kernels.loss_chunk_tokens, kernels.dropout, kernels.adapter_dropout,
                      kernels.recomputation.layers_per_block,
                      kernels.recomputation.activation_function, kernels.recomputation.norm_outputs,
                      kernels.recomputation.latent_up_projections, kernels.expert_load_factor,
                      layout_.attention_output_copied, layout_.fused_expert_activation),
              ElementsAre(16, 1, 1, 17, 1, 1, 1, 1.8, 1, 0));
  EXPECT_EQ(layout_.attention, AttentionKernel::kUnfused);
  EXPECT_EQ(layout_.loss, LossKind::kFused);
  EXPECT_EQ(kernels.matmul_input_data_type, DataType::kFp8);
  EXPECT_EQ(kernels.expert_scaling, ExpertScaling::kAfterDown);
  EXPECT_EQ(kernels.expert_dispatch, ExpertDispatch::kAllGather);
}

TEST_F(EveryField, OfTheFrameworkArrives) {
  const auto& f = layout_.framework;
  EXPECT_EQ(f.kind, Framework::kDeepSpeed);
  EXPECT_EQ(f.code, ModelCode::kPlain);
  EXPECT_EQ(f.code_release, (CodeRelease{4, 45}));
  EXPECT_FALSE(f.code_assumed);
  EXPECT_THAT(Numbers(f.persistent_gradients, f.fused_weight_gradient, f.reduce_bucket_elements,
                      f.gather_bucket_elements, f.live_elements, f.workspace_bytes,
                      f.fragmentation_ratio, f.context_bytes, f.communicator_bytes),
              ElementsAre(0, 1, 19, 20, 69, 21, 0.22, 23, 24));
  EXPECT_THAT(Numbers(f.deferred_reduction, f.named, f.transformer_engine, f.deterministic,
                      f.grouped_experts, f.fused_projections, f.captured_graphs),
              ElementsAre(0, 1, 1, 1, 0, 0, 1));
}

TEST_F(EveryField, OfTheSoftwareArrives) {
  EXPECT_THAT(layout_.unmodelled_settings, ElementsAre("x", "y"));
  EXPECT_EQ(layout_.unmodelled_effect, MemoryEffect::kRaises);
  ASSERT_EQ(layout_.batch_ramp.size(), 1u);
  EXPECT_EQ(layout_.batch_ramp[0].token_count, 65);
  EXPECT_EQ(layout_.batch_ramp[0].global_batch_size, 66);
  EXPECT_EQ(layout_.software.name, "torchtitan");
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
  const auto& f = layout.framework;
  EXPECT_THAT(
      Numbers(layout.context_parallel_size, layout.context_parallel_kind, layout.sequence_parallel,
              layout.micro_batch_size, layout.global_batch_size, layout.zero_stage,
              layout.reshard_after_forward, layout.loss, f.persistent_gradients,
              f.fused_weight_gradient, f.reduce_bucket_elements, f.gather_bucket_elements,
              f.live_elements, f.workspace_bytes, f.fragmentation_ratio, f.context_bytes,
              f.communicator_bytes, f.deferred_reduction),
      Each(kAbsent));
  EXPECT_FALSE(f.code_release.has_value());
  EXPECT_THAT(
      Numbers(layout.parallel.tensor_parallel_size, layout.parallel.expert_tensor_parallel_size),
      Each(kAbsent));
  EXPECT_THAT(Numbers(layout.sharding.shard_group_size, layout.sharding.prefetched_unit_count,
                      layout.frozen.block_size, layout.kernels.recomputation.layers_per_block,
                      layout.kernels.expert_load_factor),
              ElementsAre(0, 1, 0, 1, 1));
  EXPECT_EQ(layout.frozen.data_type, DataType::kUnspecified);
}

TEST(RunLayoutFrom, RefusesWhatIsNoRelease) {
  FieldViolations violations;
  v1::RunLayout wire;
  wire.mutable_framework()->set_model_code_release("main");
  (void)RunLayoutFrom(wire, "layout", violations);
  EXPECT_THAT(violations.ToStatus(),
              NamesFields(ElementsAre("layout.framework.model_code_release")));
}

// Zeros arrive as zeros: limits of the fields refuse those that would be taken for a default.
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
  EXPECT_TRUE(violations.empty());
  EXPECT_THAT(
      Numbers(layout.context_parallel_size, layout.micro_batch_size, layout.global_batch_size,
              layout.sharding.prefetched_unit_count, layout.kernels.recomputation.layers_per_block,
              layout.kernels.expert_load_factor, layout.framework.reduce_bucket_elements,
              layout.framework.context_bytes),
      Each(0));
}

}  // namespace
}  // namespace sextant::server
