// DeepSpeed's configuration as Hugging Face's programs take it too, with "auto".
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"

namespace sextant::server {
namespace {

// These change something where they are on.
constexpr const char* kDeepspeedOffNames[] = {
    "activation_checkpointing.partition_activations",
    "activation_checkpointing.cpu_checkpointing",
    "activation_checkpointing.contiguous_memory_optimization",
    "activation_checkpointing.number_checkpoints",
    "activation_checkpointing.synchronize_checkpoint_boundary",
    "activation_checkpointing.profile",
    "amp.enabled",
    "autotuning.enabled",
    "bf16.bf16_master_weights_and_grads",
    "bf16.bf16_optimizer_states",
    "compile.enabled",
    "curriculum_learning.enabled",
    "data_efficiency.enabled",
    "disable_allgather",
    "elasticity.enabled",
    "fp16.fp16_master_weights_and_grads",
    "hybrid_engine.enabled",
    "sparse_gradients",
    "torch_autocast.enabled",
    "zero_optimization.zero_quantized_gradients",
    "zero_optimization.zero_quantized_nontrainable_weights",
    "zero_optimization.zero_quantized_weights",
};

}  // namespace

absl::StatusOr<LauncherRead> ReadDeepspeedDocument(nlohmann::json document) {
  const std::vector<std::string> off = TakeOff(kDeepspeedOffNames, &document);
  absl::StatusOr<LauncherRead> out =
      ReadSettings(DeepspeedSettings(), false, SettingFile::FromDocument(std::move(document)),
                   Unknown::kRefused);
  if (!out.ok()) return out;
  absl::c_copy(off, std::back_inserter(out->passed));
  if (out->open.empty()) return out;
  // Only Hugging Face's programs fill in "auto". The models of transformers return whole logits.
  v1::RunLayout& defaults = *out->defaults.mutable_layout();
  defaults.mutable_framework()->set_model_code(v1::FrameworkMemory::MODEL_CODE_TRANSFORMERS);
  defaults.mutable_kernels()->set_loss(v1::KernelChoices::LOSS_PLAIN);
  return out;
}

absl::StatusOr<LauncherRead> ReadDeepspeed(const std::string& text) {
  const absl::StatusOr<SettingFile> file = SettingFile::FromJson(text);
  if (!file.ok()) return file.status();
  return ReadDeepspeedDocument(file->document());
}

}  // namespace sextant::server
