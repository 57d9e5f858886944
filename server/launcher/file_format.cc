#include "server/launcher/file_format.h"

#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "proto/words/config_text.h"
#include "proto/words/launchers.h"
#include "server/launcher/argument_words.h"
#include "server/launcher/command_line.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/kubernetes.h"
#include "server/launcher/launch_line.h"
#include "server/launcher/launcher.h"
#include "server/launcher/megatron.h"
#include "server/launcher/nemo.h"

namespace sextant::server {
namespace {

const char* LanguageName(Language language) {
  switch (language) {
    case Language::kJson:
      return "a JSON file";
    case Language::kYaml:
      return "a YAML file";
    case Language::kToml:
      return "a TOML file";
    case Language::kPython:
      return "a Python script";
    case Language::kShell:
      return "a text";
  }
  return "a file";
}

// A model's config.json, or the params.json of Llama's own releases.
bool IsModelConfig(const LaunchText& text) {
  if (text.language != Language::kJson) return false;
  if (text.HasAll({"dim", "n_layers", "n_heads"})) return true;
  return text.HasAny({"model_type", "architectures"}) &&
         text.HasAny({"hidden_size", "n_embd", "d_model", "dim", "num_hidden_layers", "n_layer",
                      "vocab_size", "text_config", "llm_config"});
}

absl::StatusOr<LauncherRead> ReadModelConfig(const LaunchText& text, bool with_model) {
  constexpr size_t kMaxBytes = 65'536;  // ModelSpec.hugging_face_config
  LauncherRead out;
  if (!with_model) return out;
  std::string config = text.text;
  if (config.size() > kMaxBytes) config = words::WithoutQuantization(config);
  if (config.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", config.size(), " bytes without its quantization_config: at most ",
                     kMaxBytes, " are read"));
  }
  out.request.mutable_model()->set_hugging_face_config(config);
  for (const auto& [name, value] : text.Document().items()) out.read.push_back(name);
  return out;
}

bool HasSettings(const LaunchText& text) {
  return text.language == Language::kJson || text.language == Language::kYaml;
}

// A command that starts a script, or the arguments of one alone.
bool IsCommand(const LaunchText& text) {
  if (text.language != Language::kShell) return false;
  const auto words = WordsOfCommand(text.text);
  if (!words.has_value() || absl::StrContains(text.text, "$(")) return false;
  const std::optional<LaunchCommand> command = CommandOf(*words);
  if (!command.has_value()) return false;
  std::vector<std::string> positional;
  return !command->launcher.empty() || IsTrainer(ArgumentsOf(command->arguments, &positional));
}

// Rows whose files no other row takes for its own come first.
constexpr FileFormat kFormats[] = {
    {.name = "torchtitan configuration in Python",
     .recognises = IsTorchtitanPython,
     .read = ReadTorchtitanPython,
     .settings = TorchtitanSettings},
    {.name = "Megatron-Bridge configuration",
     .recognises = IsMegatronBridge,
     .read = ReadMegatronBridge,
     .settings = MegatronSettings},
    {.name = "NeMo 2 recipe",
     .recognises = IsNemo2,
     .read = ReadNemo2,
     .settings = MegatronSettings},
    {.name = "NeMo 1 configuration",
     .recognises = IsNemo1,
     .read = ReadNemo1,
     .settings = MegatronSettings},
    {.name = "MaxText configuration",
     .recognises = IsMaxtext,
     .read = ReadMaxtext,
     .settings = MaxtextSettings},
    {.name = "axolotl configuration",
     .recognises =
         [](const LaunchText& text) {
           const bool run = text.HasAll({"sequence_len", "micro_batch_size"});
           return run || (text.Has("base_model") &&
                          text.HasAny({"sequence_len", "micro_batch_size", "adapter", "datasets",
                                       "sample_packing", "val_set_size", "dataset_prepared_path"}));
         },
     .read = ReadAxolotl,
     .settings = AxolotlSettings},
    {.name = "MLPerf configuration",
     .recognises =
         [](const LaunchText& text) {
           return text.language == Language::kShell && IsMlperf(text.text);
         },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadMlperf(text.text, with_model); },
     .settings = MlperfSettings},
    {.name = "command that starts a training script",
     .recognises = IsCommand,
     .read = [](const LaunchText& text,
                bool with_model) { return ReadCommand(*WordsOfCommand(text.text), with_model); },
     .settings = TrainerSettings},
    {.name = "job script",
     .recognises =
         [](const LaunchText& text) {
           const bool alone = IsCommand(text) && !absl::StrContains(text.text, '$');
           return text.language == Language::kShell && !alone && IsJobScript(text.text);
         },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadJobScript(text.text, with_model); },
     .settings = SlurmSettings},
    {.name = "Kubernetes manifest",
     .recognises =
         [](const LaunchText& text) {
           return text.HasAll({"apiVersion", "kind"});
         },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadKubernetes(text.documents, with_model); },
     .settings = KubernetesSettings},
    {.name = "torchtitan configuration",
     .recognises =
         [](const LaunchText& text) {
           return text.language == Language::kToml &&
                  text.HasAny({"job", "training", "parallelism", "model.flavor"});
         },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadTorchtitan(text.text, with_model); },
     .settings = TorchtitanSettings},
    {.name = "configuration of accelerate",
     .recognises =
         [](const LaunchText& text) {
           return HasSettings(text) && text.HasAny({"distributed_type", "compute_environment"});
         },
     .read = [](const LaunchText& text, bool) { return ReadAccelerate(text.Document()); },
     .settings = AccelerateSettings},
    {.name = "configuration of LLaMA-Factory",
     .recognises =
         [](const LaunchText& text) {
           return HasSettings(text) && IsLlamaFactory(text.documents.front());
         },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadLlamaFactory(text.documents.front(), with_model); },
     .settings = LlamaFactorySettings},
    {.name = "configuration of ms-swift",
     .recognises =
         [](const LaunchText& text) {
           return HasSettings(text) && IsSwift(text.documents.front());
         },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadSwift(text.documents.front(), with_model); },
     .settings = SwiftSettings},
    {.name = "configuration of a trainer of preferences",
     .recognises =
         [](const LaunchText& text) {
           return HasSettings(text) && IsPreferenceTrainer(text.Document());
         },
     .instead = kPreferenceTrainer},
    {.name = "file of Hugging Face's TrainingArguments",
     .recognises =
         [](const LaunchText& text) { return HasSettings(text) && IsTrainer(text.Document()); },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadTrainer(text.Document(), with_model); },
     .settings = TrainerSettings},
    {.name = "configuration of FSDP",
     .recognises =
         [](const LaunchText& text) { return HasSettings(text) && IsFsdpFile(text.Document()); },
     .read = [](const LaunchText& text, bool) { return ReadFsdpFile(text.Document()); }},
    {.name = "DeepSpeed configuration",
     .recognises =
         [](const LaunchText& text) {
           return text.language == Language::kJson &&
                  text.HasAny({"zero_optimization", "train_batch_size",
                               "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"});
         },
     .read = [](const LaunchText& text, bool) { return ReadDeepspeed(text.text); },
     .settings = DeepspeedSettings},
    {.name = "list of Megatron-LM arguments",
     .recognises =
         [](const LaunchText& text) {
           const std::vector<absl::string_view> words =
               absl::StrSplit(text.text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
           return text.language == Language::kShell && absl::c_any_of(words, IsMegatronWord);
         },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadMegatron(text.text, with_model); },
     .settings = AllMegatronSettings},
    {.name = "model's config.json", .recognises = IsModelConfig, .read = ReadModelConfig},
    {.name = "request of Sextant",
     .recognises =
         [](const LaunchText& text) {
           return text.language == Language::kJson &&
                  text.CountOf({"model", "training", "cluster", "layout", "options"}) >= 2;
         },
     .instead = "give it as it is, by --request or to PlanRun"},
    {.name = "tokenizer's file",
     .recognises =
         [](const LaunchText& text) {
           return text.HasAny({"tokenizer_class", "added_tokens_decoder", "added_tokens"});
         },
     .instead = "give the model's config.json, which is next to it"},
    {.name = "index of a model's weights",
     .recognises = [](const LaunchText& text) { return text.Has("weight_map"); },
     .instead = "give the model's config.json, which is next to it"},
    {.name = "state of a Hugging Face trainer",
     .recognises = [](const LaunchText& text) { return text.Has("log_history"); },
     .instead = "give the arguments that the run is started with"},
    {.name = "torchtune recipe",
     .recognises =
         [](const LaunchText& text) {
           return text.HasAny({"model._component_", "tokenizer._component_"});
         },
     .instead = "give its settings by flags, with --framework=pytorch-fsdp"},
    {.name = "configuration of AutoTrain",
     .recognises =
         [](const LaunchText& text) {
           return text.HasAll({"task", "params"});
         },
     .instead = "give its parameters as those of TrainingArguments"},
    {.name = "notebook",
     .recognises =
         [](const LaunchText& text) {
           return text.HasAll({"cells", "nbformat"});
         },
     .instead = "give the arguments that it trains with, as a file of their own"},
};

}  // namespace

absl::Span<const FileFormat> FileFormats() { return kFormats; }

const FileFormat* FormatOf(const LaunchText& text) {
  const auto found =
      absl::c_find_if(kFormats, [&](const FileFormat& each) { return each.recognises(text); });
  return found == std::end(kFormats) ? nullptr : &*found;
}

const FileFormat* FormatNamed(const std::string& name) {
  const auto found = absl::c_find_if(
      kFormats, [&](const FileFormat& each) { return each.read != nullptr && each.name == name; });
  return found == std::end(kFormats) ? nullptr : &*found;
}

std::string KnownFormats() {
  std::vector<std::string> known;
  for (const FileFormat& format : kFormats) {
    if (format.read != nullptr) known.push_back(words::WithArticle(format.name));
  }
  return absl::StrJoin(known, ", ");
}

std::string UnknownKind(const LaunchText& text) {
  if (text.language == Language::kPython) {
    return "is a Python script: not read; give the command or the file of settings that it is "
           "started with";
  }
  return absl::StrCat("is ", LanguageName(text.language), " of no kind that is read: give ",
                      KnownFormats());
}

}  // namespace sextant::server
