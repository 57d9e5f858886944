// Sources: NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/training/config.py and
// training/mixed_precision.py of 0.3; NVIDIA/NeMo 2.x nemo/collections/llm/recipes and 1.x
// examples/nlp/language_modeling/conf/megatron_gpt_config.yaml. What they share are the names of
// Megatron-Core's TransformerConfig, which Megatron-LM's arguments are made of.
#include "server/launcher/nemo_arguments.h"

#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/launcher/launcher.h"
#include "server/launcher/python_settings.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;

constexpr char kOpenValue[] = "auto";

// A setting whose argument has another name, or says the opposite. Of several settings of an
// argument the first is written.
struct NemoName {
  const char* key;
  const char* argument;
  const char* unless = "";  // the argument where the setting is false: "" for none
};
constexpr NemoName kNemoNames[] = {
    {"num_moe_experts", "--num-experts"},
    {"virtual_pipeline_model_parallel_size", "--num-virtual-stages-per-pipeline-rank"},
    {"seq_length", "--seq-length"},
    {"encoder_seq_length", "--seq-length"},
    {"sequence_length", "--seq-length"},
    {"train_iters", "--train-iters"},
    {"max_steps", "--train-iters"},
    {"recompute_granularity", "--recompute-granularity"},
    {"recompute_method", "--recompute-method"},
    {"recompute_num_layers", "--recompute-num-layers"},
    {"activations_checkpoint_granularity", "--recompute-granularity"},
    {"activations_checkpoint_method", "--recompute-method"},
    {"activations_checkpoint_num_layers", "--recompute-num-layers"},
    {"num_layers_in_first_pipeline_stage", "--decoder-first-pipeline-num-layers"},
    {"num_layers_in_last_pipeline_stage", "--decoder-last-pipeline-num-layers"},
    {"fp8", "--fp8-format"},
    {"fp4", "--fp4-format"},
    {"tp_comm_overlap", "--tp-comm-overlap"},
    {"ub_tp_comm_overlap", "--tp-comm-overlap"},
    {"gated_linear_unit", "--swiglu"},
    {"add_bias_linear", "", "--disable-bias-linear"},
    {"bias", "", "--disable-bias-linear"},
    {"share_embeddings_and_output_weights", "", "--untie-embeddings-and-output-weights"},
    {"gradient_accumulation_fusion", "", "--no-gradient-accumulation-fusion"},
    {"overlap_p2p_comm", "", "--no-overlap-p2p-communication"},
    {"grad_reduce_in_fp32", "--accumulate-allreduce-grads-in-fp32", "--grad-reduce-in-bf16"},
};

// Sections that a plan has nothing of, and settings in the others: "" before a dot stands for any
// section. Of the model's numbers those that change no size or time.
constexpr const char* kNemoPasses[] = {
    // sections
    "tokenizer",
    "checkpoint",
    "logger",
    "rng",
    "rerun_state_machine",
    "straggler",
    "profiling",
    "ft",
    "inprocess_restart",
    "scheduler",
    "lr_scheduler",
    "validation",
    "log",
    "resume",
    "exp_manager",
    "hydra",
    "nsys_profile",
    "exp_dir",
    "name",
    "tensor_inspect",
    "nvrx_straggler",
    // settings
    "seed",
    "data_prefix",
    "data",
    "blend",
    "blend_per_split",
    "split",
    "num_workers",
    "data_path",
    "data_sharding",
    "dataloader_type",
    "num_dataset_builder_threads",
    "path_to_cache",
    "reset_position_ids",
    "reset_attention_mask",
    "eod_mask_loss",
    "random_seed",
    "lr",
    "load_weights",
    "min_lr",
    "weight_decay",
    "betas",
    "adam_beta1",
    "adam_beta2",
    "adam_eps",
    "eps",
    "clip_grad",
    "sched",
    "_target_",
    "_call_",
    kPythonCallee,
    kPythonArguments,
    "init_method_std",
    "init_method",
    "output_layer_init_method",
    "layernorm_epsilon",
    "layernorm_zero_centered_gamma",
    "rotary_base",
    "rotary_percent",
    "rotary_interleaved",
    "seq_len_interpolation_factor",
    "scale_factor",
    "rope_scaling",
    "rope_scaling_factor",
    "apply_rope_fusion",
    "bias_activation_fusion",
    "bias_dropout_fusion",
    "bias_dropout_add_fusion",
    "masked_softmax_fusion",
    "persist_layer_norm",
    "activation_func",
    "autocast_dtype",
    "params_dtype",
    "pipeline_dtype",
    "enable_autocast",
    "bf16",
    "fp16",
    "manual_gc",
    "manual_gc_interval",
    "manual_gc_eval",
    "eval_interval",
    "eval_iters",
    "check_for_nan_in_grad",
    "average_in_collective",
    "bucket_size",
    "align_param_gather",
    "pad_buckets_for_high_nccl_busbw",
    "hf_model_id",
    "generation_config",
    "make_vocab_size_divisible_by",
    "should_pad_vocab",
    "cuda_graph_warmup_steps",
    "cuda_graph_scope",
    "use_te_rng_tracker",
    "moe_aux_loss_coeff",
    "moe_z_loss_coeff",
    "moe_router_load_balancing_type",
    "moe_router_dtype",
    "moe_router_bias_update_rate",
    "moe_router_topk_scaling_factor",
    "moe_router_pre_softmax",
    "mtp_loss_scaling_factor",
    "calculate_per_token_loss",
    "deallocate_pipeline_outputs",
    "batch_p2p_comm",
    "reset_defaults",
    "apply_query_key_layer_scaling",
    "attention_softmax_in_fp32",
    "use_cpu_initialization",
    "perform_initialization",
    "fp8_margin",
    "fp8_interval",
    "fp8_amax_history_len",
    "fp8_amax_compute_algo",
    "log_every_n_steps",
    "val_check_interval",
    "limit_val_batches",
    "limit_test_batches",
    "enable_checkpointing",
    "max_epochs",
    "max_time",
    "gradient_clip_val",
    "benchmark",
    "callbacks",
    "use_distributed_sampler",
    "replace_sampler_ddp",
    "num_sanity_val_steps",
    "accumulate_grad_batches",
    "pre_process",
    "post_process",
    "native_amp_init_scale",
    "native_amp_growth_interval",
    "hysteresis",
    "onnx_safe",
    "apex_transformer_log_level",
    "gradient_as_bucket_view",
    "grad_div_ar_fusion",
    "grad_allreduce_chunk_size_mb",
    "transformer_block_type",
    "mcore_gpt",
    "transformer_engine",
    "resume_from_checkpoint",
    "sync_batch_comm",
    "megatron_amp_O2",
    "accelerator",
    "skip_getting_attention_mask_from_dataset",
    "lr_decay_style",
    "lr_warmup_iters",
    "use_tqdm",
};

// A value as an argument has it: "torch.float32" is "fp32", "AttnBackend.flash" its last word.
std::string NemoText(const Json& value) {
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  const size_t dot = text.rfind('.');
  if (dot != std::string::npos) text = text.substr(dot + 1);
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "float32") return "fp32";
  if (lower == "bfloat16") return "bf16";
  if (lower == "float16" || lower == "half") return "fp16";
  return text;
}

// "rmsnorm" and "layernorm1p" of NeMo 1 as Megatron-LM has them.
std::string NormText(const Json& value) {
  const std::string lower = absl::AsciiStrToLower(NemoText(value));
  return lower == "rmsnorm" ? "RMSNorm" : "LayerNorm";
}

const std::map<std::string, SettingValues>& KnownArguments() {
  static const auto* const known = [] {
    auto* out = new std::map<std::string, SettingValues>();
    for (const auto& [name, values] : MegatronNames()) (*out)[name] = values;
    return out;
  }();
  return *known;
}

bool IsOpenValue(const Json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text == kOpenValue || text == "???" || absl::StartsWith(text, "${");
}

bool IsPassed(const std::string& key) {
  if (absl::c_linear_search(kNemoPasses, key)) return true;
  const std::string argument = absl::StrCat("--", absl::StrReplaceAll(key, {{"_", "-"}}));
  return absl::c_any_of(MegatronSettings(),
                        [&](const Setting& each) { return each.passes && argument == each.name; });
}

// Takes a setting for an argument. False where it is none.
bool TakeArgument(const std::string& key, const std::string& setting, const Json& value,
                  NemoArguments& out) {
  const auto row =
      absl::c_find_if(kNemoNames, [&](const NemoName& each) { return key == each.key; });
  std::string argument = absl::StrCat("--", absl::StrReplaceAll(key, {{"_", "-"}}));
  if (row != std::end(kNemoNames)) {
    argument = value == false ? row->unless : row->argument;
    if (argument.empty()) return true;
    if (value == false) {
      out.Put(argument, setting);
      return true;
    }
  }
  const auto known = KnownArguments().find(argument);
  if (known == KnownArguments().end()) return false;
  switch (known->second) {
    case SettingValues::kNone:
      if (value != false) out.Put(argument, setting);
      return true;
    case SettingValues::kOne:
      if (value == false) return true;
      out.Put(argument, setting, argument == "--normalization" ? NormText(value) : NemoText(value));
      return true;
    case SettingValues::kSome:
      out.Put(argument, setting, Json::array());
      for (const Json& each : value.is_array() ? value : Json::array({value})) {
        out.values[argument].push_back(NemoText(each));
      }
      return true;
  }
  return false;
}

// Recipes by a word of their names. Source: Megatron-Bridge's training/mixed_precision.py, and
// NeMo's recipes/precision/mixed_precision.py.
struct NemoRecipe {
  const char* word;
  const char* format;
  const char* recipe;
};
constexpr NemoRecipe kNemoRecipes[] = {
    {"mxfp8", "e4m3", "mxfp8"},
    {"current_scaling", "hybrid", "tensorwise"},
    {"subchannel", "hybrid", "blockwise"},
    {"fp8", "hybrid", "delayed"},
};

// The settings of a recipe that a configuration changes.
void TakeChanges(const std::string& setting, const Json& recipe, NemoArguments& out) {
  for (const auto& [key, value] : recipe.items()) {
    const std::string name = absl::StrCat(setting, ".", key);
    if (value.is_null() || IsPassed(key)) continue;
    if (!TakeArgument(key, name, value, out)) out.ignored.push_back(name);
  }
}

}  // namespace

void TakeSection(const Json& root, const std::string& section,
                 const std::set<std::string>& elsewhere, NemoArguments& out) {
  const Json* node = &root;
  std::string rest = section;
  while (!rest.empty()) {
    const size_t dot = rest.find('.');
    if (!node->is_object() || !node->contains(rest.substr(0, dot))) return;
    node = &(*node)[rest.substr(0, dot)];
    rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
  }
  if (!node->is_object()) return;
  for (const auto& [key, value] : node->items()) {
    const std::string setting = section.empty() ? key : absl::StrCat(section, ".", key);
    if (value.is_null() || elsewhere.count(setting) > 0) continue;
    if (IsOpenValue(value)) {
      out.open.push_back(setting);
    } else if (IsPassed(key)) {
      out.passed.push_back(setting);
    } else if (!TakeArgument(key, setting, value, out)) {
      out.ignored.push_back(setting);
    }
  }
}

void TakePrecision(const std::string& setting, const Json& recipe, NemoArguments& out) {
  std::string name;
  bool half = false;
  if (recipe.is_object()) {
    const Json callee = recipe.value(kPythonCallee, recipe.value("_target_", Json("")));
    name = callee.is_string() ? callee.get<std::string>() : "";
    half = recipe.value("fp16", Json(false)) == true;
  } else if (!recipe.is_null()) {
    name = NemoText(recipe);
  }
  half = half || absl::StrContains(name, "fp16") || name == "16" || name == "16-mixed";
  out.Put(half ? "--fp16" : "--bf16", setting);
  const auto row = absl::c_find_if(
      kNemoRecipes, [&](const NemoRecipe& each) { return absl::StrContains(name, each.word); });
  if (absl::StrContains(name, "nvfp4")) {
    out.Put("--fp4-format", setting, "e2m1");
  } else if (row != std::end(kNemoRecipes)) {
    out.Put("--fp8-format", setting, row->format);
    out.Put("--fp8-recipe", setting, row->recipe);
  }
  if (recipe.is_object()) TakeChanges(setting, recipe, out);
}

NemoSetting NemoSettingOf(const std::string& argument) {
  for (const NemoName& each : kNemoNames) {
    if (argument == each.argument) return {.key = each.key};
    if (argument == each.unless) return {.key = each.key, .is_on = false};
  }
  return {.key = absl::StrReplaceAll(argument.substr(2), {{"-", "_"}})};
}

absl::StatusOr<LauncherRead> ReadNemoArguments(NemoArguments arguments, bool with_model) {
  if (arguments.values.contains("--num-query-groups")) {
    arguments.values["--group-query-attention"] = "";
  }
  SettingFile file =
      SettingFile::FromNamedArguments(std::move(arguments.values), std::move(arguments.names));
  absl::StatusOr<LauncherRead> read = ReadMegatron(std::move(file), with_model);
  if (!read.ok()) return read;
  read->ignored.insert(read->ignored.end(), arguments.ignored.begin(), arguments.ignored.end());
  read->passed.insert(read->passed.end(), arguments.passed.begin(), arguments.passed.end());
  read->open.insert(read->open.end(), arguments.open.begin(), arguments.open.end());
  read->request.mutable_layout()->mutable_framework()->set_kind(
      v1::FrameworkMemory::KIND_MEGATRON_BRIDGE);
  return read;
}

}  // namespace sextant::server
