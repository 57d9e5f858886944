#include "tests/benchmarks/plan_requests.h"

namespace sextant {
namespace {

v1::PlanRunRequest LaidOut(const char* preset, int64_t devices, int64_t tensor, int64_t pipeline) {
  v1::PlanRunRequest request = PresetPlan();
  request.mutable_model()->set_preset(preset);
  request.mutable_training()->set_sequence_length(8192);
  request.mutable_cluster()->set_device_count(devices);
  request.mutable_cluster()->set_node_type("dgx-h100");
  v1::RunLayout& layout = *request.mutable_layout();
  layout.set_global_batch_size(devices);
  layout.mutable_parallel()->set_tensor_parallel_size(tensor);
  layout.mutable_parallel()->set_pipeline_parallel_size(pipeline);
  layout.mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_OPTIMIZER);
  layout.mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  request.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  return request;
}

}  // namespace

v1::PlanRunRequest PresetPlan() {
  v1::PlanRunRequest request;
  request.mutable_model()->set_preset("llama-3.1-70b");
  request.mutable_training()->set_token_count(15'000'000'000'000);
  request.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  request.mutable_cluster()->set_device_count(1024);
  return request;
}

v1::PlanRunRequest Llama70bLayout() { return LaidOut("llama-3.1-70b", 64, 8, 4); }

v1::PlanRunRequest Llama405bLayout() { return LaidOut("llama-3.1-405b", 896, 8, 14); }

v1::PlanRunRequest DeepSeekLayout() {
  v1::PlanRunRequest request = LaidOut("deepseek-v3", 2048, 1, 16);
  v1::ParallelLayout& sizes = *request.mutable_layout()->mutable_parallel();
  sizes.set_expert_parallel_size(64);
  for (int i = 0; i < 16; ++i) sizes.add_layers_per_chunk(i < 13 ? 4 : 3);
  return request;
}

v1::PlanRunRequest Recomputing(v1::PlanRunRequest request) {
  request.mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_FULL);
  return request;
}

v1::PlanRunRequest OpenPlan() {
  v1::PlanRunRequest request = LaidOut("llama-3.1-70b", 512, 1, 1);
  request.mutable_layout()->clear_parallel();
  request.mutable_layout()->clear_sharding();
  request.mutable_options()->clear_search();
  return request;
}

}  // namespace sextant
