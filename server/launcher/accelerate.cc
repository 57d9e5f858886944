// accelerate's configuration, read.
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/setting_file.h"
#include "server/launcher/software.h"

namespace sextant::server {
namespace {

using AccelerateJson = nlohmann::json;

constexpr const char* kAccelerateOffNames[] = {
    "use_cpu",
    "dynamo_config",
    "fp8_config",
    "mpirun_config",
    "parallelism_config",
    "fsdp_config",
    "deepspeed_config",
    "megatron_lm_config",
    "dynamo_config.dynamo_backend",
    "dynamo_config.dynamo_use_fullgraph",
    "dynamo_config.dynamo_use_dynamic",
    "dynamo_config.dynamo_use_regional_compilation",
    "fsdp_config.fsdp_min_num_params",
    "megatron_lm_config.megatron_lm_recompute_activations",
    "megatron_lm_config.megatron_lm_attention_dropout",
    "megatron_lm_config.megatron_lm_hidden_dropout",
    "megatron_lm_config.megatron_lm_use_custom_fsdp",
    "megatron_lm_config.megatron_lm_use_precision_aware_optimizer",
    "megatron_lm_config.megatron_lm_overlap_cpu_optimizer_d2h_h2d",
};

void ReadDistributedType(const Setting& setting, Reading& reading) {
  const std::string type =
      reading.file.Choose(setting.name, "NO|MULTI_GPU|FSDP|DEEPSPEED|MEGATRON_LM");
  if (type.empty()) return;
  v1::RunLayout& defaults = *reading.out.defaults.mutable_layout();
  if (type == "DEEPSPEED") {
    reading.Set("layout.framework.kind", "deepspeed");
    defaults.mutable_framework()->set_model_code(v1::FrameworkMemory::MODEL_CODE_TRANSFORMERS);
    defaults.mutable_kernels()->set_loss(v1::KernelChoices::LOSS_PLAIN);
  } else if (type == "MEGATRON_LM") {
    reading.Set("layout.framework.kind", "megatron-lm");
  } else {
    defaults.mutable_framework()->set_kind(v1::FrameworkMemory::KIND_HUGGING_FACE_TRAINER);
  }
  if (type == "FSDP") ReadFsdp("", reading);
  if (type == "NO" || type == "MULTI_GPU") {
    defaults.mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_NONE);
  }
}

// fp8 is multiplied in 8 bits by another library's layers. "no" is the script's to change.
void ReadMixedPrecision(const Setting& setting, Reading& reading) {
  const std::string type = reading.file.Choose(setting.name, "no=fp32|fp16|bf16|fp8");
  if (type.empty()) return;
  if (type != "fp32") return reading.Set("training.precision.compute_data_type", type);
  reading.out.defaults.mutable_training()->mutable_precision()->set_compute_data_type(
      v1::DATA_TYPE_FP32);
}

// The plugin's own default is stage 2; a file's stage goes first. DeepSpeed exchanges after the
// passes of stages 1 and 2 unless a file of its own says otherwise (overlap_comm_valid() of
// deepspeed/runtime/zero/config.py).
void ReadZeroStage(const Setting& setting, Reading& reading) {
  constexpr int64_t kUsual = 2;
  if (reading.layout().framework().kind() != v1::FrameworkMemory::KIND_DEEPSPEED) return;
  const bool file = reading.file.Has("deepspeed_config.deepspeed_config_file");
  if (file && !reading.file.Has(setting.name)) return;
  const int64_t stage = reading.file.Count(setting.name, 0).value_or(kUsual);
  if (stage > 3) return reading.file.Refuse(setting.name, "write 0, 1, 2 or 3");
  reading.layout().mutable_sharding()->set_zero_stage(
      static_cast<v1::ZeroStage>(v1::ZERO_STAGE_NONE + stage));
  if (file || stage == 0 || stage == 3) return;
  reading.layout().mutable_software()->set_data_exchange_overlap(kNothingHidden);
}

void ReadWanted(const Setting& setting, Reading& reading) {
  const std::string name = reading.file.Text(setting.name).value_or("");
  if (!name.empty()) reading.out.wants.push_back(name);
}

// Disks hold it: neither the host's memory nor its link, which a plan counts.
void ReadOffloadDevice(const Setting& setting, Reading& reading) {
  const std::string device = reading.file.Choose(setting.name, "-none=false|cpu=true|nvme=true");
  if (device.empty()) return;
  reading.Set(setting.field, device);
  if (reading.file.Text(setting.name) != "nvme") return;
  reading.file.Ignore(setting.name);
  reading.out.lowering.push_back({absl::StrCat(setting.name, " = nvme"), ""});
}

// More than one micro-batch a step: of which size, the script says.
void ReadOneAlone(const Setting& setting, Reading& reading) {
  if (reading.file.Count(setting.name).value_or(1) > 1) reading.file.Ignore(setting.name);
}

void ReadMegatronGranularity(const Setting& setting, Reading& reading) {
  const std::string policy = reading.file.Choose(setting.name, "full|selective");
  if (!policy.empty()) reading.Set("training.recompute", policy);
}

// Short for selective recomputation.
void ReadMegatronRecompute(const Setting& setting, Reading& reading) {
  if (reading.file.IsOn(setting.name)) reading.Set("training.recompute", "selective");
}

void ReadCopies(const Setting& setting, Reading& reading) {
  const int64_t copies = reading.file.Count(setting.name).value_or(1);
  if (copies > 1) reading.out.state_copies = copies;
}

void ReadShards(const Setting& setting, Reading& reading) {
  if (reading.file.Count(setting.name).value_or(1) > 1) {
    reading.layout().mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_PARAMETERS);
  }
}

void ReadSharedSequences(const char* kind, const Setting& setting, Reading& reading) {
  const int64_t size = reading.file.Count(setting.name).value_or(1);
  if (size <= 1) return;
  reading.layout().set_context_parallel_size(size);
  reading.Set("layout.context_parallel_kind", kind);
}
void ReadContextDegree(const Setting& setting, Reading& reading) {
  ReadSharedSequences("ring", setting, reading);
}
void ReadUlysses(const Setting& setting, Reading& reading) {
  ReadSharedSequences("all-to-all", setting, reading);
}

constexpr Setting kAccelerateSettings[] = {
    Other("distributed_type")
        .For("layout.framework.kind")
        .Only("hugging-face-trainer|deepspeed")
        .By(ReadDistributedType, WriteAccelerateEngine),
    Other("mixed_precision")
        .For("training.precision.compute_data_type")
        .Only("fp32|fp16|bf16|fp8")
        .By(ReadMixedPrecision, WriteAcceleratePrecision),
    Takes("training.precision.weight_data_type").Written(WriteAccelerateState),
    Takes("training.precision.gradient_data_type").Written(WriteAccelerateState),
    Takes("training.precision.master_weights").Written(WriteAccelerateState),
    Takes("training.precision.optimizer_data_type").Written(WriteAccelerateState),
    Whole("num_processes", "cluster.device_count"),
    Other("deepspeed_config.deepspeed_config_file")
        .PartOf("layout.framework.kind")
        .Read(ReadWanted),
    Other("deepspeed_config.zero_stage")
        .For("layout.sharding.zero_stage")
        .By(ReadZeroStage, WriteAccelerateZero),
    Other("deepspeed_config.offload_optimizer_device")
        .For("layout.sharding.offload_optimizer")
        .By(ReadOffloadDevice, WriteAccelerateOffload),
    Other("deepspeed_config.offload_param_device")
        .For("layout.sharding.offload_parameters")
        .By(ReadOffloadDevice, WriteAccelerateOffload),
    Other("deepspeed_config.gradient_accumulation_steps")
        .PartOf("layout.global_batch_size")
        .Read(ReadOneAlone),
    Takes("layout.sharding.reshard_after_forward"),
    Takes("layout.sharding.prefetched_unit_count", "1"),
    Other("fsdp_config.fsdp_activation_checkpointing")
        .For("training.recompute")
        .Only("none|full")
        .By([](const Setting&, Reading&) {}, WriteAccelerateRecompute),
    Takes("layout.kernels.recomputed_layers_per_block", "1"),
    // FSDP's mesh, and DeepSpeed's sequence parallel ranks.
    Other("parallelism_config.parallelism_config_tp_size")
        .For("layout.parallel.tensor_parallel_size")
        .By(ReadTensorRanks, WriteNothing),
    Other("parallelism_config.parallelism_config_cp_size")
        .For("layout.context_parallel_size")
        .By(ReadContextDegree, WriteNothing),
    Other("parallelism_config.parallelism_config_sp_size")
        .PartOf("layout.context_parallel_size")
        .Read(ReadUlysses),
    Other("parallelism_config.parallelism_config_dp_shard_size")
        .For("layout.sharding.shard_group_size")
        .By(ReadShards, WriteAccelerateGroups),
    Other("parallelism_config.parallelism_config_dp_replicate_size")
        .PartOf("layout.sharding.shard_group_size")
        .Read(ReadCopies),
    Takes("layout.context_parallel_kind", "ring|all-to-all"),
    Takes("layout.sequence_parallel"),
    Takes("layout.parallel.pipeline_parallel_size", "1"),
    Takes("layout.parallel.virtual_stage_count", "1"),
    Takes("layout.parallel.expert_parallel_size", "1"),
    Takes("layout.schedule", "one-forward-one-backward"),
    // The training script's.
    Scripts("training.sequence_length"),
    Scripts("training.token_count"),
    Scripts("layout.micro_batch_size"),
    Scripts("layout.global_batch_size"),
    Scripts("training.optimizer.kind"),
    Scripts("training.optimizer.quantization_block_size"),
    Scripts("model.changes.adapters.rank"),
    Scripts("model.changes.adapters.targets"),
    Scripts("model.changes.base_frozen"),
    Scripts("layout.storage.frozen_data_type"),
    Scripts("layout.storage.frozen_block_size"),
    Scripts("layout.storage.double_quantization"),
    Scripts("layout.kernels.attention"),
    Scripts("layout.kernels.loss"),
    Scripts("layout.kernels.loss_chunk_tokens"),
    Scripts("layout.kernels.dropout"),
    Scripts("layout.framework.deterministic"),
    Takes("layout.kernels.expert_dispatch", "all-to-all"),
    Takes("layout.framework.captured_graphs", "false"),
    Lacks("layout.kernels.recompute_activation_function", "it recomputes whole layers"),
    Lacks("layout.kernels.recompute_norm_outputs", "it recomputes whole layers"),
    Lacks("layout.kernels.recompute_latent_up_projections", "it recomputes whole layers"),
    Lacks("layout.framework.reduce_bucket_elements", "a file of DeepSpeed's own says it"),
    Lacks("layout.framework.gather_bucket_elements", "a file of DeepSpeed's own says it"),
    // Megatron-LM's plugin is read alone. Norms are cut too where megatron_lm_sequence_parallelism
    // says so.
    Other("megatron_lm_config.megatron_lm_tp_degree")
        .PartOf("layout.parallel.tensor_parallel_size")
        .Read(ReadTensorRanks),
    Whole("megatron_lm_config.megatron_lm_pp_degree", "layout.parallel.pipeline_parallel_size")
        .Written(WriteNothing),
    Whole("megatron_lm_config.megatron_lm_context_parallel_size", "layout.context_parallel_size")
        .Written(WriteNothing),
    Whole("megatron_lm_config.megatron_lm_expert_model_parallel_size",
          "layout.parallel.expert_parallel_size")
        .Written(WriteNothing),
    Whole("megatron_lm_config.megatron_lm_expert_tensor_parallel_size",
          "layout.parallel.expert_tensor_parallel_size")
        .Only("1")
        .Written(WriteNothing),
    Whole("megatron_lm_config.megatron_lm_recompute_num_layers",
          "layout.kernels.recomputed_layers_per_block")
        .Written(WriteNothing),
    Switch("megatron_lm_config.megatron_lm_sequence_parallelism", "layout.sequence_parallel")
        .Written(WriteNothing),
    Switch("megatron_lm_config.megatron_lm_use_distributed_optimizer", "layout.sharding.zero_stage",
           "optimizer")
        .Written(WriteNothing),
    Switch("megatron_lm_config.megatron_lm_optimizer_cpu_offload",
           "layout.sharding.offload_optimizer")
        .Written(WriteNothing),
    Other("megatron_lm_config.megatron_lm_recompute_activations")
        .PartOf("training.recompute")
        .Read(ReadMegatronRecompute),
    Other("megatron_lm_config.megatron_lm_recompute_granularity")
        .PartOf("training.recompute")
        .Read(ReadMegatronGranularity),
    Other("megatron_lm_config.megatron_lm_num_micro_batches")
        .PartOf("layout.global_batch_size")
        .Read(ReadOneAlone),
    Parts("fsdp_config.fsdp_sharding_strategy|fsdp_config.fsdp_auto_wrap_policy")
        .PartOf("layout.sharding.zero_stage"),
    Parts("fsdp_config.fsdp_reshard_after_forward").PartOf("layout.sharding.reshard_after_forward"),
    Parts("fsdp_config.fsdp_offload_params").PartOf("layout.sharding.offload_parameters"),
    Matters("fsdp_config.fsdp_min_num_params", Effect::kRaises, "units of FSDP by their size"),
    Matters("use_cpu", Effect::kEither, "a run without devices"),
    Matters("fp8_config.", Effect::kEither, "which matrices are multiplied in 8 bits"),
    Matters("mpirun_config.", Effect::kTime, "who starts the processes"),
    Matters("parallelism_config.parallelism_config_cp_backend|"
            "parallelism_config.parallelism_config_cp_comm_strategy|"
            "parallelism_config.parallelism_config_sp_backend|"
            "parallelism_config.parallelism_config_sp_",
            Effect::kEither, "how ranks share a sequence"),
    Matters("megatron_lm_config.", Effect::kEither, "settings of Megatron-LM's plugin"),
    Lowers("dynamo_config."),
    Passes("command_file"),
    Passes("commands"),
    Passes("compute_environment"),
    Passes("debug"),
    Passes("deepspeed_config.deepspeed_exclusion_filter"),
    Passes("deepspeed_config.deepspeed_hostfile"),
    Passes("deepspeed_config.deepspeed_inclusion_filter"),
    Passes("deepspeed_config.deepspeed_moe_layer_cls_names"),
    Passes("deepspeed_config.deepspeed_multinode_launcher"),
    Passes("deepspeed_config.gradient_clipping"),
    Passes("deepspeed_config.offload_optimizer_nvme_path"),
    Passes("deepspeed_config.offload_param_nvme_path"),
    Passes("deepspeed_config.zero3_init_flag"),
    Passes("deepspeed_config.zero3_save_16bit_model"),
    Passes("downcast_bf16"),
    Passes("enable_cpu_affinity"),
    Passes("fsdp_config.fsdp_backward_prefetch"),
    Passes("fsdp_config.fsdp_backward_prefetch_policy"),
    Passes("fsdp_config.fsdp_cpu_ram_efficient_loading"),
    Passes("fsdp_config.fsdp_forward_prefetch"),
    Passes("fsdp_config.fsdp_state_dict_type"),
    Passes("fsdp_config.fsdp_sync_module_states"),
    Passes("fsdp_config.fsdp_transformer_layer_cls_to_wrap"),
    Passes("fsdp_config.fsdp_use_orig_params"),
    Passes("fsdp_config.fsdp_version"),
    Passes("gpu_ids"),
    Passes("machine_rank"),
    Passes("main_process_ip"),
    Passes("main_process_port"),
    Passes("main_training_function"),
    Passes("megatron_lm_config.megatron_lm_gradient_clipping"),
    Passes("num_machines"),
    Passes("rdzv_backend"),
    Passes("same_network"),
    Passes("tpu_"),
};

}  // namespace

absl::Span<const Setting> AccelerateSettings() { return kAccelerateSettings; }

absl::StatusOr<LauncherRead> ReadAccelerate(AccelerateJson document) {
  document = Typed(std::move(document));
  const std::vector<std::string> off = TakeOff(kAccelerateOffNames, &document);
  absl::StatusOr<LauncherRead> out =
      ReadSettings(kAccelerateSettings, false, SettingFile::FromDocument(std::move(document)),
                   Unknown::kRefused);
  if (out.ok()) absl::c_copy(off, std::back_inserter(out->passed));
  return out;
}

}  // namespace sextant::server
