#include "tests/validation/request.h"

namespace sextant {
namespace {

constexpr int64_t kTokens = 1'000'000'000;

// Tensor x pipeline x context parallel size.
int64_t ReplicaSize(const v1::RunLayout& layout) {
  const auto size = [](bool given, int64_t value) { return given ? value : 1; };
  const v1::ParallelLayout& p = layout.parallel();
  return size(p.has_tensor_parallel_size(), p.tensor_parallel_size()) *
         size(p.has_pipeline_parallel_size(), p.pipeline_parallel_size()) *
         size(layout.has_context_parallel_size(), layout.context_parallel_size());
}

}  // namespace

v1::PlanRunRequest RequestOn(const std::string& accelerator) {
  v1::PlanRunRequest out;
  out.mutable_cluster()->mutable_device()->set_accelerator(accelerator);
  out.mutable_training()->set_token_count(kTokens);
  return out;
}

void SetSizes(const RunSizes& sizes, v1::PlanRunRequest& request) {
  v1::RunLayout& layout = *request.mutable_layout();
  request.mutable_cluster()->set_device_count(sizes.data_parallel_size * ReplicaSize(layout));
  layout.set_global_batch_size(layout.micro_batch_size() * sizes.data_parallel_size *
                               sizes.micro_batch_count);
}

int64_t DataParallelSize(const v1::PlanRunRequest& request) {
  const int64_t replica = ReplicaSize(request.layout());
  return replica < 1 ? 1 : request.cluster().device_count() / replica;
}

void SetUnevenStages(int64_t layer_count, v1::ParallelLayout& out) {
  const int64_t stages = out.pipeline_parallel_size();
  if (stages < 1 || stages > layer_count || layer_count % stages == 0) return;
  for (int64_t i = 0; i < stages; ++i) {
    out.add_layers_per_chunk(layer_count / stages + (i < layer_count % stages ? 1 : 0));
  }
}

void SetMixedPrecision(v1::DataType compute, v1::DataType gradient, v1::PlanRunRequest& request) {
  v1::PrecisionPolicy& out = *request.mutable_training()->mutable_precision();
  out.set_compute_data_type(compute);
  out.set_weight_data_type(compute);
  out.set_gradient_data_type(gradient);
  out.set_master_weights(compute != v1::DATA_TYPE_FP32);
  out.set_optimizer_data_type(v1::DATA_TYPE_FP32);
}

v1::PlanRunRequest DefaultsOf(v1::PlanRunRequest request) {
  const v1::DataType compute = request.training().precision().compute_data_type();
  v1::PrecisionPolicy& precision = *request.mutable_training()->mutable_precision();
  precision.Clear();
  precision.set_compute_data_type(compute);
  if (request.model().has_architecture()) {
    request.mutable_model()
        ->mutable_architecture()
        ->mutable_embedding()
        ->clear_padded_vocabulary_size();
  }
  v1::RunLayout& layout = *request.mutable_layout();
  layout.mutable_sharding()->clear_reshard_after_forward();
  v1::KernelChoices& kernels = *layout.mutable_kernels();
  kernels.clear_loss();
  kernels.clear_loss_chunk_tokens();
  kernels.clear_attention_output_copied();
  kernels.clear_fused_expert_activation();
  // Determinism is a property of the run, of which no framework has a default.
  const v1::FrameworkMemory given = layout.framework();
  layout.mutable_framework()->Clear();
  layout.mutable_framework()->set_kind(given.kind());
  layout.mutable_framework()->set_deterministic(given.deterministic());
  return request;
}

}  // namespace sextant
