#include "engine/framework/recipe.h"

#include "absl/algorithm/container.h"

namespace sextant {
namespace {

// Below src/megatron/bridge/recipes of NVIDIA-NeMo/Megatron-Bridge @067f987d. The type of gradients
// is grad_reduce_in_fp32 of mixed_precision, which overrides that of ddp; moments are exp_avg_dtype
// and exp_avg_sq_dtype of use_precision_aware_optimizer. main_params_dtype is fp32 in each. The
// other recipes of language models at this commit have the defaults, fp32, or differ among the
// sizes of a cluster (qwen3_8b, qwen3_30b_a3b).
constexpr Recipe kRecipes[] = {
    {.name = "deepseek_v3",
     .hidden_size = 7168,
     .layer_count = 61,
     .vocabulary_size = 129280,
     .expert_count = 256,
     .gradients = DataType::kBf16,
     .moments = DataType::kBf16,
     .source = "deepseek/h100/deepseek_v3.py"},
    {.name = "gpt3_175b",
     .hidden_size = 12288,
     .layer_count = 96,
     .vocabulary_size = 50257,
     .gradients = DataType::kBf16,
     .source = "gpt/h100/gpt3_175b.py"},
    {.name = "moonlight_16b",
     .hidden_size = 2048,
     .layer_count = 27,
     .vocabulary_size = 163840,
     .expert_count = 64,
     .gradients = DataType::kBf16,
     .moments = DataType::kBf16,
     .source = "moonlight/h100/moonlight_16b.py"},
    {.name = "nemotron_3_nano",
     .hidden_size = 2688,
     .layer_count = 52,
     .vocabulary_size = 131072,
     .expert_count = 128,
     .gradients = DataType::kBf16,
     .source = "nemotronh/h100/nemotron_3_nano.py"},
    {.name = "olmoe_7b",
     .hidden_size = 2048,
     .layer_count = 16,
     .vocabulary_size = 50304,
     .expert_count = 64,
     .gradients = DataType::kBf16,
     .moments = DataType::kBf16,
     .source = "olmoe/h100/olmoe_7b.py"},
};

int64_t LayersOf(const ArchitectureSpec& model) {
  int64_t out = 0;
  for (const LayerRun& run : model.decoder.layers) out += run.count;
  return out;
}

int64_t ExpertsOf(const ArchitectureSpec& model) {
  int64_t out = 0;
  for (const LayerSpec& kind : model.layer_kinds) {
    if (kind.experts.has_value()) out = kind.experts->expert_count;
  }
  return out;
}

}  // namespace

const Recipe* FindRecipe(Framework framework, const ArchitectureSpec& model) {
  if (model.adapters.has_value() || model.base_frozen || !model.frozen_components.empty() ||
      !model.encoder.layers.empty()) {
    return nullptr;
  }
  const auto* const row = absl::c_find_if(kRecipes, [&](const Recipe& each) {
    return each.framework == framework && each.hidden_size == model.hidden_size &&
           each.vocabulary_size == model.embedding.vocabulary_size &&
           each.layer_count == LayersOf(model) && each.expert_count == ExpertsOf(model);
  });
  return row == std::end(kRecipes) ? nullptr : row;
}

}  // namespace sextant
