// TrainingArguments of transformers and TRL, read.
#include <iterator>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "proto/words/field_path.h"
#include "server/launcher/fine_tuning.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {
namespace {

constexpr int64_t kTrlLossChunk = 256;  // _CHUNKED_LM_HEAD_CHUNK_SIZE of trl/trainer/sft_trainer.py

void ReadTrainerSteps(const Setting& setting, Reading& reading) {
  const int64_t steps = reading.file.Count(setting.name, -1).value_or(-1);  // -1: by the epochs
  if (steps > 0) reading.out.step_count = steps;
}

// Epochs of data whose size is not known.
void ReadTrainerEpochs(const Setting& setting, Reading& reading) {
  if (!reading.file.Number(setting.name).has_value()) return;
  if (reading.out.step_count == 0) reading.out.open.emplace_back(setting.name);
}

struct TrainerOptimizer {
  const char* name;
  const char* kind;
  bool own_type = false;  // moments stay in fp32, or have a type of their own
  bool lowers = false;    // it may need less memory
  v1::OptimizerSpec::Implementation implementation = v1::OptimizerSpec::IMPLEMENTATION_UNSPECIFIED;
  bool paged = false;
  bool in_backward = false;
};

constexpr auto kUnsaid = v1::OptimizerSpec::IMPLEMENTATION_UNSPECIFIED;
constexpr auto kForeachLoop = v1::OptimizerSpec::IMPLEMENTATION_FOREACH;
constexpr auto kFusedLoop = v1::OptimizerSpec::IMPLEMENTATION_FUSED;

// The names of OptimizerNames. bitsandbytes' and Apex's keep fp32 moments of any weights; its 8-bit
// ones (0.50.1, optim/optimizer.py) and torchao's (optim/adam.py) divide blocks of 256. SGD has no
// momentum: Trainer gives it none. LOMO is SGD in the backward pass (arXiv 2306.09782), AdaLomo
// with the second moments of Adafactor (arXiv 2310.10195).
constexpr TrainerOptimizer kTrainerOptimizers[] = {
    {"adamw_torch", "adamw", false, false, kForeachLoop},
    {"adamw_torch_fused", "adamw", false, false, kFusedLoop},
    {"adamw_torch_xla", "adamw"},
    {"adamw_torch_npu_fused", "adamw"},
    {"adamw_hf", "adamw"},
    {"adamw_apex_fused", "adamw", true},
    {"adamw_anyprecision", "adamw", true, true},
    {"adafactor", "adafactor", true},
    {"sgd", "sgd", true},
    {"adagrad", "adagrad"},
    {"rmsprop", "rmsprop"},
    {"rmsprop_bnb", "rmsprop", true},
    {"rmsprop_bnb_32bit", "rmsprop", true},
    {"rmsprop_bnb_8bit", "rmsprop", true, true},
    {"adamw_bnb_8bit", "adam-8bit", true},
    {"adamw_8bit", "adam-8bit", true},
    {"adamw_torch_8bit", "adam-8bit", true},
    {"adamw_torch_4bit", "adam-8bit", true, true},
    {"paged_adamw", "adamw", true, false, kFusedLoop, true},
    {"paged_adamw_32bit", "adamw", true, false, kFusedLoop, true},
    {"paged_adamw_8bit", "adam-8bit", true, false, kFusedLoop, true},
    {"lion_32bit", "lion", true},
    {"lion_8bit", "lion", true, true},
    {"paged_lion_32bit", "lion", true, false, kFusedLoop, true},
    {"paged_lion_8bit", "lion", true, true},
    {"galore_adamw", "galore"},
    {"galore_adamw_8bit", "adam-8bit", true, true},
    {"galore_adamw_layerwise", "galore", false, false, kUnsaid, false, true},
    {"galore_adamw_8bit_layerwise", "adam-8bit", true, true},
    {"apollo_adamw", "adamw", true, true},
    {"apollo_adamw_layerwise", "adamw", true, true},
    {"muon", "muon"},  // axolotl's and LLaMA-Factory's
    {"lomo", "sgd", true, false, kUnsaid, false, true},
    {"adalomo", "adafactor", true, false, kUnsaid, false, true},
};

// "rank=256, update_proj_gap=200".
void ReadGaloreRank(Reading& reading) {
  const std::string given = reading.file.Text("optim_args").value_or("");
  for (const absl::string_view part : absl::StrSplit(given, ',')) {
    const std::pair<absl::string_view, absl::string_view> words = absl::StrSplit(part, '=');
    int64_t rank = 0;
    if (absl::StripAsciiWhitespace(words.first) != "rank") continue;
    if (!absl::SimpleAtoi(words.second, &rank)) return reading.file.Ignore("optim_args");
    reading.out.defaults.mutable_training()->mutable_optimizer()->set_galore_rank(rank);
  }
}

// "flash_attention_2", "sdpa", or a kernel of the Hub, "kernels-community/flash-attn".
void ReadTrainerAttention(const Setting& setting, Reading& reading) {
  const std::string name = reading.file.Text(setting.name).value_or("");
  if (name.empty()) return;
  reading.Set("layout.kernels.attention", name == "eager" ? "unfused" : "flash");
}

// The loss of transformers is computed of whole logits; "nll" is TRL's name for it.
void ReadTrainerLoss(const Setting& setting, Reading& reading) {
  const std::string name = reading.file.Text(setting.name).value_or("nll");
  if (name == "chunked_nll") {
    reading.Set("layout.kernels.loss", "chunked");
    reading.layout().mutable_kernels()->set_loss_chunk_tokens(kTrlLossChunk);
  } else if (name != "nll") {
    reading.file.Ignore(setting.name);
  }
}

// How the base is held under adapters: bitsandbytes' types.
void ReadTrainerBits(const Setting& setting, Reading& reading) {
  if (!reading.file.IsOn(setting.name)) return;
  reading.Set("layout.storage.frozen_data_type",
              absl::StrContains(setting.name, "8bit") ? "int8" : "fp4");
  for (const char* const name : {"model_name_or_path", "model"}) {
    if (reading.file.HoldsText(name)) {
      CheckQuantizedExperts(reading.file.Text(name).value_or(""), setting.name, reading);
    }
  }
}

// "full" of files that name a method.
void ReadTrainerMethod(const Setting& setting, Reading& reading) {
  if (reading.file.Text(setting.name).value_or("full") != "full") reading.file.Ignore(setting.name);
}

// use_peft is TRL's; use_lora and lora are scripts'.
void ReadTrainerAdapters(const Setting& setting, Reading& reading) {
  constexpr int64_t kTrlRank = 16;  // lora_r of ModelConfig
  SettingFile& file = reading.file;
  const bool on = file.IsOn(setting.name) || file.IsOn("use_lora") || file.IsOn("lora");
  if (!on) return;
  constexpr char kTargets[] = "lora_target_modules";
  const auto rank = file.Count("lora_r");
  const int64_t usual = file.Count("lora_rank").value_or(kTrlRank);
  SetAdapters(rank.value_or(usual), kTargets, TextsAt(kTargets, reading), reading);
  constexpr double kTrlDropout = 0.05;  // lora_dropout of ModelConfig
  SetAdapterDropout("lora_dropout", file.IsOn(setting.name) ? kTrlDropout : 0, reading);
}

constexpr Setting kTrainerSettings[] = {
    Other("model_name_or_path").Read(ReadModelName),
    Other("model").Read(ReadModelName),
    Other("config_name").Read(ReadModelName),
    Other("method").Read(ReadTrainerMethod),
    Whole("per_gpu_train_batch_size", "layout.micro_batch_size"),
    Whole("per_device_train_batch_size", "layout.micro_batch_size"),
    Whole("block_size", "training.sequence_length"),
    Whole("model_max_length", "training.sequence_length"),
    Whole("sequence_length", "training.sequence_length"),
    Whole("max_seq_length", "training.sequence_length"),
    Whole("max_length", "training.sequence_length"),
    Other("max_steps").Read(ReadTrainerSteps),
    Other("num_train_epochs").Read(ReadTrainerEpochs),
    Other("optim").Read(ReadTrainerOptimizer),
    Other("attn_implementation").Read(ReadTrainerAttention),
    Other("loss_type").Read(ReadTrainerLoss),
    Other("tp_size").Read(ReadTensorRanks),
    Parts("bf16|fp16|tf32|gradient_accumulation_steps|gradient_checkpointing|deepspeed|fsdp|dtype|"
          "torch_dtype|use_lora|lora|lora_r|lora_rank|lora_target_modules|lora_dropout|"
          "use_liger_kernel|fsdp_config|fsdp_config.auto_wrap_policy|fsdp_config.offload_params|"
          "fsdp_config.sharding_strategy|fsdp_config.reshard_after_forward|"
          "fsdp_config.activation_checkpointing|model_init_kwargs.dtype|"
          "model_init_kwargs.torch_dtype"),
    Switch("full_determinism", "layout.framework.deterministic"),
    Other("use_peft").Read(ReadTrainerAdapters),
    Other("load_in_4bit").Read(ReadTrainerBits),
    Other("load_in_8bit").Read(ReadTrainerBits),
    Switch("use_bnb_nested_quant", "layout.storage.double_quantization"),
    Matters("label_smoothing_factor", Effect::kRaises, "a copy of the logits for the loss"),
    Matters("lora_modules_to_save|lora_target_parameters|use_dora", Effect::kRaises,
            "what is trained besides the adapters"),
    Matters("fsdp_config.min_num_params|fsdp_min_num_params", Effect::kRaises,
            "units of FSDP by their size"),
    Matters("accelerator_config.split_batches|parallelism_config|mp_parameters|no_cuda|use_cpu|"
            "use_ipex|jit_mode_eval|fsdp_config.xla|fsdp_config.xla_fsdp_grad_ckpt|"
            "fsdp_config.xla_fsdp_settings",
            Effect::kEither, "another batch, another division or another device"),
    Lowers("torchdynamo"),
    Lowers("optim", "training.optimizer.kind"),
    Lowers("torch_compile"),
    Lowers("use_liger", "layout.kernels.loss"),
    Lowers("liger_kernel_config", "layout.kernels.loss"),
    Lowers("auto_find_batch_size", "layout.micro_batch_size"),
    Lowers("torch_empty_cache_steps"),
    Lowers("activation_offloading"),
    Lowers("loss_type", "layout.kernels.loss"),
    Passes("accelerator_config.dispatch_batches"),
    Passes("accelerator_config.even_batches"),
    Passes("accelerator_config.gradient_accumulation_kwargs"),
    Passes("accelerator_config.non_blocking"),
    Passes("accelerator_config.use_configured_state"),
    Passes("accelerator_config.use_seedable_sampler"),
    Passes("adam_"),
    Passes("average_tokens_across_devices"),
    Passes("bf16_full_eval"),
    Passes("fp16_full_eval"),
    Passes("batch_eval_metrics"),
    Passes("bnb_4bit_quant_storage"),
    Passes("bnb_4bit_quant_type"),
    Passes("bnb_4bit_compute_dtype"),
    Passes("cache_dir"),
    Passes("chat_template"),
    Passes("chat_template_path"),
    Passes("completion_only_loss"),
    Passes("assistant_only_loss"),
    Passes("data_"),
    Passes("dataloader_"),
    Passes("dataset_"),
    Passes("datasets"),
    Passes("ddp_"),
    Passes("debug"),
    Passes("disable_tqdm"),
    Passes("do_"),
    Passes("enable_jit_checkpoint"),
    Passes("eos_token"),
    Passes("eval_"),
    Passes("evaluation_strategy"),
    Passes("fp16_backend"),
    Passes("fp16_opt_level"),
    Passes("fsdp_config.backward_prefetch"),
    Passes("fsdp_config.cpu_ram_efficient_loading"),
    Passes("fsdp_config.forward_prefetch"),
    Passes("fsdp_config.limit_all_gathers"),
    Passes("fsdp_config.state_dict_type"),
    Passes("fsdp_config.sync_module_states"),
    Passes("fsdp_config.transformer_layer_cls_to_wrap"),
    Passes("fsdp_config.use_orig_params"),
    Passes("fsdp_config.version"),
    Passes("fsdp_transformer_layer_cls_to_wrap"),
    Passes("gradient_checkpointing_kwargs"),
    Passes("greater_is_better"),
    Passes("group_by_length"),
    Passes("half_precision_backend"),
    Passes("hub_"),
    Passes("ignore_bias_buffers"),
    Passes("ignore_data_skip"),
    Passes("include_"),
    Passes("label_names"),
    Passes("lazy_preprocess"),
    Passes("learning_rate"),
    Passes("length_column_name"),
    Passes("load_best_model_at_end"),
    Passes("local_rank"),
    Passes("log_"),
    Passes("logging_"),
    Passes("lora_alpha"),
    Passes("lora_task_type"),
    Passes("lr_scheduler_"),
    Passes("max_eval_samples"),
    Passes("max_grad_norm"),
    Passes("max_train_samples"),
    Passes("metric_for_best_model"),
    Passes("model_revision"),
    Passes("neftune_noise_alpha"),
    Passes("output_dir"),
    Passes("overwrite_"),
    Passes("packing"),
    Passes("packing_strategy"),
    Passes("pad_to_multiple_of"),
    Passes("pad_token"),
    Passes("padding_free"),
    Passes("past_index"),
    Passes("per_device_eval_batch_size"),
    Passes("per_gpu_eval_batch_size"),
    Passes("prediction_loss_only"),
    Passes("preprocessing_num_workers"),
    Passes("project"),
    Passes("push_to_hub"),
    Passes("push_to_hub_"),
    Passes("ray_scope"),
    Passes("remove_unused_columns"),
    Passes("report_to"),
    Passes("restore_callback_states_from_checkpoint"),
    Passes("resume_from_checkpoint"),
    Passes("run_name"),
    Passes("router_aux_loss_coef"),
    Passes("save_"),
    Passes("seed"),
    Passes("shuffle_dataset"),
    Passes("skip_memory_metrics"),
    Passes("streaming"),
    Passes("token"),
    Passes("tokenizer_name"),
    Passes("tokenizer_name_or_path"),
    Passes("trackio_space_id"),
    Passes("train_file"),
    Passes("train_sampling_strategy"),
    Passes("truncation_mode"),
    Passes("trust_remote_code"),
    Passes("use_cache"),
    Passes("use_fast_tokenizer"),
    Passes("use_legacy_prediction_loop"),
    Passes("use_rslora"),
    Passes("validation_file"),
    Passes("validation_split_percentage"),
    Passes("wandb_"),
    Passes("warmup_"),
    Passes("weight_decay"),
};

}  // namespace

// A DeepSpeed file's optimizer goes first: Trainer builds that.
void ReadTrainerOptimizer(const Setting& setting, Reading& reading) {
  const std::string name = reading.file.Text(setting.name).value_or("");
  if (name.empty()) return;
  const auto known = absl::c_find_if(kTrainerOptimizers, [&](auto& o) { return name == o.name; });
  if (known == std::end(kTrainerOptimizers)) return reading.file.Ignore(setting.name);
  v1::PlanRunRequest& defaults = reading.out.defaults;
  words::SetField("training.optimizer.kind", known->kind, &defaults).IgnoreError();  // the table's
  v1::TrainingSpec& training = *defaults.mutable_training();
  const v1::OptimizerSpec::Kind kind = training.optimizer().kind();
  const bool wide = kind == v1::OptimizerSpec::KIND_ADAMW || kind == v1::OptimizerSpec::KIND_LION ||
                    kind == v1::OptimizerSpec::KIND_RMSPROP;
  if (known->own_type && wide) {
    training.mutable_precision()->set_optimizer_data_type(v1::DATA_TYPE_FP32);
  }
  if (kind == v1::OptimizerSpec::KIND_ADAM_8BIT) {
    training.mutable_optimizer()->set_quantization_block_size(256);
  }
  if (known->implementation != v1::OptimizerSpec::IMPLEMENTATION_UNSPECIFIED) {
    training.mutable_optimizer()->set_implementation(known->implementation);
  }
  if (known->paged) training.mutable_optimizer()->set_paged(true);
  if (known->in_backward) training.mutable_optimizer()->set_in_backward(true);
  if (kind == v1::OptimizerSpec::KIND_GALORE) ReadGaloreRank(reading);
  if (known->lowers) reading.file.Ignore(setting.name);
}

absl::Span<const Setting> TrainerSettings() { return kTrainerSettings; }

}  // namespace sextant::server
