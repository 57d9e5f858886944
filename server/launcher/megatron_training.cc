// Precision, optimizer and recomputation as arguments of Megatron-LM, written and read.
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/launcher/megatron.h"

namespace sextant::server {
namespace {

constexpr char kStates[] = "fp32|fp16|bf16|fp8";

// Scales of fp8 weights follow from the recipe; the default one's, delayed, count for nothing.
constexpr Setting kScaling[] = {
    Choice("--fp8-recipe", "layout.storage.scaling",
           "delayed=none|tensorwise=tensor|blockwise=block|mxfp8=mx"),
};

v1::DataType ReadNarrow(SettingFile& file) {
  if (file.Has("--fp4-format")) return v1::DATA_TYPE_NVFP4;
  const bool e4m3 = file.Choose("--fp8-format", "e4m3|hybrid") == "e4m3";
  const std::string recipe = file.Text("--fp8-recipe").value_or("delayed");
  if (recipe == "mxfp8") return v1::DATA_TYPE_MXFP8;
  const bool kept = file.Has("--fp8-param-gather");  // ReadScaling()
  if (recipe != "delayed" && !kept) file.Ignore(absl::StrCat("--fp8-recipe ", recipe));
  return e4m3 ? v1::DATA_TYPE_FP8_E4M3 : v1::DATA_TYPE_FP8;
}
void WriteNarrow(v1::DataType compute, Writing& writing) {
  SettingList& out = writing.list;
  if (compute == v1::DATA_TYPE_NVFP4) return out.Add("--fp4-format", "e2m1");
  out.Add("--fp8-format", compute == v1::DATA_TYPE_FP8 ? "hybrid" : "e4m3");
  const v1::WeightStorage::Scaling scaling = writing.layout().storage().scaling();
  const bool blocks = compute == v1::DATA_TYPE_MXFP8;
  const bool kept = IsNarrow(writing.training().precision().weight_data_type());
  if (blocks ? kept && scaling != v1::WeightStorage::SCALING_MX
             : scaling == v1::WeightStorage::SCALING_MX) {
    writing.refusals.Add("layout.storage.scaling",
                         "mx goes with weights of --compute-data-type=mxfp8");
  }
  if (blocks) return out.Add("--fp8-recipe", "mxfp8");
  WriteFields(kScaling, writing.run.request, out);
}

// Weights are as wide as what is computed in, or fp8 with fp8 products.
bool IsUsualWeight(v1::DataType weight, v1::DataType compute) {
  if (weight == v1::DATA_TYPE_UNSPECIFIED) return true;
  return weight == (IsNarrow(compute) ? v1::DATA_TYPE_BF16 : compute);
}

// Modules of selective recomputation.
constexpr Setting kModules[] = {
    Switch("core_attn", "training.recompute", "selective"),
    Switch("moe_act", "layout.kernels.recompute_activation_function"),
    Switch("layernorm", "layout.kernels.recompute_norm_outputs"),
    Switch("mla_up_proj", "layout.kernels.recompute_latent_up_projections"),
};

void ReadModules(Reading& reading) {
  std::vector<std::string> modules = reading.file.Texts("--recompute-modules");
  if (modules.empty()) modules.emplace_back("core_attn");
  for (const std::string& module : modules) {
    const auto* const row =
        absl::c_find_if(kModules, [&](const Setting& each) { return each.name == module; });
    if (row == std::end(kModules)) {
      reading.file.Ignore(absl::StrCat("--recompute-modules ", module));
    } else {
      reading.Set(row->field, row->words);
    }
  }
}

// Activation functions are recomputed by the module of grouped experts (TransformerConfig).
void RefuseActivations(const LaunchedRun& run, Refusals& refusals) {
  const bool dense = absl::c_any_of(
      run.model.layer_kinds(), [](const v1::LayerKind& kind) { return kind.has_feed_forward(); });
  if (dense) {
    refusals.Add("layout.kernels.recompute_activation_function",
                 "it recomputes those of experts alone");
  } else if (!GroupsExperts(run)) {
    refusals.Add("layout.kernels.recompute_activation_function", "it takes --grouped-experts=true");
  }
}

}  // namespace

void ReadPrecision(const Setting&, Reading& reading) {
  SettingFile& file = reading.file;
  v1::PrecisionPolicy& out = *reading.training().mutable_precision();
  const bool half = file.Has("--fp16");
  const bool bf16 = file.Has("--bf16");
  if (half && bf16) file.Refuse("--fp16", "write --bf16 or --fp16");
  const v1::DataType wide = half ? v1::DATA_TYPE_FP16 : v1::DATA_TYPE_BF16;
  if (file.Has("--fp8-format") || file.Has("--fp4-format")) {
    out.set_compute_data_type(ReadNarrow(file));
    const bool kept = file.Has("--fp8-param-gather");
    out.set_weight_data_type(kept ? v1::DATA_TYPE_FP8 : wide);
    const std::string recipe = file.Text("--fp8-recipe").value_or("delayed");
    if (kept && recipe != "delayed") ReadFields(kScaling, file, reading.request());
  } else {
    out.set_compute_data_type(half || bf16 ? wide : v1::DATA_TYPE_FP32);
  }
  // Narrower main gradients are those that are added up and reduced.
  const bool narrow = file.Choose("--main-grads-dtype", "fp32|bf16", "fp32") == "bf16" &&
                      !file.Has("--accumulate-allreduce-grads-in-fp32");
  if ((file.Has("--grad-reduce-in-bf16") || narrow) && !half) {
    out.set_gradient_data_type(v1::DATA_TYPE_BF16);
  } else if (bf16 || file.Has("--accumulate-allreduce-grads-in-fp32")) {
    out.set_gradient_data_type(v1::DATA_TYPE_FP32);
  }
}

void WritePrecision(const Setting&, Writing& writing) {
  const v1::PrecisionPolicy& precision = writing.training().precision();
  const bool open = precision.compute_data_type() == v1::DATA_TYPE_UNSPECIFIED;
  const v1::DataType compute = open ? v1::DATA_TYPE_BF16 : precision.compute_data_type();
  const bool half = compute == v1::DATA_TYPE_FP16;
  const bool whole = compute == v1::DATA_TYPE_FP32;
  const v1::DataType weight = precision.weight_data_type();
  if (!whole) writing.list.Add(half ? "--fp16" : "--bf16", true);
  if (IsNarrow(compute)) WriteNarrow(compute, writing);
  if (IsNarrow(weight) && IsNarrow(compute)) {
    writing.list.Add("--fp8-param-gather", true);
    if (writing.sizes.zero == v1::ZERO_STAGE_NONE) {
      writing.refusals.Add("training.precision.weight_data_type",
                           "in fp8 it takes the distributed optimizer, --zero=1");
    }
  } else if (!IsUsualWeight(weight, compute)) {
    writing.refusals.Add("training.precision.weight_data_type",
                         "weights are stored as they are computed with");
  }
  const v1::DataType gradient = precision.gradient_data_type();
  const bool bf16 = !whole && !half;
  if (gradient == 0 && IsNarrow(weight)) {  // a plan's gradients are as its weights
    writing.refusals.Add("training.precision.weight_data_type",
                         "in fp8 it takes --gradient-data-type=fp32 or bf16");
  }
  // Megatron-Bridge's plans keep them as computed where matrices are narrower.
  const bool as_computed =
      gradient == 0 && IsNarrow(compute) &&
      writing.layout().framework().kind() == v1::FrameworkMemory::KIND_MEGATRON_BRIDGE;
  if ((gradient == v1::DATA_TYPE_BF16 || as_computed) && bf16) {
    writing.list.Add("--grad-reduce-in-bf16", true);
  } else if (gradient == v1::DATA_TYPE_FP32 || (gradient == 0 && bf16)) {
    if (!whole) writing.list.Add("--accumulate-allreduce-grads-in-fp32", true);
  } else if (gradient != 0 && !half) {
    writing.refusals.Add("training.precision.gradient_data_type",
                         "gradients are fp32, or as wide as weights");
  }
}

void ReadOptimizer(const Setting& setting, Reading& reading) {
  const std::string kind =
      reading.file.Choose(setting.name, "adam=adamw|sgd|muon|~dist_muon=muon", "adamw");
  const bool plain = kind == "sgd" && reading.file.Number("--sgd-momentum") == 0;
  reading.Set(setting.field, kind == "sgd" && !plain ? "sgd-momentum" : kind);
}
void WriteOptimizer(const Setting& setting, Writing& writing) {
  const v1::OptimizerSpec::Kind kind = writing.training().optimizer().kind();
  const bool plain = kind == v1::OptimizerSpec::KIND_SGD;
  writing.list.Add(setting.name,
                   plain || kind == v1::OptimizerSpec::KIND_SGD_MOMENTUM ? "sgd" : "adam");
  if (plain) writing.list.Add("--sgd-momentum", 0);
}

void ReadStates(const Setting& setting, Reading& reading) {
  if (!reading.file.Has(setting.name)) return;
  const std::string first = reading.file.Choose("--exp-avg-dtype", kStates, "fp32");
  const std::string second = reading.file.Choose("--exp-avg-sq-dtype", kStates, "fp32");
  if (first != second) return reading.file.Ignore("--exp-avg-dtype");
  if (first == "fp32") return;
  reading.Set(setting.field, first);
}
void WriteStates(const Setting& setting, Writing& writing) {
  const bool offloaded = writing.layout().sharding().offload_optimizer();
  const v1::DataType state = writing.training().precision().optimizer_data_type();
  const bool narrow = state != v1::DATA_TYPE_UNSPECIFIED && state != v1::DATA_TYPE_FP32;
  if (narrow || offloaded) writing.list.Add(setting.name, true);
  if (narrow && writing.sizes.zero == v1::ZERO_STAGE_NONE) {
    writing.refusals.Add("training.precision.optimizer_data_type",
                         "it takes the distributed optimizer, --zero=1");
  }
  if (narrow) {
    const Setting types[] = {Choice("--exp-avg-dtype", setting.field, kStates),
                             Choice("--exp-avg-sq-dtype", setting.field, kStates)};
    WriteFields(types, writing.run.request, writing.list);
  }
  if (!offloaded) return;
  writing.list.Add("--optimizer-cpu-offload", true);
  writing.list.Add("--optimizer-offload-fraction", "1.0");
}

void ReadRecompute(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  v1::TrainingSpec& training = reading.training();
  // Names until 2022. Source: NVIDIA/Megatron-LM v2.5 and v3.0, megatron/arguments.py.
  const bool old_name = file.Has("--checkpoint-activations");
  const std::string old_method =
      file.Text("--activations-checkpoint-method").value_or(old_name ? "uniform" : "");
  const std::string granularity = file.Choose(setting.name, "full|selective",
                                              !old_method.empty()                   ? "full"
                                              : file.Has("--recompute-activations") ? "selective"
                                                                                    : "none");
  if (granularity != "full") {
    training.set_recompute(v1::RECOMPUTE_POLICY_NONE);
    if (granularity == "selective") ReadModules(reading);
    return;
  }
  const std::string method = file.Text("--recompute-method").value_or(old_method);
  if (method != "uniform") {
    // Some layers of each stage alone: no field says which.
    return file.Ignore(
        absl::StrCat(setting.name, " full --recompute-method ", method.empty() ? "none" : method));
  }
  training.set_recompute(v1::RECOMPUTE_POLICY_FULL);
  const std::optional<int64_t> layers =
      file.Count(old_name             ? "--checkpoint-num-layers"
                 : old_method.empty() ? "--recompute-num-layers"
                                      : "--activations-checkpoint-num-layers");
  if (layers.value_or(1) <= 1) return;
  reading.layout().mutable_kernels()->set_recomputed_layers_per_block(*layers);
}

bool GroupsExperts(const LaunchedRun& run) {
  const v1::FrameworkMemory& framework = run.request.layout().framework();
  const bool experts = absl::c_any_of(run.model.layer_kinds(),
                                      [](const v1::LayerKind& kind) { return kind.has_experts(); });
  if (framework.has_grouped_experts()) return experts && framework.grouped_experts();
  return experts && framework.kind() == v1::FrameworkMemory::KIND_MEGATRON_BRIDGE;
}

void WriteRecompute(const Setting& setting, Writing& writing) {
  const v1::KernelChoices& kernels = writing.layout().kernels();
  if (writing.training().recompute() == v1::RECOMPUTE_POLICY_FULL) {
    const bool given = kernels.has_recomputed_layers_per_block();
    writing.list.Add(setting.name, "full");
    writing.list.Add("--recompute-method", "uniform");
    return writing.list.Add("--recompute-num-layers",
                            given ? kernels.recomputed_layers_per_block() : 1);
  }
  SettingList modules;
  WriteFields(kModules, writing.run.request, modules);
  if (kernels.recompute_activation_function()) RefuseActivations(writing.run, writing.refusals);
  if (modules.empty()) return;
  writing.list.Add(setting.name, "selective");
  writing.list.Add("--recompute-modules", absl::StrJoin(modules.Arguments(), " "));
}

}  // namespace sextant::server
