#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/config_file.h"
#include "client/launcher/launcher.h"

namespace sextant::client {
namespace {

constexpr int64_t kMaxStages = 1 << 16;
constexpr int64_t kUsualBatch = 8;      // torchtitan's local_batch_size
constexpr int64_t kUsualLength = 2048;  // and seq_len
constexpr int64_t kUsualSteps = 10'000;

constexpr char kName[] = "model.name";
constexpr char kFlavor[] = "model.flavor";
constexpr char kSchedule[] = "parallelism.pipeline_parallel_schedule";
constexpr char kModules[] = "parallelism.module_fqns_per_model_part";
constexpr char kFirstStageKey[] = "parallelism.pipeline_parallel_first_stage_less_layers";
constexpr char kLastStageKey[] = "parallelism.pipeline_parallel_last_stage_less_layers";
constexpr char kPerStage[] = "parallelism.pipeline_parallel_layers_per_stage";
constexpr char kRecompute[] = "activation_checkpoint.mode";
constexpr char kComputeType[] = "training.precision.compute_data_type";

// Switches that may lower memory. Compiled code keeps less for the backward pass, gradients are
// freed in it, and gathered weights are in 8 bits.
constexpr const char* kLoweringSwitches[] = {"compile.enable", "optimizer.early_step_in_backward",
                                             "quantize.linear.float8.enable_fsdp_float8_all_gather",
                                             "float8.enable_fsdp_float8_all_gather"};

// The model, if torchtitan's name and flavor are those of a preset.
const TorchtitanModel* FindModel(ConfigFile* file) {
  const std::string name = file->Text(kName).value_or("llama3");
  const std::string flavor = file->Text(kFlavor).value_or("debugmodel");
  const TorchtitanModel* const model = ModelOfFlavor(name, flavor);
  if (model != nullptr) return model;
  file->Ignore(kName);
  file->Ignore(kFlavor);
  return nullptr;
}

v1::DataType ReadConverters(ConfigFile* file, LauncherRead* read) {
  constexpr char kConverters[] = "model.converters";
  v1::DataType out = v1::DATA_TYPE_UNSPECIFIED;
  for (const std::string& name : file->Texts(kConverters)) {
    if (name == "float8" || name == "quantize.linear.float8") {
      out = v1::DATA_TYPE_FP8;
    } else if (name == "mx" || name == "quantize.linear.mx") {
      out = v1::DATA_TYPE_MXFP8;
    } else {
      file->Ignore(kConverters);
      read->lowering.push_back({absl::StrCat(kConverters, " = ", name), kComputeType});
    }
  }
  return out;
}

void ReadTorchtitanPrecision(ConfigFile* file, LauncherRead* read) {
  v1::PrecisionPolicy* out = read->request.mutable_training()->mutable_precision();
  constexpr char kStored[] = "training.dtype";
  constexpr char kComputed[] = "training.mixed_precision_param";
  const std::string stored = file->Text(kStored).value_or("float32");
  const std::string computed = file->Text(kComputed).value_or("bfloat16");
  (void)file->Text("training.mixed_precision_reduce");  // float32 is the only choice
  for (const auto& [path, type] : {std::pair(kStored, stored), std::pair(kComputed, computed)}) {
    if (type != "float32" && type != "bfloat16") file->Refuse(path, "write float32 or bfloat16");
  }
  const v1::DataType narrow = ReadConverters(file, read);
  const bool wide = computed == "float32" && stored == "float32";
  out->set_compute_data_type(wide ? v1::DATA_TYPE_FP32 : v1::DATA_TYPE_BF16);
  if (narrow != v1::DATA_TYPE_UNSPECIFIED) out->set_compute_data_type(narrow);
  out->set_weight_data_type(stored == "bfloat16" ? v1::DATA_TYPE_BF16 : v1::DATA_TYPE_FP32);
  if (stored == "bfloat16") out->set_master_weights(false);
}

void ReadTorchtitanOptimizer(ConfigFile* file, v1::OptimizerSpec* out) {
  constexpr char kOptimizer[] = "optimizer.name";
  const std::string name = file->Text(kOptimizer).value_or("AdamW");
  out->set_kind(name == "Adam" ? v1::OptimizerSpec::KIND_ADAM : v1::OptimizerSpec::KIND_ADAMW);
  if (name != "Adam" && name != "AdamW") file->Refuse(kOptimizer, "write Adam or AdamW");
}

void ReadRecompute(ConfigFile* file, LauncherRead* read) {
  const std::string mode = file->Text(kRecompute).value_or("selective");
  v1::TrainingSpec* training = read->request.mutable_training();
  if (mode == "full") return training->set_recompute(v1::RECOMPUTE_POLICY_FULL);
  if (mode == "none") return training->set_recompute(v1::RECOMPUTE_POLICY_NONE);
  if (mode != "selective" && mode != "memory_budget") {
    return file->Refuse(kRecompute, "write none, full, selective or memory_budget");
  }
  // torchtitan keeps every second matmul, or layer: no policy of the API does.
  if (!file->Has(kRecompute)) read->ignored.push_back(absl::StrCat(kRecompute, " (selective)"));
  file->Ignore(kRecompute);
  read->lowering.push_back({absl::StrCat(kRecompute, " = ", mode), "training.recompute"});
}

void ReadLoweringSwitches(ConfigFile* file, LauncherRead* read) {
  for (const char* const path : kLoweringSwitches) {
    if (!file->Switch(path).value_or(false)) continue;
    file->Ignore(path);
    read->lowering.push_back({absl::StrCat(path, " = true")});
  }
}

void ReadSharding(ConfigFile* file, LauncherRead* read) {
  constexpr char kReshard[] = "parallelism.fsdp_reshard_after_forward";
  constexpr char kShards[] = "parallelism.data_parallel_shard_degree";
  const int64_t copies = file->Count("parallelism.data_parallel_replicate_degree").value_or(1);
  const int64_t shards = file->Count(kShards, -1).value_or(-1);
  if (shards == 0) file->Refuse(kShards, "write -1, or a whole number from 1 on");
  v1::StateSharding* out = read->request.mutable_layout()->mutable_sharding();
  const bool sharded = shards != 1 || read->request.layout().context_parallel_size() > 1;
  out->set_zero_stage(sharded ? v1::ZERO_STAGE_PARAMETERS : v1::ZERO_STAGE_NONE);
  if (sharded) read->state_copies = copies;
  const std::string reshard = file->Text(kReshard).value_or("default");
  if (reshard == "always" || reshard == "never") {
    out->set_reshard_after_forward(reshard == "always");
  } else if (reshard != "default") {
    file->Refuse(kReshard, "write default, always or never");
  }
  if (!file->Switch("training.enable_cpu_offload").value_or(false)) return;
  out->set_offload_optimizer(true);
  out->set_offload_parameters(true);
}

// Layers of each chunk by the modules' names, "layers.7".
std::vector<int64_t> PartsOfChunks(const std::vector<std::vector<std::string>>& parts) {
  std::vector<int64_t> out;
  for (const std::vector<std::string>& modules : parts) {
    out.push_back(absl::c_count_if(
        modules, [](const std::string& name) { return absl::StartsWith(name, "layers."); }));
  }
  return out;
}

// The layers of each chunk, of `stages` chunks in all.
std::vector<int64_t> DealtOut(int64_t stages, const TorchtitanModel* model, int64_t first,
                              int64_t last, ConfigFile* file, LauncherRead* read) {
  if (model == nullptr) {
    if (first > 0 || last > 0) read->open.emplace_back("layers of each stage, by the model's");
    return {};
  }
  std::vector<int64_t> out = LayersPerChunk(model->layer_count, stages, first, last);
  if (out.empty()) file->Refuse(kFirstStageKey, "some stages get no layer");
  return out;
}

// Chunks of all stages together.
int64_t StageCount(int64_t pipeline, bool interleaved, int64_t outside,
                   const TorchtitanModel* model, ConfigFile* file) {
  const std::optional<int64_t> size = file->Count(kPerStage);
  const int64_t usual = interleaved ? pipeline * 2 : pipeline;
  if (!size.has_value() || model == nullptr) return usual;
  const int64_t all = model->layer_count + outside;
  const int64_t out = all / *size + (all % *size > 0 ? 1 : 0);
  if (out % pipeline == 0) return out;
  file->Refuse(kPerStage, absl::StrCat("it makes ", out, " stages, no multiple of ", pipeline));
  return usual;
}

void ReadTorchtitanPipeline(const TorchtitanModel* model, ConfigFile* file, LauncherRead* read) {
  const std::optional<int64_t> degree = file->Count("parallelism.pipeline_parallel_degree");
  const std::string schedule = file->Text(kSchedule).value_or("1F1B");
  v1::RunLayout* layout = read->request.mutable_layout();
  v1::ParallelLayout* out = layout->mutable_parallel();
  if (degree.has_value()) out->set_pipeline_parallel_size(*degree);
  if (degree.value_or(1) == 1) return;
  if (*degree > kMaxStages) return file->Refuse("parallelism.pipeline_parallel_degree", "too many");
  const bool interleaved = schedule == "Interleaved1F1B";
  if (schedule == "GPipe") {
    layout->set_schedule(v1::PIPELINE_SCHEDULE_GPIPE);
  } else if (schedule != "1F1B" && !interleaved) {
    file->Refuse(kSchedule, "write 1F1B, GPipe or Interleaved1F1B");
  }
  const int64_t first = std::min(file->Count(kFirstStageKey, 0).value_or(1), kMaxStages);
  const int64_t last = std::min(file->Count(kLastStageKey, 0).value_or(1), kMaxStages);
  std::vector<int64_t> chunks;
  int64_t stages = 0;
  if (const auto parts = file->Lists(kModules)) {
    chunks = PartsOfChunks(*parts);
    stages = static_cast<int64_t>(chunks.size());
    if (stages % *degree != 0 || stages == 0) {
      return file->Refuse(kModules, absl::StrCat("write a multiple of ", *degree, " lists"));
    }
  } else {
    stages = StageCount(*degree, interleaved, first + last, model, file);
    chunks = DealtOut(stages, model, first, last, file, read);
  }
  if (stages > *degree) out->set_virtual_stage_count(stages / *degree);
  if (absl::c_all_of(chunks, [&](int64_t layers) { return layers == chunks[0]; })) return;
  out->mutable_layers_per_chunk()->Assign(chunks.begin(), chunks.end());
}

void ReadTorchtitanBatch(ConfigFile* file, LauncherRead* read) {
  constexpr char kGlobal[] = "training.global_batch_size";
  v1::RunLayout* out = read->request.mutable_layout();
  const int64_t local = file->Count("training.local_batch_size").value_or(kUsualBatch);
  const auto micro = file->Count("parallelism.pipeline_parallel_microbatch_size");
  const bool pipeline = out->parallel().pipeline_parallel_size() > 1;
  out->set_micro_batch_size(pipeline ? micro.value_or(1) : local);
  read->sequences_per_rank = local;
  const std::optional<int64_t> global = file->Count(kGlobal, -1);
  if (global == 0) file->Refuse(kGlobal, "write -1, or a whole number from 1 on");
  if (global.value_or(-1) > 0) out->set_global_batch_size(*global);
  read->step_count = file->Count("training.steps").value_or(kUsualSteps);
  read->request.mutable_training()->set_sequence_length(
      file->Count("training.seq_len").value_or(kUsualLength));
}

void ReadSizes(ConfigFile* file, v1::RunLayout* out) {
  v1::ParallelLayout* parallel = out->mutable_parallel();
  if (const auto size = file->Count("parallelism.tensor_parallel_degree")) {
    parallel->set_tensor_parallel_size(*size);
  }
  if (const auto size = file->Count("parallelism.context_parallel_degree")) {
    out->set_context_parallel_size(*size);
  }
  const auto expert = file->Count("parallelism.expert_parallel_degree");
  const auto shared = file->Count("parallelism.expert_tensor_parallel_degree");
  if (expert.has_value()) parallel->set_expert_parallel_size(*expert);
  // It counts with expert parallel ranks alone, and is 1 by default.
  if (expert.value_or(1) > 1) parallel->set_expert_tensor_parallel_size(shared.value_or(1));
}

}  // namespace

absl::StatusOr<LauncherRead> ReadTorchtitan(const std::string& text, bool with_model) {
  absl::StatusOr<ConfigFile> file = ConfigFile::FromToml(text);
  if (!file.ok()) return file.status();
  LauncherRead out;
  v1::TrainingSpec* training = out.request.mutable_training();
  (void)file->Text("job.description");
  const TorchtitanModel* const model = FindModel(&*file);
  if (with_model && model != nullptr) out.request.mutable_model()->set_preset(model->preset);
  ReadSizes(&*file, out.request.mutable_layout());
  ReadTorchtitanPipeline(with_model ? model : nullptr, &*file, &out);
  ReadSharding(&*file, &out);
  ReadTorchtitanBatch(&*file, &out);
  ReadTorchtitanPrecision(&*file, &out);
  ReadTorchtitanOptimizer(&*file, training->mutable_optimizer());
  ReadRecompute(&*file, &out);
  ReadLoweringSwitches(&*file, &out);
  v1::FrameworkMemory* framework = out.request.mutable_layout()->mutable_framework();
  framework->set_kind(v1::FrameworkMemory::KIND_TORCHTITAN);
  framework->set_deterministic(file->Switch("debug.deterministic").value_or(false));
  if (!file->status().ok()) return file->status();
  const std::vector<std::string> ignored = file->ignored();
  out.ignored.insert(out.ignored.end(), ignored.begin(), ignored.end());
  return out;
}

}  // namespace sextant::client
