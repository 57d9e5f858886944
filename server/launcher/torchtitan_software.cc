// torchtitan's settings of compiled code, converted layers and the optimizer's loop.
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "server/launcher/launcher.h"
#include "server/launcher/setting_file.h"
#include "server/launcher/software.h"

namespace sextant::server {
namespace {

constexpr char kComponents[] = "compile.components";

}  // namespace

// Compiled code keeps less for the backward pass, gradients are freed in it, and gathered weights
// are in 8 bits.
void ReadLoweringSwitch(const Setting& setting, Reading& reading) {
  if (!reading.file.IsOn(setting.name)) return;
  reading.file.Ignore(setting.name);
  reading.out.lowering.push_back({absl::StrCat(setting.name, " = true")});
}

// A setting of a converter. It does nothing where the model has none.
void ReadOfConverter(const Setting& setting, Reading& reading) {
  reading.file.TakeAny(setting.name);
  if (!reading.file.Texts("model.converters").empty()) reading.file.Ignore(setting.name);
}

// The plan's time is that of compiled passes; its layers' memory is an eager run's, which is more.
// A compiled loss makes no copy of its logits in fp32 (torchtitan/components/loss.py). What it does
// with logits that tensor parallel ranks divide nobody has measured: these count as copied.
void ReadCompilation(const Setting& setting, Reading& reading) {
  const std::vector<std::string> parts = reading.file.Texts(kComponents);
  const bool model = parts.empty() || absl::c_linear_search(parts, "model");
  const bool loss = parts.empty() || absl::c_linear_search(parts, "loss");
  const bool compiles = reading.file.IsOn(setting.name);
  const bool divides = reading.file.Count("parallelism.tensor_parallel_degree").value_or(1) > 1;
  if (compiles && loss && !divides) {
    reading.layout().mutable_kernels()->set_loss(v1::KernelChoices::LOSS_FUSED);
  }
  if (compiles && model) {
    reading.out.lowering.push_back({absl::StrCat(setting.name, " = true")});
  } else {
    reading.layout().mutable_software()->set_memory_pass_time_ratio(EagerMemoryPassRatio());
  }
}
void WriteCompilation(const Setting& setting, Writing& writing) {
  const SoftwareConstants constants = ConstantsOfRun(writing.run.request, writing.sizes);
  const bool model = constants.of(StackConstant::kMemoryPassTimeRatio) < EagerMemoryPassRatio();
  const bool loss = writing.layout().kernels().loss() == v1::KernelChoices::LOSS_FUSED;
  if (loss && writing.sizes.tensor > 1) {
    writing.refusals.Add("layout.kernels.loss", "with --tp it takes plain", "fused");
  }
  writing.list.Add(setting.name, model || loss);
  if (model == loss || (model && writing.sizes.tensor > 1)) return;
  writing.list.Add(kComponents, SettingList::Value::array({model ? "model" : "loss"}));
}

void ReadImplementation(const Setting& setting, Reading& reading) {
  const std::string loop = reading.file.Choose(setting.name, "fused=|foreach|for-loop", "");
  if (loop.empty()) return;
  reading.Set("training.optimizer.implementation", loop);
  reading.layout().mutable_software()->set_optimizer_time_ratio(kUnfusedOptimizerRatio);
}
void WriteImplementation(const Setting& setting, Writing& writing) {
  const SoftwareConstants constants = ConstantsOfRun(writing.run.request, writing.sizes);
  const bool fused = constants.of(StackConstant::kOptimizerTimeRatio) < kUnfusedOptimizerRatio;
  writing.list.Add(setting.name, FieldOf(writing.training().optimizer(), "implementation")
                                     .value_or(fused ? "fused" : "foreach"));
}

void WriteCopies(const Setting& setting, Writing& writing) {
  if (writing.sizes.expert == 1) return;
  const SoftwareConstants constants = ConstantsOfRun(writing.run.request, writing.sizes);
  writing.list.Add(setting.name,
                   constants.of(StackConstant::kOneCopyPerNode) > 0 ? "deepep" : "standard");
}

}  // namespace sextant::server
