#include "server/launcher/fine_tuning.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/model/presets/presets.h"

namespace sextant::server {
namespace {

struct TunedModule {
  absl::string_view module;
  absl::string_view matrices;
};

// The first that names a matrix is written. Source: the modules' names in src/transformers/models
// of huggingface/transformers: llama, mistral, qwen2, mixtral, deepseek_v3, phi3, gpt_neox, falcon,
// bloom, gpt2, gptj and opt.
constexpr TunedModule kTunedModules[] = {
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
    {"query_key_value", "attention.query,attention.key,attention.value"},
    {"qkv_proj", "attention.query,attention.key,attention.value"},
    {"c_attn", "attention.query,attention.key,attention.value"},
    {"gate_up_proj", "feed_forward.gate,feed_forward.up"},
    {"fc1", "feed_forward.up"},
    {"fc2", "feed_forward.down"},
    {"fc_in", "feed_forward.up"},
    {"fc_out", "feed_forward.down"},
    {"dense_h_to_4h", "feed_forward.up"},
    {"dense_4h_to_h", "feed_forward.down"},
};
constexpr size_t kEveryModule = 7;  // the first ones: all matrices of a dense layer

bool IsAllLinear(const std::vector<std::string>& modules) {
  const auto has = [&](absl::string_view name) { return absl::c_linear_search(modules, name); };
  if (has("all-linear") || has("all")) return true;
  return absl::c_all_of(absl::MakeConstSpan(kTunedModules).first(kEveryModule),
                        [&](const TunedModule& each) { return has(each.module); });
}

}  // namespace

void SetAdapters(int64_t rank, const std::string& path, const std::vector<std::string>& modules,
                 Reading& reading) {
  v1::ModelChanges& changes = *reading.request().mutable_model()->mutable_changes();
  changes.set_base_frozen(true);
  v1::ModelChanges::Adapters& out = *changes.mutable_adapters();
  out.set_rank(rank);
  bool all = IsAllLinear(modules);
  for (const std::string& module : modules) {
    if (all) break;
    const auto found =
        absl::c_find_if(kTunedModules, [&](const TunedModule& m) { return m.module == module; });
    all = found == std::end(kTunedModules);
    if (all) {
      reading.file.Ignore(path);
      break;
    }
    for (const absl::string_view matrix : absl::StrSplit(found->matrices, ',')) {
      if (!absl::c_linear_search(out.targets(), matrix)) out.add_targets(std::string(matrix));
    }
  }
  if (all) out.clear_targets();
  if (all) out.add_targets("all-linear");
  if (!modules.empty()) return;
  out.add_targets("attention.query");
  out.add_targets("attention.value");
}

std::vector<std::string> ModulesOf(const v1::ModelChanges::Adapters& adapters) {
  std::vector<std::string> out;
  for (const std::string& target : adapters.targets()) {
    const auto found =
        absl::c_find_if(kTunedModules, [&](const TunedModule& m) { return m.matrices == target; });
    if (found == std::end(kTunedModules)) return {};
    out.emplace_back(found->module);
  }
  return out;
}

void SetAdapterDropout(const std::string& path, double absent, Reading& reading) {
  if (reading.file.Number(path).value_or(absent) <= 0) return;
  reading.layout().mutable_kernels()->set_adapter_dropout(true);
}

void ReadAdapterDropout(const Setting& setting, Reading& reading) {
  SetAdapterDropout(setting.name, 0, reading);
}

void WriteAdapterDropout(const Setting& setting, Writing& writing) {
  constexpr double kUsual = 0.05;
  if (writing.layout().kernels().adapter_dropout()) writing.list.Add(setting.name, kUsual);
}

void SetQuantizedBase(int64_t bits, bool double_quantization, Reading& reading) {
  v1::WeightStorage& out = *reading.layout().mutable_storage();
  out.set_frozen_data_type(bits == 4 ? v1::DATA_TYPE_FP4 : v1::DATA_TYPE_INT8);
  if (bits != 4) return;
  out.set_frozen_block_size(64);
  out.set_double_quantization(double_quantization);
}

void CheckQuantizedExperts(const std::string& model, const std::string& setting, Reading& reading) {
  const auto preset = FindModelPreset(model);
  if (!preset.ok()) return;
  const bool mixture =
      absl::c_any_of((*preset)->architecture.layer_kinds,
                     [](const LayerSpec& layer) { return layer.experts.has_value(); });
  if (!mixture) return;
  reading.out.ignored.push_back(
      absl::StrCat(setting, " of experts (transformers 5 leaves them as they are)"));
}

std::vector<std::string> TextsAt(const std::string& path, Reading& reading) {
  if (!reading.file.HoldsText(path)) return reading.file.Texts(path);
  return absl::StrSplit(reading.file.Text(path).value_or(""), absl::ByAnyChar(", "),
                        absl::SkipEmpty());
}

const DeepspeedPreset* FindDeepspeedPreset(absl::Span<const DeepspeedPreset> presets,
                                           absl::string_view file) {
  const absl::string_view name = file.substr(file.rfind('/') + 1);  // npos + 1 is 0
  const auto found =
      absl::c_find_if(presets, [&](const DeepspeedPreset& each) { return name == each.name; });
  return found == presets.end() ? nullptr : &*found;
}

nlohmann::json DeepspeedDocument(const DeepspeedPreset& preset) {
  nlohmann::json out;
  out["bf16"]["enabled"] = "auto";
  nlohmann::json& zero = out["zero_optimization"];
  zero["stage"] = preset.stage;
  if (preset.offloads_optimizer) zero["offload_optimizer"]["device"] = "cpu";
  if (preset.offloads_parameters) zero["offload_param"]["device"] = "cpu";
  if (preset.bucket_elements == 0) return out;
  zero["reduce_bucket_size"] = preset.bucket_elements;
  zero["allgather_bucket_size"] = preset.bucket_elements;
  return out;
}

int64_t LigerChunkTokens(const v1::PlanRunRequest& request) {
  constexpr int64_t kMinRatio = 4;
  const v1::RunLayout& layout = request.layout();
  const int64_t ranks = std::max<int64_t>(layout.context_parallel_size(), 1);
  const int64_t length = request.training().sequence_length() / ranks;
  const int64_t tokens =
      Product(std::max<int64_t>(layout.micro_batch_size(), 1), std::max<int64_t>(length, 1))
          .value_or(1);
  int64_t out = 1;
  while (out < tokens / kMinRatio && out < (int64_t{1} << 40)) out *= 2;
  return out;
}

void SetChunkedLoss(v1::PlanRunRequest* request) {
  v1::KernelChoices& out = *request->mutable_layout()->mutable_kernels();
  out.set_loss(v1::KernelChoices::LOSS_CHUNKED);
  out.set_loss_chunk_tokens(LigerChunkTokens(*request));
}

}  // namespace sextant::server
