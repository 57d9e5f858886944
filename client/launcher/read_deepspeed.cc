#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/config_file.h"
#include "client/launcher/launcher.h"

namespace sextant::client {
namespace {

// Settings that may lower memory, where they are ignored.
constexpr LoweringName kDeepspeedLowering[] = {
    {"activation_checkpointing.", "training.recompute"},
    {"optimizer.type", "training.optimizer.kind"},
    {"bf16.bf16_master_weights_and_grads", "training.precision.master_weights"},
    {"bf16.bf16_optimizer_states", "training.precision.optimizer_data_type"},
    {"fp16.fp16_master_weights_and_grads", "training.precision.master_weights"},
    {"zero_optimization.zero_quantized_"},
    {"compression_training."},
    {"quantize_training."},
    {"compile."},
};

void ReadBatch(ConfigFile* file, LauncherRead* read) {
  v1::RunLayout* out = read->request.mutable_layout();
  const auto global = file->Count("train_batch_size");
  const auto micro = file->Count("train_micro_batch_size_per_gpu");
  const auto steps = file->Count("gradient_accumulation_steps");
  if (global.has_value()) out->set_global_batch_size(*global);
  if (micro.has_value()) out->set_micro_batch_size(*micro);
  read->sequences_per_rank = micro.has_value() ? Product(*micro, steps.value_or(1)).value_or(0) : 0;
  if (!global.has_value() && !micro.has_value()) return;
  // The one that is missing follows from the devices; only the batch is derived.
  if (!micro.has_value() && !file->IsAuto("train_micro_batch_size_per_gpu")) {
    read->open.emplace_back("train_micro_batch_size_per_gpu");
  }
}

// bf16 and fp16 are off by default, and "auto" where accelerate decides.
void ReadPrecision(ConfigFile* file, v1::PrecisionPolicy* out) {
  constexpr char kGradients[] = "data_types.grad_accum_dtype";
  const bool bf16 = file->Switch("bf16.enabled").value_or(false) ||
                    file->Switch("bfloat16.enabled").value_or(false);
  const bool half = file->Switch("fp16.enabled").value_or(false);
  if (bf16 && half) file->Refuse("fp16.enabled", "enable bf16 or fp16");
  const bool open = file->IsAuto("bf16.enabled") || file->IsAuto("fp16.enabled");
  if (bf16 || half) {
    out->set_compute_data_type(half ? v1::DATA_TYPE_FP16 : v1::DATA_TYPE_BF16);
  } else if (!open) {
    out->set_compute_data_type(v1::DATA_TYPE_FP32);
  }
  const std::string gradients = file->Text(kGradients).value_or("");
  if (gradients == "fp32") out->set_gradient_data_type(v1::DATA_TYPE_FP32);
  if (gradients == "fp16") out->set_gradient_data_type(v1::DATA_TYPE_FP16);
  if (gradients == "bf16") out->set_gradient_data_type(v1::DATA_TYPE_BF16);
  if (!gradients.empty() && out->gradient_data_type() == 0) {
    file->Refuse(kGradients, "write fp32, fp16 or bf16");
  }
}

void ReadOptimizer(ConfigFile* file, v1::OptimizerSpec* out) {
  constexpr char kType[] = "optimizer.type";
  const std::string name = absl::AsciiStrToLower(file->Text(kType).value_or(""));
  if (name.empty()) return;
  if (name == "adam") return out->set_kind(v1::OptimizerSpec::KIND_ADAM);
  if (name == "adamw") return out->set_kind(v1::OptimizerSpec::KIND_ADAMW);
  if (name == "sgd") return out->set_kind(v1::OptimizerSpec::KIND_SGD);
  if (name == "adagrad") return out->set_kind(v1::OptimizerSpec::KIND_ADAGRAD);
  if (name == "lion") return out->set_kind(v1::OptimizerSpec::KIND_LION);
  if (name == "muon") return out->set_kind(v1::OptimizerSpec::KIND_MUON);
  file->Ignore(kType);
}

// True where state is outside the device: in memory of the host, or on its disks.
bool IsOffloaded(const std::string& path, ConfigFile* file) {
  const std::string device = file->Text(path).value_or("none");
  if (device != "none" && device != "cpu" && device != "nvme") {
    file->Refuse(path, "write none, cpu or nvme");
  }
  return device == "cpu" || device == "nvme";
}

// Weights that ZeRO stage 3 keeps whole: no field has another number than DeepSpeed's default.
void ReadLiveWeights(ConfigFile* file, LauncherRead* read) {
  constexpr int64_t kUsual = 1'000'000'000;
  for (const char* const path : {"zero_optimization.stage3_max_live_parameters",
                                 "zero_optimization.stage3_max_reuse_distance"}) {
    const auto elements = file->Count(path, 0);
    if (!elements.has_value()) continue;
    file->Ignore(path);
    if (*elements < kUsual) read->lowering.push_back({absl::StrCat(path, " = ", *elements)});
  }
}

// A part of an offloaded optimizer stays: no share is known, so that none counts as gone.
bool OffloadsOptimizer(ConfigFile* file, LauncherRead* read) {
  constexpr char kShare[] = "zero_optimization.offload_optimizer.ratio";
  if (!IsOffloaded("zero_optimization.offload_optimizer.device", file)) return false;
  const double share = file->Number(kShare).value_or(1);
  if (share >= 1) return true;
  file->Ignore(kShare);
  read->lowering.push_back(
      {absl::StrCat(kShare, " = ", share), "layout.sharding.offload_optimizer"});
  return false;
}

void ReadZero(ConfigFile* file, LauncherRead* read) {
  v1::RunLayout* layout = read->request.mutable_layout();
  constexpr char kStage[] = "zero_optimization.stage";
  const int64_t stage = file->Count(kStage, 0).value_or(0);
  if (stage > 3) return file->Refuse(kStage, "write 0, 1, 2 or 3");
  v1::StateSharding* out = layout->mutable_sharding();
  out->set_zero_stage(static_cast<v1::ZeroStage>(v1::ZERO_STAGE_NONE + stage));
  out->set_offload_optimizer(OffloadsOptimizer(file, read));
  out->set_offload_parameters(IsOffloaded("zero_optimization.offload_param.device", file));
  const auto group = file->Count("zero_optimization.mics_shard_size", -1);  // -1: none
  if (group.value_or(-1) > 0) out->set_shard_group_size(*group);
  v1::FrameworkMemory* framework = layout->mutable_framework();
  if (const auto size = file->Count("zero_optimization.reduce_bucket_size", 0)) {
    framework->set_reduce_bucket_elements(*size);
  }
  if (const auto size = file->Count("zero_optimization.allgather_bucket_size", 0)) {
    framework->set_gather_bucket_elements(*size);
  }
}

void ReadParallel(ConfigFile* file, v1::PlanRunRequest* request) {
  v1::RunLayout* layout = request->mutable_layout();
  v1::ParallelLayout* out = layout->mutable_parallel();
  const int64_t tensor = file->Count("tensor_parallel.autotp_size", 0).value_or(0);
  if (tensor > 0) out->set_tensor_parallel_size(tensor);
  if (tensor > 1) layout->set_sequence_parallel(false);
  if (const auto size = file->Count("sequence_parallel_size")) {
    layout->set_context_parallel_size(*size);
  }
  if (const auto stages = file->Count("pipeline.stages")) out->set_pipeline_parallel_size(*stages);
  const auto interval = file->Count("pipeline.activation_checkpoint_interval", 0);
  if (interval.value_or(0) > 0) {
    request->mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_FULL);
    if (*interval > 1) {
      layout->mutable_kernels()->set_recomputed_layers_per_block(*interval);
    }
  }
  if (!file->Switch("expert_parallel.enabled").value_or(false)) return;
  out->set_expert_parallel_size(file->Count("expert_parallel.autoep_size").value_or(1));
  if (const auto size = file->Count("expert_parallel.expert_tensor_parallel_size")) {
    out->set_expert_tensor_parallel_size(*size);
  }
}

}  // namespace

absl::StatusOr<LauncherRead> ReadDeepspeed(const std::string& text) {
  absl::StatusOr<ConfigFile> file = ConfigFile::FromJson(text);
  if (!file.ok()) return file.status();
  LauncherRead out;
  v1::TrainingSpec* training = out.request.mutable_training();
  ReadBatch(&*file, &out);
  ReadZero(&*file, &out);
  ReadLiveWeights(&*file, &out);
  ReadParallel(&*file, &out.request);
  ReadPrecision(&*file, training->mutable_precision());
  ReadOptimizer(&*file, training->mutable_optimizer());
  out.request.mutable_layout()->mutable_framework()->set_kind(v1::FrameworkMemory::KIND_DEEPSPEED);
  if (!file->status().ok()) return file->status();
  out.ignored = file->ignored();
  AddLowering(kDeepspeedLowering, &out);
  const std::vector<std::string> open = file->open();
  out.open.insert(out.open.end(), open.begin(), open.end());
  return out;
}

}  // namespace sextant::client
