#include "server/launcher/file_format.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "server/launcher/command_line.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "server/launcher/nemo.h"

namespace sextant::server {
namespace {

bool HasSettings(const LaunchText& text) {
  return text.language == Language::kJson || text.language == Language::kYaml;
}

// The server reads it, and refuses what it does not know.
absl::StatusOr<LauncherRead> ReadModelConfig(const LaunchText& text, bool with_model) {
  LauncherRead out;
  if (with_model) out.request.mutable_model()->set_hugging_face_config(text.text);
  return out;
}

// A command that starts a script, or the arguments of one alone.
bool IsCommand(const LaunchText& text) {
  if (text.language != Language::kShell) return false;
  const auto words = WordsOfCommand(text.text);
  if (!words.has_value()) return false;
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
    {.name = "torchtitan configuration",
     .recognises =
         [](const LaunchText& text) {
           return text.language == Language::kToml &&
                  text.HasAny({"job", "training", "parallelism", "model.flavor"});
         },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadTorchtitan(text.text, with_model); },
     .settings = TorchtitanSettings},
    {.name = "model's config.json",
     .recognises =
         [](const LaunchText& text) {
           return text.language == Language::kJson &&
                  text.HasAny({"architectures", "model_type"}) &&
                  !text.HasAny({"per_device_train_batch_size", "zero_optimization"});
         },
     .read = ReadModelConfig},
    {.name = "configuration of accelerate",
     .recognises =
         [](const LaunchText& text) {
           return HasSettings(text) && text.HasAny({"distributed_type", "compute_environment"});
         },
     .read = [](const LaunchText& text, bool) { return ReadAccelerate(text.documents.front()); },
     .settings = AccelerateSettings},
    {.name = "configuration of a trainer of preferences",
     .recognises =
         [](const LaunchText& text) {
           return HasSettings(text) && IsPreferenceTrainer(text.documents.front());
         },
     .instead = kPreferenceTrainer},
    {.name = "file of Hugging Face's TrainingArguments",
     .recognises =
         [](const LaunchText& text) {
           return HasSettings(text) && IsTrainer(text.documents.front());
         },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadTrainer(text.documents.front(), with_model); },
     .settings = TrainerSettings},
    {.name = "configuration of FSDP",
     .recognises =
         [](const LaunchText& text) {
           return HasSettings(text) && IsFsdpFile(text.documents.front());
         },
     .read = [](const LaunchText& text, bool) { return ReadFsdpFile(text.documents.front()); }},
    {.name = "DeepSpeed configuration",
     .recognises =
         [](const LaunchText& text) {
           return text.language == Language::kJson &&
                  text.HasAny({"zero_optimization", "train_batch_size",
                               "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"});
         },
     .read = [](const LaunchText& text, bool) { return ReadDeepspeed(text.text); },
     .settings = DeepspeedSettings},
    {.name = "command that starts a training script",
     .recognises = IsCommand,
     .read = [](const LaunchText& text,
                bool with_model) { return ReadCommand(*WordsOfCommand(text.text), with_model); },
     .settings = TrainerSettings},
    {.name = "list of Megatron-LM arguments",
     .recognises =
         [](const LaunchText& text) {
           return text.language == Language::kShell &&
                  (absl::StrContains(text.text, "--num-layers") ||
                   absl::StrContains(text.text, "--micro-batch-size") ||
                   absl::StrContains(text.text, "--tensor-model-parallel-size"));
         },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadMegatron(text.text, with_model); },
     .settings = MegatronSettings},
};

}  // namespace

absl::Span<const FileFormat> FileFormats() { return kFormats; }

const FileFormat* FormatOf(const LaunchText& text) {
  const auto found =
      absl::c_find_if(kFormats, [&](const FileFormat& each) { return each.recognises(text); });
  return found == std::end(kFormats) ? nullptr : &*found;
}

}  // namespace sextant::server
