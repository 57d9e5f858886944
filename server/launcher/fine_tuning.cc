#include "server/launcher/fine_tuning.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sextant::server {
namespace {

// transformers' names of an optimizer; the first of a kind is written. Source: OptimizerNames of
// src/transformers/training_args.py @00349ae8. bitsandbytes 0.50.1 (optim/optimizer.py) and torchao
// (optim/subclass_8bit.py) share a scale among 256 elements; the paged ones move their state to the
// host, which docs/limits.md counts on the device.
struct TuningOptimizer {
  absl::string_view name;
  v1::OptimizerSpec::Kind kind;
  bool state_as_weights = false;  // torch's: in the type of the weights; else fp32, or 8 bits
  bool paged = false;
};
constexpr TuningOptimizer kTuningOptimizers[] = {
    {"adamw_torch_fused", v1::OptimizerSpec::KIND_ADAMW, true},
    {"adamw_torch", v1::OptimizerSpec::KIND_ADAMW, true},
    {"adamw_hf", v1::OptimizerSpec::KIND_ADAMW, true},
    {"adamw_torch_xla", v1::OptimizerSpec::KIND_ADAMW, true},
    {"adamw_torch_npu_fused", v1::OptimizerSpec::KIND_ADAMW, true},
    {"adamw_apex_fused", v1::OptimizerSpec::KIND_ADAMW},
    {"paged_adamw_32bit", v1::OptimizerSpec::KIND_ADAMW, false, true},
    {"paged_adamw", v1::OptimizerSpec::KIND_ADAMW, false, true},
    {"adamw_torch_8bit", v1::OptimizerSpec::KIND_ADAM_8BIT},
    {"adamw_bnb_8bit", v1::OptimizerSpec::KIND_ADAM_8BIT},
    {"adamw_8bit", v1::OptimizerSpec::KIND_ADAM_8BIT},
    {"paged_adamw_8bit", v1::OptimizerSpec::KIND_ADAM_8BIT, false, true},
    {"adafactor", v1::OptimizerSpec::KIND_ADAFACTOR},
    {"sgd", v1::OptimizerSpec::KIND_SGD},
    {"adagrad", v1::OptimizerSpec::KIND_ADAGRAD, true},
    {"rmsprop", v1::OptimizerSpec::KIND_RMSPROP, true},
    {"lion_32bit", v1::OptimizerSpec::KIND_LION},
    {"paged_lion_32bit", v1::OptimizerSpec::KIND_LION, false, true},
    {"muon", v1::OptimizerSpec::KIND_MUON, true},
};
constexpr int64_t kOptimizerBlock = 256;

const TuningOptimizer* FindOptimizer(absl::string_view name) {
  const auto found = absl::c_find_if(
      kTuningOptimizers, [&](const TuningOptimizer& each) { return each.name == name; });
  return found == std::end(kTuningOptimizers) ? nullptr : &*found;
}

// True where the state of the request's optimizer has the type of the weights.
bool KeepsStateAsWeights(v1::OptimizerSpec::Kind kind) {
  if (kind == v1::OptimizerSpec::KIND_UNSPECIFIED) return true;  // AdamW
  return absl::c_any_of(kTuningOptimizers, [kind](const TuningOptimizer& each) {
    return each.kind == kind && each.state_as_weights;
  });
}

// Modules of transformers' models and the matrices that they are. Source:
// src/transformers/models/{llama,mixtral,deepseek_v3,gpt_neox,opt,gptj}/modeling_*.py @0114da07.
struct TuningModule {
  absl::string_view module;
  absl::string_view target;
};
constexpr TuningModule kTuningModules[] = {
    {"q_proj", "attention.query"},
    {"k_proj", "attention.key"},
    {"v_proj", "attention.value"},
    {"o_proj", "attention.output"},
    {"gate_proj", "feed_forward.gate"},
    {"up_proj", "feed_forward.up"},
    {"down_proj", "feed_forward.down"},
    {"q_a_proj", "attention.query_down"},
    {"q_b_proj", "attention.query_up"},
    {"kv_a_proj_with_mqa", "attention.key_value_down"},
    {"kv_b_proj", "attention.key_value_up"},
    {"w1", "experts.gate"},
    {"w3", "experts.up"},
    {"w2", "experts.down"},
    {"lm_head", "output_head"},
    {"out_proj", "attention.output"},
    {"dense_h_to_4h", "feed_forward.up"},
    {"dense_4h_to_h", "feed_forward.down"},
    {"fc1", "feed_forward.up"},
    {"fc2", "feed_forward.down"},
    {"fc_in", "feed_forward.up"},
    {"fc_out", "feed_forward.down"},
};

bool IsAllLinear(const std::vector<std::string>& modules) {
  constexpr absl::string_view kWords[] = {"all-linear", "all_linear", "all"};
  const auto has = [&](absl::string_view name) { return absl::c_linear_search(modules, name); };
  if (absl::c_any_of(kWords, has)) return true;
  return absl::c_all_of(absl::MakeConstSpan(kTuningModules).first(7),
                        [&](const TuningModule& each) { return has(each.module); });
}

}  // namespace

v1::PrecisionPolicy TuningPrecision(TuningEngine engine, const TuningWeights& weights,
                                    const v1::PlanRunRequest& request) {
  v1::PrecisionPolicy out;
  out.set_compute_data_type(weights.compute);
  const bool half = weights.compute != v1::DATA_TYPE_FP32 && weights.compute != v1::DATA_TYPE_TF32;
  const v1::DataType loaded = IsNarrow(weights.compute) ? v1::DATA_TYPE_BF16 : weights.compute;
  const bool adapters = request.model().changes().has_adapters();
  const bool copied = engine == TuningEngine::kDeepspeed || adapters;
  const bool stays = weights.narrow && engine == TuningEngine::kNone && !adapters;
  if (!half || (!copied && !stays)) {
    out.set_weight_data_type(v1::DATA_TYPE_FP32);
    return out;
  }
  out.set_weight_data_type(loaded);
  out.set_master_weights(copied);
  if (stays && KeepsStateAsWeights(request.training().optimizer().kind())) {
    out.set_optimizer_data_type(loaded);
  }
  return out;
}

void FinishTuning(TuningEngine engine, const TuningWeights& weights, Reading& reading) {
  v1::PlanRunRequest& request = reading.request();
  *reading.training().mutable_precision() = TuningPrecision(engine, weights, request);
  v1::RunLayout& layout = reading.layout();
  const bool deepspeed = engine == TuningEngine::kDeepspeed;
  layout.mutable_framework()->set_kind(deepspeed ? v1::FrameworkMemory::KIND_DEEPSPEED
                                                 : v1::FrameworkMemory::KIND_HUGGING_FACE_TRAINER);
  // transformers' models multiply query, key and value apart.
  if (deepspeed) layout.mutable_framework()->set_fused_projections(false);
  if (layout.kernels().loss() == v1::KernelChoices::LOSS_UNSPECIFIED) {
    layout.mutable_kernels()->set_loss(v1::KernelChoices::LOSS_PLAIN);
  }
}

void ReadTuningOptimizer(const std::string& path, const std::string& name, Reading& reading) {
  v1::OptimizerSpec& out = *reading.training().mutable_optimizer();
  const TuningOptimizer* const found = FindOptimizer(name);
  if (found == nullptr) {
    if (reading.file.Has(path)) reading.file.Ignore(path);
    reading.out.lowering.push_back({absl::StrCat(path, " = ", name), "training.optimizer.kind"});
    return;
  }
  out.set_kind(found->kind);
  if (found->kind == v1::OptimizerSpec::KIND_ADAM_8BIT) {
    out.set_quantization_block_size(kOptimizerBlock);
  }
  if (found->paged) reading.out.lowering.push_back({absl::StrCat(path, " = ", name)});
}

std::string TuningOptimizerName(const v1::OptimizerSpec& optimizer) {
  const v1::OptimizerSpec::Kind kind = optimizer.kind() == v1::OptimizerSpec::KIND_UNSPECIFIED
                                           ? v1::OptimizerSpec::KIND_ADAMW
                                           : optimizer.kind();
  const auto found = absl::c_find_if(
      kTuningOptimizers, [&](const TuningOptimizer& each) { return each.kind == kind; });
  return found == std::end(kTuningOptimizers) ? "" : std::string(found->name);
}

void ReadTuningModel(const std::string& path, Reading& reading) {
  const std::string name = reading.file.Text(path).value_or("");
  if (name.empty() || !reading.with_model) return;
  const bool folder = absl::StrContains("/.~$", name.substr(0, 1)) || absl::c_count(name, '/') > 1;
  if (!folder) return reading.request().mutable_model()->set_preset(name);
  reading.out.wants.push_back(absl::StrCat(name, "/config.json"));
}

void SetAdapters(int64_t rank, const std::string& path, const std::vector<std::string>& modules,
                 Reading& reading) {
  v1::ModelChanges& changes = *reading.request().mutable_model()->mutable_changes();
  changes.set_base_frozen(true);
  v1::ModelChanges::Adapters& out = *changes.mutable_adapters();
  out.set_rank(rank);
  if (IsAllLinear(modules)) return out.add_targets("all-linear");
  bool known = true;
  for (const std::string& module : modules) {
    const auto found =
        absl::c_find_if(kTuningModules, [&](const TuningModule& m) { return m.module == module; });
    known = known && found != std::end(kTuningModules);
    if (found != std::end(kTuningModules)) out.add_targets(std::string(found->target));
  }
  if (!known && reading.file.Has(path)) reading.file.Ignore(path);
  // PEFT's usual modules of Llama (TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING).
  if (out.targets().empty())
    reading.Set("model.changes.adapters.targets", "attention.query,attention.value");
}

std::vector<std::string> ModulesOf(const v1::ModelChanges::Adapters& adapters) {
  std::vector<std::string> out;
  for (const std::string& target : adapters.targets()) {
    const auto found =
        absl::c_find_if(kTuningModules, [&](const TuningModule& m) { return m.target == target; });
    if (found == std::end(kTuningModules)) return {};
    out.emplace_back(found->module);
  }
  return out;
}

void SetQuantizedBase(int64_t bits, bool double_quantization, Reading& reading) {
  v1::WeightStorage& out = *reading.layout().mutable_storage();
  out.set_frozen_data_type(bits == 4 ? v1::DATA_TYPE_FP4 : v1::DATA_TYPE_INT8);
  if (bits != 4) return;
  out.set_frozen_block_size(64);
  out.set_double_quantization(double_quantization);
}

std::vector<std::string> TextsAt(const std::string& path, Reading& reading) {
  if (!reading.file.HoldsText(path)) return reading.file.Texts(path);
  std::vector<std::string> out =
      absl::StrSplit(reading.file.Text(path).value_or(""), ',', absl::SkipWhitespace());
  for (std::string& each : out) absl::StripAsciiWhitespace(&each);
  return out;
}

bool ReadDeepspeedName(const std::string& path, absl::Span<const DeepspeedPreset> presets,
                       Reading& reading) {
  if (!reading.file.HoldsText(path)) return reading.file.Has(path);
  const std::string file = reading.file.Text(path).value_or("");
  const absl::string_view name = absl::string_view(file).substr(file.rfind('/') + 1);
  const auto found =
      absl::c_find_if(presets, [&](const DeepspeedPreset& each) { return name == each.name; });
  if (found == presets.end()) {
    if (!file.empty()) reading.out.wants.push_back(file);
    return !file.empty();
  }
  v1::StateSharding& out = *reading.layout().mutable_sharding();
  out.set_zero_stage(found->stage);
  out.set_offload_optimizer(found->offloads_optimizer);
  out.set_offload_parameters(found->offloads_parameters);
  return true;
}

int64_t LigerChunkTokens(const v1::PlanRunRequest& request) {
  constexpr int64_t kLeastRatio = 4;  // Llama-2-70B: 32000 / 8192, rounded up
  const v1::RunLayout& layout = request.layout();
  const int64_t ranks = std::max<int64_t>(layout.context_parallel_size(), 1);
  const int64_t tokens = Product(std::max<int64_t>(layout.micro_batch_size(), 1),
                                 request.training().sequence_length() / ranks)
                             .value_or(1);
  int64_t out = 1;
  while (out < tokens / kLeastRatio && out < (int64_t{1} << 40)) out *= 2;
  return out;
}

void SetChunkedLoss(Reading& reading) {
  v1::KernelChoices& out = *reading.layout().mutable_kernels();
  out.set_loss(v1::KernelChoices::LOSS_CHUNKED);
  out.set_loss_chunk_tokens(LigerChunkTokens(reading.request()));
}

}  // namespace sextant::server
