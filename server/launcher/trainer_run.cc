// Runs of TrainingArguments: what depends on several of them, and their defaults.
#include <iterator>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/launcher/fine_tuning.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {
namespace {

using RunJson = nlohmann::json;

// TrainingArguments' own; TRL's base configuration has others.
constexpr int64_t kTrainerBatch = 8;  // per_device_train_batch_size
constexpr int64_t kTrlLength = 1024;  // max_length

// Names that no other program's files have, and those that several have.
constexpr const char* kTrainerNames[] = {"per_device_train_batch_size", "per_gpu_train_batch_size"};
constexpr const char* kSharedNames[] = {"model_name_or_path",
                                        "output_dir",
                                        "learning_rate",
                                        "num_train_epochs",
                                        "bf16",
                                        "max_steps",
                                        "optim",
                                        "lr_scheduler_type",
                                        "warmup_ratio",
                                        "logging_steps",
                                        "save_steps",
                                        "report_to",
                                        "deepspeed",
                                        "save_strategy",
                                        "fsdp",
                                        "gradient_accumulation_steps",
                                        "dataset_name",
                                        "gradient_checkpointing"};
// TRL's configurations alone have these.
constexpr const char* kTrlNames[] = {"packing",
                                     "packing_strategy",
                                     "padding_free",
                                     "eval_packing",
                                     "dataset_kwargs",
                                     "completion_only_loss",
                                     "assistant_only_loss",
                                     "dataset_text_field",
                                     "dataset_num_proc",
                                     "chat_template_path",
                                     "use_peft",
                                     "activation_offloading",
                                     "dataset_mixer",
                                     "max_seq_length",
                                     "model_init_kwargs"};
constexpr const char* kPreferenceNames[] = {"beta",
                                            "ref_model_mixup_alpha",
                                            "precompute_ref_log_probs",
                                            "max_prompt_length",
                                            "num_generations",
                                            "max_completion_length",
                                            "use_vllm",
                                            "undesirable_weight",
                                            "ref_model",
                                            "reward_model_path",
                                            "reward_funcs",
                                            "kl_coef",
                                            "sync_ref_model"};

// These change something where they are on, and are left out where they are off.
constexpr const char* kOffNames[] = {
    "torch_compile",
    "torch_compile_backend",
    "torch_compile_mode",
    "use_liger_kernel",
    "use_liger",
    "auto_find_batch_size",
    "torch_empty_cache_steps",
    "activation_offloading",
    "label_smoothing_factor",
    "accelerator_config.split_batches",
    "lora_modules_to_save",
    "lora_target_parameters",
    "use_dora",
    "use_cpu",
    "no_cuda",
    "optim_args",
    "optim_target_modules",
    "fsdp",
    "deepspeed",
    "tp_size",
    "predict_with_generate",
    "jit_mode_eval",
    "mp_parameters",
    "fsdp_min_num_params",
};

template <typename Names>
bool HasOneOf(const RunJson& document, const Names& names) {
  return absl::c_any_of(names, [&](const char* name) { return document.contains(name); });
}

// TrainingArguments of one file, and which program's they are.
struct TrainerRun {
  Reading& reading;
  bool trl = false;
  bool deepspeed = false;
  bool fsdp = false;

  SettingFile& file() const { return reading.file; }
  v1::PlanRunRequest& defaults() const { return reading.out.defaults; }
  void Open(const char* name) const { reading.out.open.emplace_back(name); }
};

// The batch of a rank follows from the default too, so that the global one does.
void FinishBatch(const TrainerRun& run) {
  const v1::RunLayout& layout = run.reading.layout();
  const bool given = layout.has_micro_batch_size();
  if (!given) run.defaults().mutable_layout()->set_micro_batch_size(kTrainerBatch);
  const int64_t steps = run.file().Count("gradient_accumulation_steps").value_or(1);
  const int64_t batch = given ? layout.micro_batch_size() : kTrainerBatch;
  run.reading.out.sequences_per_rank = Product(batch, steps).value_or(0);
}

// Off by default, so that it computes in fp32; TRL's is bf16 unless fp16 is on.
void FinishPrecision(const TrainerRun& run) {
  SettingFile& file = run.file();
  const bool bf16 = file.IsOn("bf16");
  const bool fp16 = file.IsOn("fp16");
  const bool tf32 = file.IsOn("tf32");
  if (bf16 && fp16) file.Refuse("fp16", "turn on bf16 or fp16");
  if (bf16 || fp16) {
    return run.reading.Set("training.precision.compute_data_type", bf16 ? "bf16" : "fp16");
  }
  const bool by_default = run.trl && !file.Has("bf16");
  if (by_default) run.Open("bf16");
  run.defaults().mutable_training()->mutable_precision()->set_compute_data_type(
      by_default ? v1::DATA_TYPE_BF16
      : tf32     ? v1::DATA_TYPE_TF32
                 : v1::DATA_TYPE_FP32);
}

// Trainer holds weights in the type they are loaded in. from_pretrained() loads fp32 before
// transformers 5 and the checkpoint's own type from there on; TRL's dtype is float32. Where nothing
// is said, or "auto", fp32 is assumed, which takes the most memory, and the type is open.
void FinishWeights(const TrainerRun& run) {
  constexpr const char* kNames[] = {"dtype", "torch_dtype", "model_init_kwargs.dtype",
                                    "model_init_kwargs.torch_dtype"};
  const char* named = nullptr;
  std::string type;
  for (const char* const name : kNames) {
    if (!run.file().Has(name)) continue;
    named = name;
    type = run.file().Choose(
        name, "bfloat16=bf16|float16=fp16|float32=fp32|~half=fp16|~bf16=bf16|~fp16=fp16|auto=auto");
  }
  if (type == "bf16") run.reading.out.loaded_data_type = v1::DATA_TYPE_BF16;
  if (type == "fp16") run.reading.out.loaded_data_type = v1::DATA_TYPE_FP16;
  const bool automatic = run.file().IsAuto("dtype") || run.file().IsAuto("torch_dtype");
  if (named == nullptr && !automatic && !run.trl && !run.deepspeed) run.Open("dtype");
}

// TRL's default is to checkpoint, but not in releases of 2024: it is open.
void FinishRecompute(const TrainerRun& run) {
  const bool given = run.file().Has("gradient_checkpointing");
  const bool on = run.file().IsOn("gradient_checkpointing");
  if (run.trl && !given) run.Open("gradient_checkpointing");
  const v1::RecomputePolicy policy =
      on || (run.trl && !given) ? v1::RECOMPUTE_POLICY_FULL : v1::RECOMPUTE_POLICY_NONE;
  v1::PlanRunRequest& out = on ? run.reading.request() : run.defaults();
  if (run.reading.training().recompute() == v1::RECOMPUTE_POLICY_UNSPECIFIED) {
    out.mutable_training()->set_recompute(policy);
  }
}

void FinishLength(const TrainerRun& run) {
  if (!run.trl || run.reading.training().has_sequence_length()) return;
  run.Open("max_length");
  if (run.file().document().contains("max_length")) return;  // null: as long as the data
  run.defaults().mutable_training()->set_sequence_length(kTrlLength);
}

// Words of `fsdp`, a text or a list; true is "full_shard".
std::string FsdpWordsOf(SettingFile& file) {
  if (!file.Has("fsdp")) return "";
  const RunJson& value = file.document()["fsdp"];
  if (value.is_boolean()) return file.IsOn("fsdp") ? "full_shard" : "";
  if (value.is_array()) return absl::StrJoin(file.Texts("fsdp"), " ");
  return file.Text("fsdp").value_or("");
}

void FinishEngine(const TrainerRun& run, const std::string& fsdp) {
  SettingFile& file = run.file();
  const std::string config =
      file.Has("deepspeed") ? file.Text("deepspeed").value_or("") : std::string();
  if (!config.empty()) run.reading.out.wants.push_back(config);
  SetTrainerFramework(run.deepspeed, run.reading);
  const RunJson& document = file.document();
  if (document.contains("fsdp_config") && document["fsdp_config"].is_string()) {
    run.reading.out.wants.push_back(file.Text("fsdp_config").value_or(""));
  }
  if (run.fsdp) ReadFsdp(fsdp, run.reading);
}

void FinishTrainer(bool trl, bool engine_inline, Reading& reading) {
  const RunJson& document = reading.file.document();
  const std::string fsdp = FsdpWordsOf(reading.file);
  const TrainerRun run = {.reading = reading,
                          .trl = trl || HasOneOf(document, kTrlNames),
                          .deepspeed = engine_inline || document.contains("deepspeed"),
                          .fsdp = !fsdp.empty()};
  FinishBatch(run);
  FinishPrecision(run);
  FinishEngine(run, fsdp);
  FinishWeights(run);
  FinishRecompute(run);
  FinishLength(run);
}

// Liger's kernels, whose loss makes no whole logits; what else they save is open. The chunk's size
// follows from the length.
void ChunkLoss(LauncherRead& read) {
  v1::PlanRunRequest all = read.defaults;
  all.MergeFrom(read.request);
  if (all.training().sequence_length() == 0 || all.layout().micro_batch_size() == 0) return;
  SetChunkedLoss(&all);
  *read.request.mutable_layout()->mutable_kernels() = all.layout().kernels();
}

}  // namespace

bool IsTrainer(const RunJson& document) {
  if (HasOneOf(document, kTrainerNames)) return true;
  const auto shared =
      absl::c_count_if(kSharedNames, [&](const char* name) { return document.contains(name); });
  return shared >= 3;
}

bool IsPreferenceTrainer(const RunJson& document) {
  return IsTrainer(document) && HasOneOf(document, kPreferenceNames);
}

absl::StatusOr<LauncherRead> ReadTrainer(RunJson document, bool with_model, bool trl,
                                         const UnknownNames& unknown) {
  document = Typed(std::move(document));
  if (IsPreferenceTrainer(document)) return absl::InvalidArgumentError(kPreferenceTrainer);
  // DeepSpeed's own arguments: a switch, and the file by another name.
  if (document.contains("deepspeed") && document["deepspeed"] == true) {
    const RunJson file = document.value("deepspeed_config", RunJson(""));
    document.erase("deepspeed_config");
    document["deepspeed"] = file;
  }
  if (document.contains("fsdp_config") && document["fsdp_config"].is_object()) {
    document["fsdp_config"] = WithoutFsdpPrefix(document["fsdp_config"]);
  }
  std::vector<std::string> off = TakeOff(kOffNames, &document);
  absl::c_copy(TakeOff(kFsdpOffNames, &document), std::back_inserter(off));
  std::optional<LauncherRead> engine;
  if (document.contains("deepspeed") && document["deepspeed"].is_object()) {
    absl::StatusOr<LauncherRead> read = ReadDeepspeedDocument(document["deepspeed"]);
    if (!read.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("deepspeed.", read.status().message()));
    }
    engine = *std::move(read);
    document.erase("deepspeed");
  }
  absl::StatusOr<LauncherRead> out =
      ReadSettings(TrainerSettings(), with_model, SettingFile::FromDocument(document), unknown,
                   [&](Reading& reading) { FinishTrainer(trl, engine.has_value(), reading); });
  if (!out.ok()) return out;
  if (engine.has_value()) {
    Join(*engine, "deepspeed.", &*out);
    for (const std::string& name : engine->open) {
      const std::string joined = absl::StrCat("deepspeed.", name);
      out->open.erase(absl::c_find(out->open, joined));
      out->passed.push_back(joined);  // these arguments fill it in
    }
  }
  if (document.contains("use_liger_kernel") || document.contains("use_liger")) ChunkLoss(*out);
  absl::c_copy(off, std::back_inserter(out->passed));
  return out;
}

}  // namespace sextant::server
