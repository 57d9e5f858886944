// LLaMA-Factory: its files in YAML or JSON, and its arguments.
// Source: hiyouga/LLaMA-Factory v0.9.5, src/llamafactory/hparams; examples/deepspeed.
#include "absl/strings/match.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "server/launcher/translation.h"

namespace sextant::server {
namespace {

constexpr int64_t kFactoryBucket = 500'000'000;
constexpr DeepspeedPreset kFactoryDeepspeed[] = {
    {"ds_z0_config.json", 0, false, false, kFactoryBucket},
    {"ds_z2_config.json", 2, false, false, kFactoryBucket},
    {"ds_z2_offload_config.json", 2, true, false, kFactoryBucket},
    {"ds_z3_config.json", 3},
    {"ds_z3_offload_config.json", 3, true, true},
};

// Its defaults are adapters of rank 8 on all matrices. Partial and orthogonal tuning train less
// than all weights, which are counted.
void TranslateMethod(Translation& out) {
  const std::string method = out.TakeText("finetuning_type", "lora");
  if (method == "lora") {
    out.Set("use_lora", true);
    out.Rename("lora_rank", "lora_rank", 8);
    out.Rename("lora_target", "lora_target_modules", "all");
    out.Rename("lora_dropout", "lora_dropout", 0);
  } else {
    out.Pass("lora_rank");
    out.Pass("lora_target");
    out.Pass("lora_dropout");
    if (method != "full") out.Ignore("finetuning_type", true);
  }
  const std::string bits = out.TakeText("quantization_bit");
  const bool bnb =
      absl::StrContains("bnb bitsandbytes", out.TakeText("quantization_method", "bnb"));
  const bool twice = out.TakeSwitch("double_quantization", true);
  if (bits.empty()) return;
  if (!bnb || (bits != "4" && bits != "8")) return out.Ignore("quantization_bit", true);
  out.Set(bits == "4" ? "load_in_4bit" : "load_in_8bit", true);
  if (bits == "4") out.Set("use_bnb_nested_quant", twice);
}

// Weights that are trained are cast to fp32, unless pure_bf16 is on; a frozen base is loaded in the
// type that is computed in (init_adapter() of model/adapter.py).
void TranslateTypes(Translation& out) {
  const bool pure = out.TakeSwitch("pure_bf16", false);
  const bool adapters = out.Has("use_lora");
  if (pure) out.Set("bf16", true);
  const bool bf16 = out.IsOn("bf16");
  const bool fp16 = out.IsOn("fp16");
  const char* const computed = bf16 ? "bfloat16" : fp16 ? "float16" : "float32";
  out.Set("torch_dtype", pure || adapters ? computed : "float32");
}

constexpr Setting kFactorySettings[] = {
    Parts("cutoff_len|finetuning_type|lora_rank|lora_target|lora_dropout|quantization_bit|"
          "quantization_method|"
          "double_quantization|pure_bf16|flash_attn|disable_gradient_checkpointing|"
          "enable_liger_kernel|use_muon|stage|model_name_or_path|packing|neat_packing"),
    // Trained parts and other losses, which add memory.
    Raises("additional_target|use_dora|resize_vocab|add_tokens|add_special_tokens|"
           "new_special_tokens_config|upcast_layernorm|upcast_lmhead_output|use_dft_loss|"
           "use_asft_loss|use_eaft_loss|ref_model|ref_model_adapters|reward_model|"
           "reward_model_adapters|moe_aux_loss_coef|adapter_name_or_path"),
    Unmodelled("use_llama_pro|use_mca|use_hyper_parallel|hyper_parallel_args|"
               "quantization_device_map|create_new_adapter|enable_torch_profiler"),
    LowersIfOn("use_galore|use_apollo|use_badam|use_adam_mini", "training.optimizer.kind"),
    LowersIfOn("mixture_of_depths|shift_attn|use_unsloth|use_unsloth_gc|use_kt|fp8|"
               "fp8_enable_fsdp_float8_all_gather|freeze_language_model|use_v1_kernels"),
    Passes("adapter_folder|cache_dir|use_fast_tokenizer|split_special_tokens|init_special_tokens|"
           "model_revision|low_cpu_mem_usage|rope_scaling|use_reentrant_gc|train_from_scratch|"
           "infer_backend|infer_dtype|offload_folder|use_kv_cache|hf_hub_token|ms_hub_token|"
           "om_hub_token|print_param_status|trust_remote_code|quantization_type|image_|"
           "crop_to_patches|video_|use_audio_in_video|audio_sampling_rate|export_|vllm_|sglang_|"
           "kt_"),
    Passes("template|dataset|dataset_dir|eval_dataset|media_dir|train_on_prompt|mask_history|"
           "streaming|buffer_size|mix_strategy|interleave_probs|overwrite_cache|"
           "preprocessing_batch_size|preprocessing_num_workers|max_samples|eval_num_beams|"
           "ignore_pad_token_for_loss|val_size|eval_on_each_dataset|tool_format|default_system|"
           "enable_thinking|preserve_thinking|tokenized_path|data_shared_file_system"),
    Passes("freeze_trainable_layers|freeze_trainable_modules|freeze_extra_modules|"
           "freeze_vision_tower|freeze_multi_modal_projector|lora_alpha|loraplus_|use_rslora|"
           "pissa_|module_dropout|oft_|pref_|dpo_label_smoothing|kto_chosen_weight|"
           "kto_rejected_weight|simpo_gamma|ppo_|ref_model_quantization_bit|"
           "reward_model_quantization_bit|reward_model_type|ld_alpha|galore_|apollo_|badam_|"
           "swanlab_|use_swanlab|asft_alpha|eaft_alpha|compute_accuracy|disable_shuffling|"
           "early_stopping_steps|plot_loss|include_effective_tokens_per_second|ray_num_workers|"
           "ray_init_kwargs|master_addr|master_port|profiler_|profile_modules|fp8_backend|"
           "overwrite_output_dir"),
};

}  // namespace

bool IsLlamaFactory(const nlohmann::json& document) {
  for (const char* const name : {"finetuning_type", "cutoff_len", "lora_target", "dataset_dir",
                                 "neat_packing", "quantization_bit"}) {
    if (document.contains(name)) return true;
  }
  return document.contains("stage") && document.contains("model_name_or_path");
}

absl::Span<const Setting> LlamaFactorySettings() { return kFactorySettings; }

absl::StatusOr<LauncherRead> ReadLlamaFactory(nlohmann::json document, bool with_model) {
  Translation out(std::move(document), kFactorySettings);
  const std::string stage = out.TakeText("stage", "sft");
  if (stage != "sft" && stage != "pt") return absl::InvalidArgumentError(kPreferenceTrainer);
  out.Pass("packing");
  out.Pass("neat_packing");
  out.Rename("model_name_or_path", "model_name_or_path");
  out.Rename("cutoff_len", "max_length", 2048);
  TranslateMethod(out);
  TranslateTypes(out);
  const std::string attention = out.TakeText("flash_attn", "auto");
  out.Set("attn_implementation", attention == "disabled" ? "eager" : "sdpa");
  out.Set("gradient_checkpointing", !out.TakeSwitch("disable_gradient_checkpointing", false));
  if (out.TakeSwitch("use_muon", false)) out.Set("optim", "muon");
  out.TakeDeepspeed("deepspeed", kFactoryDeepspeed);
  out.TakeLiger("enable_liger_kernel");
  return out.Read([&](nlohmann::json arguments) {
    return ReadTrainer(std::move(arguments), with_model, false,
                       {Unknown::kRefused, kFactorySettings});
  });
}

}  // namespace sextant::server
