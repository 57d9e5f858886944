#include "tests/soak/limit_requests.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/run/job.h"
#include "server/convert/architecture.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/benchmarks/service_requests.h"
#include "tests/engine/run/worst_plans.h"
#include "tests/soak/full_selectors.h"

namespace sextant::server {
namespace {

class Requests {
 public:
  template <typename Message>
  void Add(const std::string& method, const std::string& name, Message message) {
    all_.push_back({method, name, std::make_shared<Message>(std::move(message))});
  }
  std::vector<LimitRequest> Take() { return std::move(all_); }

 private:
  std::vector<LimitRequest> all_;
};

// A model of `run`, as the wire has it.
v1::ModelSpec ModelOf(const RunSpec& run) {
  v1::ModelSpec out;
  ArchitectureTo(*run.model.architecture, out.mutable_architecture());
  if (const auto& adapters = run.model.architecture->adapters; adapters.has_value()) {
    auto& wire = *out.mutable_changes()->mutable_adapters();
    wire.set_rank(adapters->rank);
    for (const auto& target : adapters->targets) {
      wire.add_targets(absl::StrCat(target.module, ".", target.name));
    }
  }
  return out;
}

void ParallelTo(const ParallelLayout& layout, v1::ParallelLayout& out) {
  out.set_pipeline_parallel_size(layout.pipeline_parallel_size);
  out.set_virtual_stage_count(layout.virtual_stage_count);
  for (const int64_t layers : layout.layers_per_chunk) out.add_layers_per_chunk(layers);
}

v1::PlanRunRequest RequestOf(const RunSpec& run) {
  v1::PlanRunRequest out;
  *out.mutable_model() = ModelOf(run);
  v1::TrainingSpec& training = *out.mutable_training();
  training.set_token_count(run.training.token_count);
  training.set_sequence_length(*run.training.sequence_length);
  if (run.training.encoder_sequence_length.has_value()) {
    training.set_encoder_sequence_length(*run.training.encoder_sequence_length);
  }
  v1::ClusterSpec& cluster = *out.mutable_cluster();
  cluster.mutable_device()->set_accelerator("h100-sxm");
  cluster.set_device_count(run.cluster.device_count);
  cluster.set_node_type(std::string(run.cluster.node_type));
  cluster.set_device_memory_bytes(*run.cluster.device_memory_bytes);
  v1::RunLayout& layout = *out.mutable_layout();
  ParallelTo(LayoutOf(run.layout->parallel), *layout.mutable_parallel());
  layout.set_schedule(static_cast<v1::PipelineSchedule>(
      static_cast<int>(run.layout->schedule.value_or(PipelineSchedule::kOneForwardOneBackward)) +
      1));
  layout.set_micro_batch_size(*run.layout->micro_batch_size);
  if (run.layout->global_batch_size.has_value()) {
    layout.set_global_batch_size(*run.layout->global_batch_size);
  }
  for (const BatchPhase& phase : run.layout->batch_ramp) {
    auto& wire = *layout.add_batch_ramp();
    wire.set_token_count(phase.token_count);
    wire.set_global_batch_size(phase.global_batch_size);
  }
  layout.mutable_kernels()->set_attention(v1::KernelChoices::ATTENTION_UNFUSED);
  layout.mutable_kernels()->set_loss(v1::KernelChoices::LOSS_PLAIN);
  layout.mutable_framework()->set_kind(v1::FrameworkMemory::KIND_PYTORCH_FSDP);
  if (run.layout->zero_stage == ZeroStage::kParameters) {
    layout.mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_PARAMETERS);
    layout.mutable_sharding()->set_prefetched_unit_count(3);
    training.mutable_optimizer()->set_kind(v1::OptimizerSpec::KIND_ADAM_8BIT);
  }
  out.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  return out;
}

v1::PlanRunRequest PlanOf(const v1::DeviceSelector& devices, bool with_layout) {
  v1::PlanRunRequest out;
  out.mutable_model()->set_preset("llama-3.1-70b");
  out.mutable_training()->set_token_count(1'000'000'000'000);
  out.mutable_training()->set_sequence_length(8192);
  *out.mutable_cluster()->mutable_device() = devices;
  out.mutable_cluster()->set_device_count(1024);
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  out.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  if (!with_layout) return out;
  out.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(8);
  out.mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(4);
  out.mutable_layout()->set_global_batch_size(1024);
  return out;
}

void AddPlans(Requests& out) {
  for (const WorstPlan& worst : WorstPlans()) {
    v1::PlanRunRequest request = RequestOf(worst.run);
    out.Add("PlanningService/PlanRun", worst.name, request);
    request.mutable_options()->set_include_derivation(true);
    out.Add("PlanningService/PlanRun", worst.name + ", derived", request);
    request.clear_layout();
    out.Add("PlanningService/PlanRun", worst.name + ", no layout", request);
    v1::CountModelRequest count;
    *count.mutable_model() = request.model();
    ParallelTo(LayoutOf(worst.run.layout->parallel), *count.mutable_layout());
    for (int i = 0; i < 4096; ++i) {
      auto* const group = count.mutable_step()->add_sequences();
      group->set_length(1 + i);
      if (worst.run.training.encoder_sequence_length.has_value()) group->set_encoder_length(1 + i);
    }
    count.set_include_components(true);
    out.Add("AccountingService/CountModel", worst.name, count);
    count.set_include_tensors(true);
    count.set_include_architecture(true);
    out.Add("AccountingService/CountModel", worst.name + ", all parts", count);
  }
  const v1::PlanRunRequest timed = RequestOf(TimedWorstPlan());
  for (const auto& [name, devices] : FullSelectors()) {
    out.Add("PlanningService/PlanRun", name, PlanOf(devices, false));
    out.Add("PlanningService/PlanRun", name + ", layout", PlanOf(devices, true));
    v1::PlanRunRequest worst = timed;
    *worst.mutable_cluster()->mutable_device() = devices;
    out.Add("PlanningService/PlanRun", name + ", worst", worst);
  }
}

void AddHardware(Requests& out) {
  for (const auto& [name, devices] : FullSelectors()) {
    v1::GetKernelRatesRequest rates;
    *rates.mutable_device() = devices;
    rates.add_data_types(v1::DATA_TYPE_BF16);
    out.Add("HardwareService/GetKernelRates", name, rates);
    v1::GetLinkTimesRequest links;
    *links.mutable_nodes()->mutable_device() = devices;
    links.mutable_nodes()->set_node_type("dgx-h100");
    out.Add("HardwareService/GetLinkTimes", name, links);
    v1::AnalyzeOperationRequest operation;
    operation.mutable_operation()->mutable_matmul()->set_m(4096);
    operation.mutable_operation()->mutable_matmul()->set_n(4096);
    operation.mutable_operation()->mutable_matmul()->set_k(4096);
    operation.mutable_data_types()->set_input(v1::DATA_TYPE_BF16);
    *operation.mutable_device()->mutable_device() = devices;
    out.Add("AccountingService/AnalyzeOperation", name, operation);
    v1::AllocateComputeRequest allocate;
    *allocate.mutable_cluster()->mutable_device() = devices;
    allocate.mutable_cluster()->set_device_count(16);
    allocate.mutable_cluster()->set_peak_flops_per_second(1e15);
    allocate.mutable_duration()->set_seconds(604'800);
    allocate.set_assumed_mfu(0.5);
    out.Add("PlanningService/AllocateCompute", name, allocate);
  }
  v1::GetKernelRatesRequest rates;
  *rates.mutable_device() = CalibrationsOf(4, {4, 100, 100});
  for (const v1::DataType type :
       {v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP32, v1::DATA_TYPE_INT8, v1::DATA_TYPE_FP16}) {
    rates.add_data_types(type);
  }
  out.Add("HardwareService/GetKernelRates", "4 calibrations in 4 types", rates);
  v1::GetLinkTimesRequest links;
  links.mutable_nodes()->set_node_type("dgx-h100");
  links.mutable_nodes()->set_node_count(1'000'000);
  links.set_host_copies(true);
  for (int i = 0; i < 64; ++i) links.add_sizes_bytes(1 + 1'000'003 * i);
  out.Add("HardwareService/GetLinkTimes", "64 sizes among a million nodes", links);
  out.Add("HardwareService/ListAccelerators", "all", v1::ListAcceleratorsRequest());
  out.Add("HardwareService/ListNodeTypes", "all", v1::ListNodeTypesRequest());
  v1::ListAcceleratorsRequest unknown;
  unknown.set_name(std::string(1'000'000, 'h'));
  out.Add("HardwareService/ListAccelerators", "a name of a megabyte", unknown);
}

// An expression of a chain of products "a0 a1, a1 a2, ... -> a0 aN".
std::string ChainExpression(int operands) {
  std::vector<std::string> terms;
  for (int i = 0; i < operands; ++i) terms.push_back(absl::StrCat("a", i, " a", i + 1));
  return absl::StrCat(absl::StrJoin(terms, ", "), " -> a0 a", operands);
}

v1::Operation EinsumOf(int operands, bool with_shapes) {
  v1::Operation out;
  out.mutable_einsum()->set_expression(ChainExpression(operands));
  for (int i = 0; with_shapes && i < operands; ++i) {
    auto* const each = out.mutable_einsum()->add_operands();
    each->add_shape(2 + i % 7);
    each->add_shape(2 + (i + 1) % 7);
  }
  return out;
}

v1::GraphTensor TensorOf(const std::string& name, std::initializer_list<int64_t> shape) {
  v1::GraphTensor out;
  out.set_name(name);
  for (const int64_t size : shape) out.add_shape(size);
  out.set_requires_gradient(true);
  return out;
}

// `count` einsums of `operands` matrices each.
v1::AnalyzeGraphRequest EinsumGraph(int count, int operands) {
  v1::AnalyzeGraphRequest out;
  v1::Graph& graph = *out.mutable_graph();
  graph.set_data_type(v1::DATA_TYPE_BF16);
  *graph.add_tensors() = TensorOf("x", {2, 2});
  for (int i = 0; i < count; ++i) {
    v1::GraphOperation& each = *graph.add_operations();
    each.set_name(absl::StrCat("e", i));
    *each.mutable_operation() = EinsumOf(operands, false);
    each.mutable_operation()->mutable_einsum()->clear_operands();
    for (int j = 0; j < operands; ++j) each.add_inputs("x");
    graph.add_losses(each.name());
  }
  return out;
}

// 4,096 sums, each of the last results.
v1::AnalyzeGraphRequest ChainGraph(int inputs, const std::string& segment, bool all_losses) {
  v1::AnalyzeGraphRequest out;
  v1::Graph& graph = *out.mutable_graph();
  graph.set_data_type(v1::DATA_TYPE_BF16);
  *graph.add_tensors() = TensorOf("x", {4, 4});
  for (int i = 0; i < 4096; ++i) {
    v1::GraphOperation& each = *graph.add_operations();
    each.set_name(absl::StrCat("o", i));
    each.mutable_operation()->mutable_elementwise()->set_function(v1::ELEMENTWISE_FUNCTION_ADD);
    for (int j = 1; j <= inputs; ++j) {
      each.add_inputs(i < j ? "x" : absl::StrCat("o", i - j));
    }
    if (!segment.empty()) each.set_segment(absl::StrCat(segment, i / 64));
    if (all_losses) graph.add_losses(each.name());
  }
  for (int i = 0; !segment.empty() && i < 64; ++i) {
    graph.add_checkpointed_segments(absl::StrCat(segment, i));
  }
  return out;
}

void AddAccounting(Requests& out) {
  const std::string method = "AccountingService/AnalyzeGraph";
  out.Add(method, "4,096 sums", ChainGraph(2, "", false));
  out.Add(method, "4,096 sums of 4", ChainGraph(4, "", true));
  out.Add(method, "4,096 sums in 64 checkpointed segments", ChainGraph(4, "s", false));
  for (const auto& [count, operands] :
       {std::pair(4, 64), {1600, 3}, {300, 7}, {34, 10}, {30, 20}, {20, 40}, {100, 9}}) {
    out.Add(method, absl::StrCat(count, " einsums of ", operands), EinsumGraph(count, operands));
  }
  for (const int operands : {3, 10, 64}) {
    v1::AnalyzeOperationRequest request;
    *request.mutable_operation() = EinsumOf(operands, true);
    request.mutable_data_types()->set_input(v1::DATA_TYPE_BF16);
    out.Add("AccountingService/AnalyzeOperation", absl::StrCat("einsum of ", operands), request);
  }
  v1::AnalyzeOperationRequest fused;
  fused.mutable_operation()->mutable_fused_chain()->set_count(1'000'000);
  for (int i = 0; i < 64; ++i) {
    fused.mutable_operation()->mutable_fused_chain()->add_steps()->set_function(
        v1::ELEMENTWISE_FUNCTION_EXP);
  }
  fused.mutable_data_types()->set_input(v1::DATA_TYPE_BF16);
  out.Add("AccountingService/AnalyzeOperation", "64 fused steps", fused);

  std::vector<std::string> axes;
  for (int i = 0; i < 32; ++i) axes.push_back(absl::StrCat("axis", i));
  const std::string all = absl::StrJoin(axes, " ");
  v1::AnalyzeTensorRequest tensor;
  tensor.mutable_tensor()->set_data_type(v1::DATA_TYPE_BF16);
  for (int i = 0; i < 32; ++i) tensor.mutable_tensor()->add_shape(2);
  for (int i = 0; i < 64; ++i) {
    if (i % 2 == 0) tensor.add_steps()->mutable_check_shape()->set_expression(all);
    if (i % 2 == 1) {
      tensor.add_steps()->mutable_rearrange()->set_expression(absl::StrCat(
          all, " -> ", absl::StrJoin(std::vector<std::string>(axes.rbegin(), axes.rend()), " ")));
    }
  }
  out.Add("AccountingService/AnalyzeTensor", "64 steps of 32 axes", tensor);

  v1::DescribeDataTypeRequest type;
  type.set_data_type(v1::DATA_TYPE_FP8_E4M3);
  for (int i = 0; i < 64; ++i) type.add_values(1.1 * i);
  out.Add("AccountingService/DescribeDataType", "64 values", type);
  v1::DescribeTokensRequest tokens;
  tokens.set_token_count(1'000'000);
  tokens.set_vocabulary_size(128'000);
  out.Add("AccountingService/DescribeTokens", "tokens", tokens);
  out.Add("AccountingService/ListDataTypes", "all", v1::ListDataTypesRequest());
  v1::ListModelsRequest models;
  out.Add("AccountingService/ListModels", "all", models);
  models.set_pattern(std::string(1'000'000, 'a'));
  out.Add("AccountingService/ListModels", "a pattern of a megabyte", models);
  v1::CountModelRequest config;
  std::string zeros = absl::StrJoin(std::vector<int>(30'000, 0), ",");
  for (const std::string& padding :
       {absl::StrCat("[", zeros, "]"), std::string(30'000, '[') + std::string(30'000, ']'),
        absl::StrCat("{", absl::StrJoin(std::vector<std::string>(10'000, "\"a\":0"), ","), "}")}) {
    config.mutable_model()->set_hugging_face_config(
        absl::StrCat("{\"model_type\":\"gpt2\",\"architectures\":[\"GPT2LMHeadModel\"],\"n_embd\":"
                     "768,\"n_layer\":12,\"n_head\":12,\"n_positions\":1024,\"vocab_size\":50257,"
                     "\"padding\":",
                     padding, "}"));
    out.Add("AccountingService/CountModel", "a large config.json", config);
  }
}

}  // namespace

std::vector<LimitRequest> LimitRequests() {
  Requests out;
  AddPlans(out);
  AddHardware(out);
  AddAccounting(out);
  return out.Take();
}

}  // namespace sextant::server
