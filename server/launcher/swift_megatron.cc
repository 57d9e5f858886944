// ms-swift on Megatron-LM: arguments of `megatron sft`, which are Megatron-LM's with underscores,
// and a model by its name. Source: modelscope/ms-swift v4.5.2,
// swift/megatron/arguments/megatron_args.py.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "server/launcher/translation.h"

namespace sextant::server {
namespace {

using BridgeJson = nlohmann::json;

// Defaults that are not Megatron-LM's, and dropout, which the model's configuration has: none.
constexpr std::pair<const char*, const char*> kBridgeDefaults[] = {
    {"micro_batch_size", "1"},  {"global_batch_size", "16"}, {"recompute_granularity", "selective"},
    {"attention_dropout", "0"}, {"hidden_dropout", "0"},
};
constexpr const char* kBridgeSwitches[] = {"use_distributed_optimizer", "cross_entropy_loss_fusion",
                                           "moe_grouped_gemm"};
constexpr std::pair<const char*, const char*> kBridgeNames[] = {
    {"max_length", "seq_length"},
    {"virtual_pipeline_model_parallel_size", "num_virtual_stages_per_pipeline_rank"},
};

constexpr Setting kBridgeSettings[] = {
    Parts("ENV|model|load|tuner_type|train_type|torch_dtype"),
    Unmodelled("modules_to_save|target_regex|num_labels|problem_type|mrl_dims|enable_dft_loss|"
               "enable_channel_loss|moe_expert_capacity_factor"),
    LowersIfOn("freeze_llm|freeze_parameters|freeze_parameters_ratio|freeze_parameters_regex"),
    Passes("lora_rank|lora_alpha|lora_dropout|lora_bias|lora_dtype|use_rslora|target_modules|"
           "trainable_parameters|freeze_vit|freeze_aligner|dataset|val_dataset|cached_dataset|"
           "cached_val_dataset|split_dataset_ratio|dataset_num_proc|dataset_shuffle|streaming|"
           "packing|packing_length|padding_free|truncation_strategy|system|template|loss_scale|"
           "num_train_epochs|max_epochs|output_dir|save|save_steps|save_strategy|save_safetensors|"
           "save_total_limit|no_save_optim|no_save_rng|no_load_optim|no_load_rng|finetune|"
           "async_save|eval_iters|eval_steps|logging_steps|report_to|tensorboard_|wandb_|swanlab_|"
           "seed|dataloader_|lr|lr_|min_lr|weight_decay|clip_grad|adam_|use_hf|model_author|"
           "model_name|load_safetensors|merge_lora|ddp_timeout|ddp_backend|check_model|manual_gc|"
           "manual_gc_|mcore_model|mcore_adapter|add_version|callbacks|model_type|bridge_backend"),
};

std::string BridgeArgument(const std::string& name, const BridgeJson& value) {
  if (value == false || value == "none") return "";
  std::string out = absl::StrCat(" --", absl::StrReplaceAll(name, {{"_", "-"}}));
  if (value == true) return out;
  for (const BridgeJson& each : value.is_array() ? value : BridgeJson::array({value})) {
    absl::StrAppend(&out, " ", each.is_string() ? each.get<std::string>() : each.dump());
  }
  return out;
}

// "--seq-length" as "seq_length".
void NameBridgeSettings(LauncherRead* read) {
  const auto name = [](std::string& each) {
    const size_t first = std::min(each.find_first_not_of('-'), each.size());  // "--" is none
    each = absl::StrReplaceAll(each.substr(first), {{"-", "_"}});
  };
  for (std::string& each : read->ignored) name(each);
  for (std::string& each : read->passed) name(each);
  for (LoweringSetting& each : read->lowering) name(each.text);
}

}  // namespace

absl::StatusOr<LauncherRead> ReadSwiftMegatron(BridgeJson document, bool with_model) {
  if (document.contains("rlhf_type")) return absl::InvalidArgumentError(kPreferenceTrainer);
  Translation out(std::move(document), kBridgeSettings);
  const std::string former = out.TakeText("train_type", "full");
  if (out.TakeText("tuner_type", former) != "full") out.Ignore("tuner_type", true);
  const std::string loaded = out.TakeText("load");
  const std::string model = out.TakeText("model", loaded);
  const std::string type = out.TakeText("torch_dtype", "bfloat16");
  for (const auto& [name, value] : kBridgeDefaults) out.Rename(name, name, value);
  for (const char* const name : kBridgeSwitches) out.Rename(name, name, true);
  for (const auto& [name, argument] : kBridgeNames) out.Rename(name, argument);
  const int64_t devices = SwiftDevices(out.Take("ENV"));
  if (type != "float32") out.Set(type == "float16" ? "fp16" : "bf16", true);
  absl::StatusOr<LauncherRead> read = out.Read([](BridgeJson arguments) {
    std::string text;
    for (const auto& [name, value] : arguments.items()) {
      absl::StrAppend(&text, BridgeArgument(name, value));
    }
    absl::StatusOr<LauncherRead> megatron = ReadMegatron(text, false);
    if (megatron.ok()) NameBridgeSettings(&*megatron);
    return megatron;
  });
  if (!read.ok()) return read;
  if (devices > 0) read->request.mutable_cluster()->set_device_count(devices);
  if (with_model && !model.empty()) read->request.mutable_model()->set_preset(model);
  return read;
}

}  // namespace sextant::server
