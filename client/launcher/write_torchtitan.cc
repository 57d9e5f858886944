#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/launcher/launcher.h"

namespace sextant::client {
namespace {

constexpr Expressible kTorchtitanFields[] = {
    {"training.sequence_length"},
    {"training.recompute", "none|full"},
    {"training.precision.compute_data_type", "fp32|bf16|fp8|mxfp8"},
    {"training.precision.weight_data_type", "fp32|bf16"},
    {"training.precision.gradient_data_type", "fp32|bf16"},
    {"training.precision.master_weights"},
    {"training.precision.optimizer_data_type", "fp32|bf16"},
    {"training.optimizer.kind", "adam|adamw"},
    {"layout.parallel.tensor_parallel_size"},
    {"layout.parallel.pipeline_parallel_size"},
    {"layout.parallel.virtual_stage_count"},
    {"layout.parallel.layers_per_chunk"},
    {"layout.parallel.expert_parallel_size"},
    {"layout.parallel.expert_tensor_parallel_size"},
    {"layout.context_parallel_size"},
    {"layout.context_parallel_kind", "ring"},
    {"layout.sequence_parallel"},
    {"layout.micro_batch_size"},
    {"layout.global_batch_size"},
    {"layout.schedule", "one-forward-one-backward|gpipe"},
    {"layout.sharding.zero_stage", "none|parameters"},
    {"layout.sharding.shard_group_size"},
    {"layout.sharding.reshard_after_forward"},
    {"layout.sharding.prefetched_unit_count", "1"},
    {"layout.sharding.offload_optimizer"},
    {"layout.sharding.offload_parameters"},
    {"layout.kernels.attention", "flash"},
    {"layout.kernels.loss", "plain"},
    {"layout.kernels.recomputed_layers_per_block", "1"},
    {"layout.framework.kind", "torchtitan"},
    {"layout.framework.deterministic"},
};

// Sections of TOML, in order.
class TomlText {
 public:
  void Section(const char* name) {
    absl::StrAppend(&text_, text_.empty() ? "" : "\n", "[", name, "]\n");
  }
  void Add(const char* name, int64_t value) { Line(name, absl::StrCat(value)); }
  // JSON's texts and lists are TOML's.
  void Add(const char* name, const nlohmann::json& value) { Line(name, value.dump()); }
  const std::string& text() const { return text_; }

 private:
  void Line(const char* name, const std::string& value) {
    absl::StrAppend(&text_, name, " = ", value, "\n");
  }

  std::string text_;
};

int64_t LayerCount(const v1::Architecture& model) {
  int64_t out = 0;
  for (const auto& run : model.decoder().layers()) out += run.count();
  return out;
}

// Names of the modules of each chunk.
nlohmann::json ModulesOf(const google::protobuf::RepeatedField<int64_t>& chunks) {
  nlohmann::json out = nlohmann::json::array();
  int64_t layer = 0;
  for (const int64_t layers : chunks) {
    nlohmann::json modules = nlohmann::json::array();
    if (out.empty()) modules.push_back("tok_embeddings");
    for (int64_t i = 0; i < layers; ++i) modules.push_back(absl::StrCat("layers.", layer++));
    out.push_back(std::move(modules));
  }
  out.back().push_back("norm");
  out.back().push_back("output");
  return out;
}

void WriteTorchtitanModel(const LaunchedRun& run, TomlText* toml, LauncherFile* out) {
  const v1::DataType compute = run.request.training().precision().compute_data_type();
  const TorchtitanModel* const model = ModelOfPreset(run.request.model().preset());
  if (model == nullptr) out->left_out.emplace_back("[model] name and flavor");
  if (model == nullptr && !IsNarrow(compute)) return;
  toml->Section("model");
  if (model != nullptr) {
    toml->Add("name", nlohmann::json(model->name));
    toml->Add("flavor", nlohmann::json(model->flavor));
  }
  if (!IsNarrow(compute)) return;
  const bool blocks = compute == v1::DATA_TYPE_MXFP8;
  toml->Add("converters",
            nlohmann::json::array({blocks ? "quantize.linear.mx" : "quantize.linear.float8"}));
}

void WriteTraining(const LaunchedRun& run, const LaunchSizes& sizes, TomlText* toml,
                   Refusals* refusals) {
  const v1::TrainingSpec& training = run.request.training();
  const v1::PrecisionPolicy& precision = training.precision();
  const v1::StateSharding& sharding = run.request.layout().sharding();
  // Under a pipeline a rank's batch is cut into micro-batches; else it is one.
  const bool pipeline = sizes.pipeline > 1;
  const int64_t sequences = SequenceCount(training);
  const int64_t batch = std::max<int64_t>(sizes.global_batch, 1);
  toml->Section("training");
  toml->Add("local_batch_size", pipeline ? batch / sizes.data : sizes.micro_batch);
  toml->Add("global_batch_size", batch);
  toml->Add("seq_len", training.sequence_length());
  toml->Add("steps", sequences / batch + (sequences % batch > 0 ? 1 : 0));
  const bool narrow = precision.weight_data_type() == v1::DATA_TYPE_BF16;
  if (narrow && (!precision.has_master_weights() || precision.master_weights())) {
    refusals->Add("--weight-data-type=bf16", "it takes --master-weights=false");
  }
  toml->Add("dtype", nlohmann::json(narrow ? "bfloat16" : "float32"));
  const bool wide = precision.compute_data_type() == v1::DATA_TYPE_FP32;
  toml->Add("mixed_precision_param", nlohmann::json(wide ? "float32" : "bfloat16"));
  toml->Add("mixed_precision_reduce", nlohmann::json("float32"));
  if (sharding.offload_optimizer() != sharding.offload_parameters()) {
    refusals->Add("--offload-optimizer", "it goes with --offload-parameters");
  }
  if (sharding.offload_optimizer()) toml->Add("enable_cpu_offload", nlohmann::json(true));
}

// Ranks that hold copies, and those that share a shard apart from the context parallel ones.
void WriteSharding(const LaunchedRun& run, const LaunchSizes& sizes, TomlText* toml,
                   Refusals* refusals) {
  const v1::StateSharding& sharding = run.request.layout().sharding();
  const int64_t ranks = sizes.data * sizes.context;
  if (sizes.zero == v1::ZERO_STAGE_NONE) {
    if (sizes.context > 1) refusals->Add("--zero=none", "with --cp it shards, --zero=3");
    toml->Add("data_parallel_replicate_degree", sizes.data);
    return toml->Add("data_parallel_shard_degree", 1);
  }
  const int64_t group = sharding.has_shard_group_size() ? sharding.shard_group_size() : ranks;
  if (group <= 0 || group % sizes.context != 0) {
    return refusals->Add("--shard-group-size", "it takes a multiple of --cp");
  }
  toml->Add("data_parallel_replicate_degree", ranks / group);
  toml->Add("data_parallel_shard_degree", group == ranks ? -1 : group / sizes.context);
  if (!sharding.has_reshard_after_forward()) return;
  toml->Add("fsdp_reshard_after_forward",
            nlohmann::json(sharding.reshard_after_forward() ? "always" : "never"));
}

void WriteTorchtitanPipeline(const LaunchedRun& run, const LaunchSizes& sizes, TomlText* toml,
                             Refusals* refusals) {
  toml->Add("pipeline_parallel_degree", sizes.pipeline);
  if (sizes.pipeline == 1) return;
  const bool interleaved = sizes.virtual_stages > 1;
  const bool gpipe = run.request.layout().schedule() == v1::PIPELINE_SCHEDULE_GPIPE;
  if (interleaved && gpipe) refusals->Add("--vpp", "interleaved stages take --schedule=1f1b");
  toml->Add("pipeline_parallel_schedule", nlohmann::json(interleaved ? "Interleaved1F1B"
                                                         : gpipe     ? "GPipe"
                                                                     : "1F1B"));
  toml->Add("pipeline_parallel_microbatch_size", sizes.micro_batch);
  const auto& chunks = run.request.layout().parallel().layers_per_chunk();
  if (!absl::c_all_of(chunks, [&](int64_t layers) { return layers == chunks[0]; })) {
    return toml->Add("module_fqns_per_model_part", ModulesOf(chunks));
  }
  toml->Add("pipeline_parallel_first_stage_less_layers", 0);
  toml->Add("pipeline_parallel_last_stage_less_layers", 0);
  if (!interleaved) return;
  toml->Add("pipeline_parallel_layers_per_stage",
            LayerCount(run.model) / sizes.pipeline / sizes.virtual_stages);
}

void WriteParallelism(const LaunchedRun& run, const LaunchSizes& sizes, TomlText* toml,
                      Refusals* refusals) {
  toml->Section("parallelism");
  WriteSharding(run, sizes, toml, refusals);
  toml->Add("tensor_parallel_degree", sizes.tensor);
  if (sizes.tensor > 1 && !sizes.sequence_parallel) {
    refusals->Add("--sp=false", "tensor parallel ranks share sequences too");
  }
  toml->Add("context_parallel_degree", sizes.context);
  WriteTorchtitanPipeline(run, sizes, toml, refusals);
  if (sizes.expert == 1) return;
  const v1::ParallelLayout& parallel = run.request.layout().parallel();
  const bool given = parallel.has_expert_tensor_parallel_size();
  const int64_t shared = given ? parallel.expert_tensor_parallel_size() : sizes.tensor;
  if (shared != 1 && shared != sizes.tensor) {
    refusals->Add(absl::StrCat("--etp=", shared), "it takes 1, or --tp");
  }
  toml->Add("expert_parallel_degree", sizes.expert);
  toml->Add("expert_tensor_parallel_degree", shared);
}

}  // namespace

absl::Span<const Expressible> TorchtitanFields() { return kTorchtitanFields; }

absl::StatusOr<LauncherFile> WriteTorchtitan(const LaunchedRun& run) {
  const v1::TrainingSpec& training = run.request.training();
  Refusals refusals("torchtitan");
  refusals.Check(run.request, kTorchtitanFields);
  if (training.sequence_length() <= 0) refusals.Add("--sequence-length", "it takes one");
  if (run.request.layout().global_batch_size() <= 0) refusals.Add("--gbs", "it takes one");
  const LaunchSizes sizes = SizesOf(run.request);
  LauncherFile out;
  TomlText toml;
  toml.Section("job");
  toml.Add("description", nlohmann::json(run.model_name));
  WriteTorchtitanModel(run, &toml, &out);
  toml.Section("optimizer");
  const bool adam = training.optimizer().kind() == v1::OptimizerSpec::KIND_ADAM;
  toml.Add("name", nlohmann::json(adam ? "Adam" : "AdamW"));
  WriteTraining(run, sizes, &toml, &refusals);
  WriteParallelism(run, sizes, &toml, &refusals);
  toml.Section("activation_checkpoint");
  const bool full = training.recompute() == v1::RECOMPUTE_POLICY_FULL;
  toml.Add("mode", nlohmann::json(full ? "full" : "none"));
  if (run.request.layout().framework().deterministic()) {
    toml.Section("debug");
    toml.Add("deterministic", nlohmann::json(true));
  }
  if (!refusals.status().ok()) return refusals.status();
  out.text = toml.text();
  return out;
}

}  // namespace sextant::client
