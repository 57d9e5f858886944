// Runs of axolotl's configuration in YAML, read.
#include "server/launcher/axolotl.h"

#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;

// A micro-batch's sequences, and those of a step on a rank. batch_size is both together.
void ReadAxolotlBatch(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const int64_t micro = file.Count(setting.name).value_or(1);
  const int64_t batch = file.Count("batch_size").value_or(0);
  const auto steps = file.Count("gradient_accumulation_steps");
  const int64_t usual = std::max<int64_t>(batch / micro, 1);
  reading.layout().set_micro_batch_size(micro);
  reading.out.sequences_per_rank = Product(micro, steps.value_or(usual)).value_or(0);
}

void ReadAxolotlSteps(const Setting& setting, Reading& reading) {
  const auto steps = reading.file.Count(setting.name, -1);
  if (reading.file.Has("num_epochs")) {
    (void)reading.file.Number("num_epochs");
    if (steps.value_or(0) <= 0) reading.out.open.emplace_back("num_epochs");  // the data set's
  }
  if (steps.value_or(0) > 0) reading.out.step_count = *steps;
}

void ReadAxolotlAdapter(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const bool four = file.IsOn("load_in_4bit");
  const bool eight = file.IsOn("load_in_8bit");
  const std::string adapter = file.Text(setting.name).value_or("");
  if (adapter.empty()) {
    if (four || eight) file.Refuse(setting.name, "quantised weights take lora or qlora");
    return;
  }
  if (adapter != "lora" && adapter != "qlora") return file.Ignore(setting.name);
  if (!file.Has("lora_r")) return file.Refuse("lora_r", "write a whole number from 1 on");
  const auto rank = file.Count("lora_r");
  std::vector<std::string> modules = TextsAt("lora_target_modules", reading);
  if (file.IsOn("lora_target_linear")) modules.emplace_back("all-linear");
  if (rank.has_value()) SetAdapters(*rank, "lora_target_modules", modules, reading);
  // bnb_4bit_use_double_quant is on unless bnb_config_kwargs says otherwise.
  constexpr char kDouble[] = "bnb_config_kwargs.bnb_4bit_use_double_quant";
  const bool twice = !file.Has(kDouble) || file.IsOn(kDouble);
  if (!four && !eight) return;
  SetQuantizedBase(four ? 4 : 8, twice, reading);
  if (file.IsOn("quantize_moe_experts")) return;
  CheckQuantizedExperts(file.Text("base_model").value_or(""),
                        four ? "load_in_4bit" : "load_in_8bit", reading);
}

// Offloading replaces recomputation, but for full runs, which recompute too.
void ReadAxolotlRecompute(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const std::string mode = file.HoldsText(setting.name) ? file.Text(setting.name).value_or("") : "";
  const bool offloads = absl::StartsWith(mode, "offload") || mode == "unsloth";
  if (!mode.empty() && !offloads) file.Refuse(setting.name, "write true, false or \"offload\"");
  const bool on = offloads || (mode.empty() && file.IsOn(setting.name));
  constexpr char kOffloading[] = "activation_offloading";
  const bool moved = offloads || (file.Has(kOffloading) && !file.PassIfOff(kOffloading));
  const bool layers = file.IsOn("fsdp_config.activation_checkpointing");
  if (file.HoldsText(kOffloading)) (void)file.Text(kOffloading);
  if (moved) {
    const char* const name = offloads ? setting.name : kOffloading;
    file.Ignore(name);
    reading.out.lowering.push_back({absl::StrCat(name, " = ", offloads ? mode : "on")});
  }
  const bool replaced = moved && reading.request().model().changes().has_adapters();
  reading.Set(setting.field, (on || layers) && !replaced ? "full" : "none");
}

void ReadAxolotlAttention(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const std::string name = file.Text(setting.name).value_or("");
  bool eager = name == "eager";
  for (const char* flag : {"flash_attention", "sdp_attention", "xformers_attention",
                           "flex_attention", "eager_attention", "sage_attention"}) {
    const bool on = file.IsOn(flag);
    eager = eager || (on && absl::StartsWith(flag, "eager"));
  }
  reading.Set(setting.field, eager ? "unfused" : "flash");
}

// Liger's and cut cross-entropy make no whole logits; Liger's other one overwrites them.
void ReadAxolotlLoss(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  bool cut = false;
  for (const std::string& plugin : file.Texts("plugins")) {
    const bool cuts = plugin == kCutLossPlugin;
    cut = cut || cuts;
    const absl::string_view by_their_settings[] = {kLigerPlugin,
                                                   kExpertPlugin,
                                                   "axolotl.integrations.kernels.KernelsPlugin",
                                                   "axolotl.integrations.spectrum.SpectrumPlugin",
                                                   "axolotl.integrations.kd.KDPlugin",
                                                   "axolotl.integrations.lm_eval.LMEvalPlugin",
                                                   "axolotl.integrations.swanlab.SwanLabPlugin"};
    if (cuts || absl::c_linear_search(by_their_settings, plugin)) continue;
    reading.out.ignored.push_back(absl::StrCat("plugins: ", plugin));
  }
  if (file.Has("cut_cross_entropy")) cut = file.IsOn("cut_cross_entropy") && cut;
  const bool chunks = file.IsOn("liger_fused_linear_cross_entropy");
  if (file.IsOn(setting.name)) reading.Set(setting.field, "fused");
  if (cut || chunks) SetChunkedLoss(&reading.request());
}

// One of its own configurations is read here; another file is wanted, and read where it is given.
void ReadAxolotlEngine(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const std::string config =
      file.HoldsText(setting.name) ? file.Text(setting.name).value_or("") : "";
  SetTrainerFramework(!config.empty(), reading);
  if (!config.empty()) {
    const DeepspeedPreset* const preset = FindDeepspeedPreset(kAxolotlDeepspeed, config);
    if (preset == nullptr) return reading.out.wants.push_back(config);
    const auto read = ReadDeepspeedDocument(DeepspeedDocument(*preset));
    if (read.ok()) reading.request().MergeFrom(read->request);
    return;
  }
  const std::vector<std::string> words = TextsAt("fsdp", reading);
  const Json& document = file.document();
  const bool sharded = document.contains("fsdp_config") && document["fsdp_config"].is_object();
  if (sharded || !words.empty()) return ReadFsdp(absl::StrJoin(words, " "), reading);
  reading.out.defaults.mutable_layout()->mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_NONE);
}

// Copies of the sharded state, or the ranks that share one of it.
void ReadAxolotlGroup(const Setting& setting, Reading& reading) {
  const int64_t ranks = std::max<int64_t>(reading.layout().context_parallel_size(), 1);
  reading.out.state_copies = reading.file.Count("dp_replicate_size").value_or(0);
  const auto shards = reading.file.Count(setting.name);
  if (!shards.has_value() || *shards <= 1) return;
  const auto group = Product(*shards, ranks);
  if (group.has_value()) reading.layout().mutable_sharding()->set_shard_group_size(*group);
}

void ReadAxolotlContext(const Setting& setting, Reading& reading) {
  const int64_t older = reading.file.Count("sequence_parallel_degree").value_or(1);
  const int64_t size = reading.file.Count(setting.name).value_or(older);
  if (size <= 1) return;
  reading.layout().set_context_parallel_size(size);
  reading.layout().set_context_parallel_kind(v1::CONTEXT_PARALLEL_KIND_RING);
}

v1::DataType AxolotlCompute(SettingFile& file) {
  const bool fp16 = file.IsOn("fp16") || file.IsOn("float16");
  const bool said = file.Has("bf16");
  const bool bf16 = file.IsOn("bf16");
  const bool bfloat16 = file.IsOn("bfloat16");
  if (file.IsOn("fp8")) return v1::DATA_TYPE_FP8;
  if (file.IsOn("float32")) return v1::DATA_TYPE_FP32;
  if (bf16 || bfloat16 || (!said && !fp16)) return v1::DATA_TYPE_BF16;  // "auto": of GPUs that do
  return fp16 ? v1::DATA_TYPE_FP16 : v1::DATA_TYPE_FP32;
}

// axolotl loads weights in the type that it computes in (resolve_dtype() of utils/config), bf16
// under fp8.
void ReadAxolotlTypes(const Setting&, Reading& reading) {
  const v1::DataType compute = AxolotlCompute(reading.file);
  v1::PrecisionPolicy& out = *reading.training().mutable_precision();
  out.set_compute_data_type(compute);
  if (compute == v1::DATA_TYPE_FP32) return;
  reading.out.loaded_data_type = IsNarrow(compute) ? v1::DATA_TYPE_BF16 : compute;
}

// "auto" as what the devices decide, and keys of fsdp_config without "fsdp_", as axolotl's own
// validators take them.
Json Normalized(Json document) {
  const auto is = [&](const char* name, const char* word) {
    return document.contains(name) && document[name] == word;
  };
  if (is("bf16", "auto") || is("bf16", "full")) document["bf16"] = true;
  if (is("torch_compile", "auto")) document["torch_compile"] = true;
  for (const char* name : {"tf32", "batch_flattening"}) {
    if (is(name, "auto")) document.erase(name);
  }
  if (is("optimizer", "ao_adamw_8bit")) document["optimizer"] = "adamw_torch_8bit";
  if (document.contains("fsdp_config") && document["fsdp_config"].is_object()) {
    document["fsdp_config"] = WithoutFsdpPrefix(document["fsdp_config"]);
  }
  return document;
}

constexpr Setting kAxolotlSettings[] = {
    Other("base_model").By(ReadModelName, WriteAxolotlModel),
    Whole("sequence_len", "training.sequence_length").Required().Absent("512"),
    // The layout.
    Whole("micro_batch_size", "layout.micro_batch_size").Unset("1").Read(ReadAxolotlBatch),
    Whole("gradient_accumulation_steps", "layout.global_batch_size")
        .Required()
        .By([](const Setting&, Reading&) {}, WriteAxolotlAccumulation),
    Parts("batch_size"),
    Other("max_steps").By(ReadAxolotlSteps, WriteAxolotlSteps),
    Parts("num_epochs"),
    Whole("context_parallel_size", "layout.context_parallel_size")
        .AboveOne()
        .Read(ReadAxolotlContext),
    Parts("sequence_parallel_degree"),
    Takes("layout.context_parallel_kind", "ring"),
    Whole("tensor_parallel_size", "layout.parallel.tensor_parallel_size")
        .By(ReadTensorRanks, WriteAxolotlTensor),
    Takes("layout.sequence_parallel"),
    Whole("expert_parallel_size", "layout.parallel.expert_parallel_size").AboveOne(),
    Takes("layout.parallel.pipeline_parallel_size", "1"),
    Takes("layout.parallel.virtual_stage_count", "1"),
    Takes("layout.schedule", "one-forward-one-backward"),
    Other("deepspeed").For("layout.sharding.zero_stage").By(ReadAxolotlEngine, WriteAxolotlEngine),
    Parts("fsdp|fsdp_config.offload_params|fsdp_config.reshard_after_forward|"
          "fsdp_config.activation_checkpointing|fsdp_config.sharding_strategy"),
    Takes("layout.sharding.reshard_after_forward"),
    Takes("layout.sharding.offload_optimizer"),
    Takes("layout.sharding.offload_parameters"),
    Takes("layout.sharding.prefetched_unit_count", "1"),
    Whole("dp_shard_size", "layout.sharding.shard_group_size")
        .By(ReadAxolotlGroup, WriteAxolotlGroup),
    Parts("dp_replicate_size"),
    // Adapters and types.
    Other("adapter").For("model.changes.adapters.rank").By(ReadAxolotlAdapter, WriteAxolotlAdapter),
    Parts("lora_r|lora_target_modules|lora_target_linear|load_in_4bit|load_in_8bit|"
          "bnb_config_kwargs.bnb_4bit_use_double_quant|quantize_moe_experts"),
    Takes("model.changes.adapters.targets"),
    Other("lora_dropout")
        .For("layout.kernels.adapter_dropout")
        .By(ReadAdapterDropout, WriteAdapterDropout),
    Takes("model.changes.base_frozen"),
    Takes("layout.storage.frozen_data_type", "fp4|int8"),
    Takes("layout.storage.frozen_block_size", "64"),
    Takes("layout.storage.double_quantization"),
    Other("optimizer")
        .For("training.optimizer.kind")
        .Only("adamw|adam-8bit|adafactor|sgd|adagrad|rmsprop|lion|muon")
        .By(ReadTrainerOptimizer, WriteAxolotlOptimizer),
    Takes("training.optimizer.quantization_block_size", "256"),
    Takes("training.optimizer.implementation"),
    Takes("training.optimizer.paged"),
    Other("bf16")
        .For("training.precision.compute_data_type")
        .Only("fp32|fp16|bf16|fp8")
        .By(ReadAxolotlTypes, WriteAxolotlTypes),
    Parts("fp16|bfloat16|float16|float32|fp8"),
    Takes("training.precision.weight_data_type"),
    Takes("training.precision.gradient_data_type"),
    Takes("training.precision.master_weights"),
    Takes("training.precision.optimizer_data_type"),
    // Kernels. Recomputation depends on adapters.
    Other("gradient_checkpointing")
        .For("training.recompute")
        .Only("none|full")
        .By(ReadAxolotlRecompute, WriteAxolotlRecompute),
    Parts("activation_offloading"),
    Takes("layout.kernels.recomputed_layers_per_block", "1"),
    Choice("attn_implementation", "layout.kernels.attention",
           "flash_attention_2=flash|eager=unfused")
        .Unset("flash_attention_2")
        .Read(ReadAxolotlAttention),
    Parts("flash_attention|sdp_attention|xformers_attention|flex_attention|eager_attention|"
          "sage_attention"),
    Switch("liger_cross_entropy", "layout.kernels.loss", "fused")
        .Only("plain|fused|chunked")
        .By(ReadAxolotlLoss, WriteAxolotlLoss),
    Parts("rl|plugins|cut_cross_entropy|liger_fused_linear_cross_entropy"),
    Takes("layout.kernels.loss_chunk_tokens"),
    Takes("layout.framework.kind", "hugging-face-trainer|deepspeed"),
    // Not modelled: other losses, models and stages, what else is trained.
    Raises("lora_modules_to_save|peft_use_dora|lora_target_parameters|lora_rank_pattern|"
           "peft_layer_replication|peft_trainable_token_indices|kd_trainer|reward_model|"
           "process_reward_model|resize_token_embeddings_to_32x|fp32_norms|"
           "fsdp_config.min_num_params|pad_to_multiple_of|image_size"),
    Unmodelled("trl|ebft|diffusion|qat|mora|dense_mixer|llmcompressor|num_labels|trainer_cls|"
               "relora|model_config|model_kwargs|model_quantization_config|selective_checkpointing|"
               "use_pose|scaling_softmax|vllm|gptq|expert_parallel_token_capacity|use_eaft|"
               "deepcompile|ddp_bucket_cap_mb|auto_find_batch_size|experts_implementation|"
               "model_quantization_config_kwargs|use_onebitllms|nonexpert_quantization"),
    LowersIfOn("unfrozen_parameters|lisa_n_layers|spectrum_top_fraction|peft_layers_to_transform|"
               "layer_offloading|tiled_mlp|torch_compile|chunked_cross_entropy|"
               "flash_attn_cross_entropy|flash_attn_fuse_mlp|liger_rms_norm|liger_layer_norm|"
               "liger_glu_activation|liger_swiglu|lora_mlp_kernel|lora_qkv_kernel|lora_o_kernel|"
               "lora_embedding_kernel|fp8_enable_fsdp_float8_all_gather|use_scattermoe|"
               "use_sonicmoe|freeze_mm_modules|shrink_embeddings|expert_backend|device_map|"
               "peft_autocast_adapter_dtype"),
    Lowers("optimizer", "training.optimizer.kind"),
    // Model loading, data, schedules, checkpoints and logs.
    Passes("base_model_config|cls_model_config|tokenizer_|processor_|trust_remote_code|"
           "experimental_skip_move_to_device|use_kernels|output_dir|hub_|save_|"
           "saves_per_epoch|lora_model_dir|lora_alpha|lora_alpha_pattern|lora_fan_in_fan_out|"
           "lora_on_cpu|peft_use_rslora|peft_init_lora_weights|peft_ensure_weight_tying|"
           "peft_layers_pattern|peft.|qlora_sharded_model_loading|bnb_config_kwargs.|"
           "loraplus_|merge_|relora_|jagged_restart_|model_type|model_revision|"
           "mean_resizing_embeddings|embeddings_skip_upcast|reinit_weights|strict|seed|"
           "resume_from_checkpoint|auto_resume_from_checkpoints|dynamic_checkpoint.|"
           "quantization."),
    Passes("eval_|evals_per_epoch|evaluation_strategy|train_on_inputs|group_by_length|"
           "learning_rate|embedding_lr|embedding_lr_scale|weight_decay|optim_args|"
           "optim_target_modules|torchdistx_path|lr_|cosine_|adam_|dion_|qgalore_|"
           "max_grad_norm|warmup_|logging_steps|early_stopping_patience|"
           "load_best_model_at_end|neftune_noise_alpha|noisy_embedding_alpha|profiler_|"
           "include_tokens_per_second|include_tkps|grokfast_"),
    Passes("wandb_|use_wandb|mlflow_|use_mlflow|hf_mlflow_log_artifacts|comet_|use_comet|"
           "trackio_|use_trackio|otel_|use_otel_metrics|use_tensorboard|swanlab_|use_swanlab|"
           "gradio_|ray_|use_ray|resources_per_worker.|lm_eval_|lisa_step_interval|"
           "lisa_layers_attribute"),
    Passes("dataset_|datasets|test_datasets|pretraining_dataset|shuffle_|skip_prepare_dataset|"
           "num_dataset_shards_to_save|dataloader_|accelerator_config.|remove_unused_columns|"
           "push_dataset_to_hub|hf_use_auth_token|val_set_size|streaming|streaming_|"
           "special_tokens.|tokens|added_tokens_overrides.|chat_template|chat_template_|"
           "eot_tokens|default_system_message|fix_untrained_tokens|role_boundaries|"
           "curriculum_sampling|multipack_real_batches|batch_flattening|pose_|pretrain_|"
           "pretraining_sample_concatenation|excess_length_strategy|min_sample_len|"
           "max_prompt_len|sample_packing|sample_packing_|pad_to_sequence_len|image_resize_"),
    Passes("device|world_size|local_rank|ddp|ddp_timeout|ddp_broadcast_buffers|"
           "ddp_find_unused_parameters|do_causal_lm_eval|do_bench_eval|bench_|"
           "metric_for_best_model|greater_is_better|loss_watchdog_|gc_steps|gc_collect_steps|"
           "torch_empty_cache_steps|tf32|gradient_checkpointing_kwargs.|torch_compile_|"
           "flex_attn_compile_kwargs.|flash_optimum|gemma4_hybrid_attn_impl|"
           "large_head_attention|flash_attn_d512|sdpa_varlen|fused_attn_kernel|"
           "scaling_softmax_factor|scaling_softmax_bias|"
           "chunked_cross_entropy_num_chunks|eaft_|tiled_mlp_|llama4_linearized_experts|"
           "heads_k_stride|ring_attn_func|fsdp_version|fsdp_final_state_dict_type|"
           "fp32_norm_classes|fsdp_config.fsdp_version|fsdp_config.sync_module_states|"
           "fsdp_config.cpu_ram_efficient_loading|fsdp_config.cpu_offload_pin_memory|"
           "fsdp_config.use_orig_params|fsdp_config.state_dict_type|"
           "fsdp_config.final_state_dict_type|fsdp_config.auto_wrap_policy|"
           "fsdp_config.transformer_layer_cls_to_wrap|fsdp_config.mixed_precision_policy|"
           "fsdp_config.limit_all_gathers|fsdp_config.backward_prefetch|"
           "fsdp_config.forward_prefetch"),
    Passes("orpo_alpha|simpo_gamma|cpo_alpha|kto_|rl_beta|rpo_alpha|dpo_|"
           "center_rewards_coefficient|precompute_ref_log_probs|kd_alpha|kd_beta|kd_ce_alpha|"
           "kd_temperature|kd_temperature_min|kd_normalize_topk|kd_online_|max_memory.|"
           "gpu_memory_limit|low_cpu_mem_usage|is_preprocess|is_falcon_derived_model|"
           "is_llama_derived_model|is_mistral_derived_model|is_qwen_derived_model|"
           "preprocess_iterable|total_num_tokens|total_supervised_tokens|axolotl_config_path|"
           "generate_samples|num_generation_samples|generation_|liger_rope|"
           "liger_rms_norm_gated|liger_use_token_scaling|expert_parallel_backend|"
           "expert_parallel_num_nvl_bytes|expert_parallel_num_rdma_bytes|"
           "expert_parallel_fallback_on_unsupported|spectrum_model_name|moe_|dsv4_|"
           "use_dsv4_kernels|use_glm_dsa_kernels|gemma4_|nvfp4_|max_packed_sequence_len|"
           "rope_scaling|s2_attention|flash_attn_rms_norm"),
};

}  // namespace

absl::Span<const Setting> AxolotlSettings() { return kAxolotlSettings; }

absl::StatusOr<LauncherRead> ReadAxolotl(const LaunchText& text, bool with_model) {
  const Json* const preferences = text.Find("rl");
  if (preferences != nullptr && !preferences->is_null()) {
    return absl::InvalidArgumentError(kPreferenceTrainer);
  }
  return ReadSettings(kAxolotlSettings, with_model,
                      SettingFile::FromDocument(Normalized(text.Document())),
                      Unknown::kRefusedNearName);
}

}  // namespace sextant::server
