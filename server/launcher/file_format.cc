#include "server/launcher/file_format.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "server/launcher/kubernetes.h"
#include "server/launcher/launch_line.h"
#include "server/launcher/launcher.h"
#include "server/launcher/mlperf.h"

namespace sextant::server {
namespace {

// Rows whose files no other row takes for its own come first.
constexpr FileFormat kFormats[] = {
    {.name = "MLPerf configuration",
     .recognises =
         [](const LaunchText& text) {
           return text.language == Language::kShell && IsMlperf(text.text);
         },
     .read = [](const LaunchText& text,
                bool with_model) { return ReadMlperf(text.text, with_model); },
     .settings = MlperfSettings},
    {.name = "job script",
     .recognises =
         [](const LaunchText& text) {
           return text.language == Language::kShell && IsJobScript(text.text);
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
