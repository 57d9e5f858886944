// ms-swift: its arguments, and its files in YAML or JSON.
// Source: modelscope/ms-swift v4.5.2, swift/arguments, swift/trainers/arguments.py, swift/config.
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "server/launcher/translation.h"

namespace sextant::server {
namespace {

using SwiftJson = nlohmann::json;

constexpr int64_t kSwiftBucket = 200'000'000;
constexpr DeepspeedPreset kSwiftDeepspeed[] = {
    {"zero0", 0, false, false, kSwiftBucket},
    {"zero1", 1, false, false, kSwiftBucket},
    {"zero2", 2, false, false, kSwiftBucket},
    {"zero2_offload", 2, true, false, kSwiftBucket},
    {"zero3", 3},
    {"zero3_offload", 3, true, true},
};

// Its defaults are adapters of rank 8 on all matrices. Names before 4.0: train_type, and sft_type
// before that. Other tuners train less than all weights, which are counted.
void TranslateTuner(Translation& out) {
  std::string type = out.TakeText("sft_type", "lora");
  type = out.TakeText("train_type", type);
  type = out.TakeText("tuner_type", type);
  if (type == "lora") {
    out.Set("use_lora", true);
    out.Rename("lora_rank", "lora_rank", 8);
    out.Rename("target_modules", "lora_target_modules", "all-linear");
    out.Rename("lora_dropout", "lora_dropout", 0.05);
  } else {
    out.Pass("lora_rank");
    out.Pass("target_modules");
    out.Pass("lora_dropout");
    if (type != "full") out.Ignore("tuner_type", true);
  }
  const std::string method = out.TakeText("quant_method");
  const std::string bits = out.TakeText("quant_bits");
  const bool twice = out.TakeSwitch("bnb_4bit_use_double_quant", true);
  if (method.empty()) return;
  if (method != "bnb" || (bits != "4" && bits != "8")) return out.Ignore("quant_method", true);
  out.Set(bits == "4" ? "load_in_4bit" : "load_in_8bit", true);
  if (bits == "4") out.Set("use_bnb_nested_quant", twice);
}

// The type that weights are loaded in decides what is computed in, fp16 for fp32. Without one it is
// the checkpoint's: bf16 is assumed.
void TranslateSwiftTypes(Translation& out, bool* open) {
  std::string type = out.TakeText("torch_dtype");
  if (type.empty()) type = out.TakeText("dtype");
  *open = type.empty();
  if (type.empty()) type = "bfloat16";
  const bool bf16 = type == "bfloat16";
  if (!out.Has("bf16")) out.Set("bf16", bf16);
  if (!out.Has("fp16")) out.Set("fp16", !bf16 && !out.IsOn("bf16"));
  out.Set("torch_dtype", type);
}

void TranslateSwiftEngine(Translation& out) {
  out.TakeDeepspeed("deepspeed", kSwiftDeepspeed);
  out.Rename("deepspeed_autotp_size", "tp_size");
  const std::string fsdp = out.TakeText("fsdp");
  if (fsdp.empty()) return;
  out.Set("fsdp", "full_shard auto_wrap");
  if (fsdp != "fsdp2") return out.Want(fsdp);
  out.Set("fsdp_config", {{"reshard_after_forward", true}, {"activation_checkpointing", true}});
}

constexpr Setting kSwiftSettings[] = {
    Parts("model|tuner_type|train_type|sft_type|lora_rank|lora_dropout|target_modules|quant_method|"
          "quant_bits|"
          "bnb_4bit_use_double_quant|torch_dtype|bf16|fp16|max_length|attn_impl|"
          "per_device_train_batch_size|gradient_accumulation_steps|gradient_checkpointing|"
          "use_liger_kernel|fsdp|deepspeed_autotp_size|packing|padding_free|ENV"),
    Whole("sequence_parallel_size", "layout.context_parallel_size")
        .AboveOne()
        .Read([](const Setting& setting, Reading& reading) {
          const int64_t size = reading.file.Count(setting.name).value_or(1);
          if (size <= 1) return;
          reading.layout().set_context_parallel_size(size);
          reading.layout().set_context_parallel_kind(v1::CONTEXT_PARALLEL_KIND_ALL_TO_ALL);
        }),
    Raises("lora_bias|modules_to_save|target_parameters|use_dora|new_special_tokens|"
           "enable_channel_loss|zero_hpz_partition_size|router_aux_loss_coef|adapters"),
    Unmodelled("target_regex|use_swift_lora|num_labels|problem_type|loss_type|mrl_dims|optimizer|"
               "enable_dft_loss|max_epochs"),
    LowersIfOn("use_galore", "training.optimizer.kind"),
    LowersIfOn("lisa_activated_layers|freeze_llm|freeze_parameters|freeze_parameters_ratio|"
               "freeze_parameters_regex|use_logits_to_keep|device_map|max_memory|experts_impl"),
    // Its words are names: "causal_lm" and "peft" are the usual.
    Other("task_type").Read([](const Setting& setting, Reading& reading) {
      if (reading.file.Text(setting.name).value_or("causal_lm") == "causal_lm") return;
      reading.file.Ignore(setting.name);
    }),
    Other("tuner_backend").Read([](const Setting& setting, Reading& reading) {
      if (reading.file.Text(setting.name).value_or("peft") == "peft") return;
      reading.file.Ignore(setting.name);
      reading.out.lowering.push_back({setting.name});
    }),
    Passes("model_type|model_revision|rope_scaling|max_model_len|local_repo_path|init_strategy|"
           "external_plugins|custom_register_path|seed|model_kwargs|enable_npu_model_patch|"
           "load_args|load_data_args|packing_length|packing_num_proc|packing_strategy|"
           "lazy_tokenize|use_hf|hub_token|ddp_backend|ddp_timeout|ignore_args_error|hqq_axis|"
           "bnb_4bit_compute_dtype|bnb_4bit_quant_type|bnb_4bit_quant_storage"),
    Passes("template|system|truncation_strategy|max_pixels|agent_template|norm_bbox|"
           "use_chat_template|padding_side|loss_scale|is_binary_loss_scale|template_backend|"
           "response_prefix|enable_thinking|preserve_thinking|add_non_thinking_prefix|"
           "disable_ignore_empty_think|dataset|val_dataset|cached_dataset|cached_val_dataset|"
           "split_dataset_ratio|data_seed|dataset_num_proc|load_from_cache_file|dataset_shuffle|"
           "val_dataset_shuffle|streaming|interleave_prob|stopping_strategy|shuffle_buffer_size|"
           "download_mode|columns|strict|disable_auto_column_mapping|model_name|model_author|"
           "custom_dataset_info"),
    Passes("max_new_tokens|temperature|top_k|top_p|repetition_penalty|num_beams|stream|stop_words|"
           "logprobs|top_logprobs|structured_outputs_regex|use_ray|ray_exp_name|device_groups|"
           "trainable_parameters|trainable_parameters_regex|freeze_vit|freeze_aligner|lora_alpha|"
           "lora_dtype|lorap_lr_ratio|use_rslora|lora_ga_|init_weights|fourier_|boft_|vera_|vera_"
           "dropout|vera_rank|"
           "adapter_act|adapter_length|adalora_|llamapro_|reft_"),
    Passes("add_version|create_checkpoint_symlink|swanlab_|vit_gradient_checkpointing|"
           "safe_serialization|max_shard_size|check_model|acc_strategy|train_dataloader_shuffle|"
           "group_by_length|aligner_lr|vit_lr|ds3_gather_for_generation|resume_only_model|"
           "eval_metric|callbacks|early_stop_interval|eval_use_evalscope|eval_dataset|"
           "eval_dataset_args|eval_limit|eval_generation_config|extra_eval_args|galore_|"
           "lisa_step_interval|use_flash_ckpt|logging_dir"),
};

}  // namespace

int64_t SwiftDevices(const SwiftJson& environment) {
  const auto count = [&](const char* name, int64_t absent) {
    int64_t out = absent;
    if (!environment.is_object() || !environment.contains(name)) return out;
    const SwiftJson& value = environment[name];
    if (value.is_number_integer()) return value.get<int64_t>();
    if (value.is_string() && absl::SimpleAtoi(value.get<std::string>(), &out)) return out;
    return int64_t{0};
  };
  const auto devices = Product(count("NPROC_PER_NODE", 0), count("NNODES", 1));
  return devices.value_or(0) > 0 ? *devices : 0;
}

bool IsSwift(const SwiftJson& document) {
  if (!document.contains("model")) return false;
  for (const char* const name : {"tuner_type", "train_type", "sft_type", "attn_impl", "quant_bits",
                                 "split_dataset_ratio", "freeze_vit", "use_hf"}) {
    if (document.contains(name)) return true;
  }
  return document.contains("torch_dtype") && document.contains("target_modules");
}

absl::Span<const Setting> SwiftSettings() { return kSwiftSettings; }

absl::StatusOr<LauncherRead> ReadSwift(nlohmann::json document, bool with_model) {
  if (document.contains("rlhf_type")) return absl::InvalidArgumentError(kPreferenceTrainer);
  Translation out(std::move(document), kSwiftSettings);
  for (const char* const name : {"bf16", "fp16", "gradient_accumulation_steps"}) {
    out.Rename(name, name);
  }
  out.Pass("packing");
  out.Pass("padding_free");
  out.Rename("model", "model");
  out.Rename("max_length", "max_length");
  out.Rename("per_device_train_batch_size", "per_device_train_batch_size", 1);
  TranslateTuner(out);
  bool open = false;
  TranslateSwiftTypes(out, &open);
  const std::string attention = out.TakeText("attn_impl", "sdpa");
  out.Set("attn_implementation", attention == "eager" ? "eager" : "sdpa");
  out.Rename("gradient_checkpointing", "gradient_checkpointing", true);
  const bool accumulates = out.Has("gradient_accumulation_steps");
  out.TakeLiger("use_liger_kernel");
  TranslateSwiftEngine(out);
  const int64_t devices = SwiftDevices(out.Take("ENV"));
  const bool length = out.Has("max_length");
  absl::StatusOr<LauncherRead> read = out.Read([&](SwiftJson arguments) {
    return ReadTrainer(std::move(arguments), with_model, false,
                       {Unknown::kRefused, kSwiftSettings});
  });
  if (!read.ok()) return read;
  if (open) read->open.emplace_back("torch_dtype");
  if (!length) read->open.emplace_back("max_length");  // the model's longest
  if (!accumulates) {
    // As many as 16 sequences of a step take on all devices.
    read->open.emplace_back("gradient_accumulation_steps");
    read->sequences_per_rank = 0;
  }
  if (devices > 0) read->request.mutable_cluster()->set_device_count(devices);
  return read;
}

}  // namespace sextant::server
