#include "tests/validation/step_recipe.h"

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/validation/cells.h"

namespace sextant {
namespace {

constexpr absl::string_view kNeMo = "NeMo";
constexpr absl::string_view kBridge = "Megatron-Bridge";
// Releases of the pages, and what they were made with: v0.2.0 to v0.6.0 of Megatron-Bridge.
constexpr absl::string_view kBefore2606 = "25.11 26.02 26.02.01 26.04 26.04.01";
constexpr absl::string_view kFullGraphs = "26.06 26.06.01 26.08";

constexpr char kNeMoModels[] =
    "NVIDIA/NeMo v2.2.1, nemo/collections/llm/gpt/model/base.py: cross_entropy_loss_fusion";
constexpr char kQwen[] =
    "NVIDIA-NeMo/Megatron-Bridge, scripts/performance/configs/qwen/qwen3_workload_base_configs.py";
constexpr char kGptOss[] =
    "NVIDIA-NeMo/Megatron-Bridge, "
    "scripts/performance/configs/gpt_oss/gpt_oss_workload_base_configs.py";
constexpr char kDeepSeek[] =
    "NVIDIA-NeMo/Megatron-Bridge, scripts/performance/configs/deepseek, "
    "src/megatron/bridge/recipes/deepseek/deepseek_v3.py";
constexpr char kKimi[] =
    "NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/recipes/kimi/kimi_k2.py, "
    "scripts/performance/configs/kimi";
constexpr char kFirst[] =
    "NVIDIA-NeMo/Megatron-Bridge v0.1.0rc4, scripts/performance/run_script.py";

void SetCompiledLoss(StepRecipe& out) {
  out.loss = v1::KernelChoices::LOSS_VOCABULARY_PARALLEL_COMPILED;
}
void SetFusedLoss(StepRecipe& out) { out.loss = v1::KernelChoices::LOSS_FUSED; }
void SetNoRecomputation(StepRecipe& out) { out.recompute = v1::RECOMPUTE_POLICY_NONE; }
void SetAllToAll(StepRecipe& out) { out.all_to_all = true; }
void SetOverlap(StepRecipe& out) { out.overlaps_experts = true; }
void SetGraphs(StepRecipe& out) { out.captured_graphs = true; }
void SetPartialGraphs(StepRecipe& out) { out.partial_graphs = true; }
void SetFlash(StepRecipe& out) { out.flash_attention_2 = true; }
void SetLatent(StepRecipe& out) { out.recomputes_latent = true; }
void SetTwoTokens(StepRecipe& out) { out.predicts_two_tokens = true; }
void SetOverlapAndGraphs(StepRecipe& out) {
  out.overlaps_experts = true;
  out.captured_graphs = true;
}
void SetNormsAndActivations(StepRecipe& out) {
  out.recomputes_norms = true;
  out.recomputes_activations = true;
}
// 64 layers with the embedding, the module or the loss, of which the last chunk has three fewer.
void SetEnds(StepRecipe& out) { out.fewer_last = 3; }

constexpr StepRecipeRule kRules[] = {
    // NeMo, by the tags of NVIDIA's benchmarking recipes.
    {kNeMo, "v24.11.1: v25.02: v25.04:", "", "", SetNoRecomputation,
     "NVIDIA/dgxc-benchmarking, activations_checkpoint_granularity: null in its *.yaml; "
     "NVIDIA/NeMo "
     "v2.2.1, nemo/collections/llm/recipes"},
    {kNeMo, "v25.05.05:", "", "", SetNoRecomputation,
     "NVIDIA/NeMo v2.3.0, scripts/performance/recommended_model_configs: recompute_layers"},
    {kNeMo, "v24.11.1: v25.02:", "llama3", "", SetCompiledLoss,
     "NVIDIA/dgxc-benchmarking, llama3.1/*.yaml: cross_entropy_loss_fusion"},
    {kNeMo, "v24.11.1: v25.02:", "nemotron4", "", SetCompiledLoss,
     "NVIDIA/dgxc-benchmarking, nemotron/*.yaml: cross_entropy_loss_fusion"},
    {kNeMo, "v25.04:", "llama3", "", SetCompiledLoss, kNeMoModels},
    {kNeMo, "v25.04:", "nemotron4", "", SetCompiledLoss, kNeMoModels},
    {kNeMo, "v25.05.05:", "", "", SetFusedLoss,
     "NVIDIA/NeMo v2.3.0, scripts/performance/utils.py: cross_entropy_fusion_impl te"},
    {kNeMo, "v24.11.1:", "gpt3-175b", "", SetFlash,
     "NVIDIA/dgxc-benchmarking v24.11.1, nemo_megatron/launch.sh: NVTE_FUSED_ATTN=0"},
    {kNeMo, "v24.11.1: v25.02:", "grok1", "", SetFlash,
     "NVIDIA/dgxc-benchmarking v24.11.1 and v25.02, grok1/configure.sh: NVTE_FUSED_ATTN=0"},
    {kNeMo, "v24.11.1:", "nemotron4-340b", "",
     [](StepRecipe& out) {
       out.flash_attention_2 = true;
       out.recompute = v1::RECOMPUTE_POLICY_SELECTIVE;
     },
     "NVIDIA/dgxc-benchmarking v24.11.1, nemotron/configure.sh: NVTE_FUSED_ATTN=0; "
     "nemotron4-340b-synth.yaml: activations_checkpoint_granularity"},
    {kNeMo, "v25.02:", "gpt3-175b", "", [](StepRecipe& out) { out.chunks = 6; },
     "NVIDIA/dgxc-benchmarking v25.02, nemo_megatron/gpt3_175b_hydra.yaml; the page has 12"},
    {kNeMo, "v25.04:", "nemotron4-340b", "", [](StepRecipe& out) { out.chunks = 12; },
     "NVIDIA/dgxc-benchmarking v25.04, nemotron/launch.sh"},
    {kNeMo, "v24.11.1: v25.02: v25.05.05:", "grok1", "", SetAllToAll,
     "NVIDIA/dgxc-benchmarking, grok1/grok1_314b.yaml: moe_token_dispatcher_type"},
    {kNeMo, "v25.05.05:", "llama4", "", SetAllToAll,
     "NVIDIA/NeMo v2.3.0, nemo/collections/llm/gpt/model/llama.py: moe_token_dispatcher_type"},
    {kNeMo, "v25.05.05:", "deepseek-v3", "",
     [](StepRecipe& out) {
       out.all_to_all = true;
       out.predicts_two_tokens = true;
       out.fewer_first = 1;
       out.fewer_last = 2;
     },
     "NVIDIA/NeMo v2.3.0, scripts/performance/llm/pretrain_deepseek_v3.py, "
     "nemo/collections/llm/recipes/deepseek_v3.py (use_mtp), gpt/model/deepseek.py (alltoall)"},
    {kNeMo, "v25.05.05:", "deepseek-v3", "h100", SetLatent,
     "NVIDIA/dgxc-benchmarking v25.05.05, deepseek_v3/pretraining/launch.sh"},
    // Heads of 192 and 128 features had no fused attention on Blackwell.
    {kNeMo, "v25.05.05:", "deepseek-v3", "gb200",
     [](StepRecipe& out) {
       out.unfused_attention = true;
       out.recompute = v1::RECOMPUTE_POLICY_SELECTIVE;
     },
     "NVIDIA/TransformerEngine @bee4649c (of NeMo v2.3.0, requirements/manifest.json), "
     "transformer_engine/common/fused_attn/fused_attn.cpp; NVIDIA/dgxc-benchmarking v25.05.05, "
     "deepseek_v3/pretraining/launch.sh: core_attn"},
    // Megatron-Bridge, by release.
    {kBridge, "", "", "", SetFusedLoss,
     "NVIDIA-NeMo/Megatron-Bridge, scripts/performance/utils/overrides.py: "
     "cross_entropy_fusion_impl te"},
    {kBridge, "", "Qwen3", "", SetNoRecomputation, kQwen},
    {kBridge, "25.09", "Qwen3", "", SetAllToAll, kFirst},
    {kBridge, "25.09", "Qwen3", "gb200", SetGraphs, kFirst},
    {kBridge, "25.09", "Qwen3_30B", "b200", SetGraphs, kFirst},
    {kBridge, "25.11 26.02 26.02.01 26.04 26.04.01", "Qwen3_235B", "gb", SetPartialGraphs, kQwen},
    {kBridge, kFullGraphs, "Qwen3_235B", "gb", SetOverlapAndGraphs, kQwen},
    {kBridge, "26.02 26.04", "Qwen3_235B", "b300", SetAllToAll, kQwen},
    {kBridge, "26.02", "Qwen3_235B", "b300", SetOverlap, kQwen},
    {kBridge, "", "Qwen3_235B", "b200", SetAllToAll, kQwen},
    {kBridge, "25.11 26.02 26.04 26.04.01", "Qwen3_235B", "h100", SetAllToAll, kQwen},
    {kBridge, "25.11 26.02 26.02.01 26.04 26.04.01", "Qwen3_235B", "h100", SetOverlap, kQwen},
    {kBridge, "25.11 26.02", "Qwen3_30B", "h100", SetOverlap, kQwen},
    {kBridge, "25.11", "Qwen3_30B", "h100", SetAllToAll, kQwen},
    {kBridge, "", "GPT OSS", "", SetNoRecomputation, kGptOss},
    {kBridge, "25.11 26.02 26.02.01", "GPT OSS", "", SetAllToAll, kGptOss},
    {kBridge, "26.04 26.04.01", "GPT OSS", "gb300", SetAllToAll, kGptOss},
    {kBridge, "26.04.01", "GPT OSS", "gb200", SetAllToAll, kGptOss},
    {kBridge, "26.04.01", "GPT OSS", "b200", SetAllToAll, kGptOss},
    {kBridge, "26.04 26.04.01", "GPT OSS", "h100", SetAllToAll, kGptOss},
    {kBridge, kBefore2606, "GPT OSS", "gb200", SetNormsAndActivations, kGptOss},
    {kBridge, kBefore2606, "GPT OSS", "b200", SetNormsAndActivations, kGptOss},
    {kBridge, kBefore2606, "GPT OSS", "h100", SetNormsAndActivations, kGptOss},
    {kBridge, kBefore2606, "GPT OSS", "gb300", SetPartialGraphs, kGptOss},
    {kBridge, "", "GPT OSS", "b300", SetPartialGraphs, kGptOss},
    {kBridge, "26.04 26.04.01", "GPT OSS", "gb200", SetOverlap, kGptOss},
    {kBridge, kFullGraphs, "GPT OSS", "gb", SetOverlapAndGraphs, kGptOss},
    {kBridge, "", "DeepSeekV3", "", SetNoRecomputation, kDeepSeek},
    {kBridge, "", "DeepSeekV3", "", SetEnds, kDeepSeek},
    {kBridge, "25.09", "DeepSeekV3", "", SetTwoTokens, kDeepSeek},
    {kBridge, "25.09", "DeepSeekV3 [tokendrop]", "", SetAllToAll, kFirst},
    {kBridge, "25.11", "DeepSeekV3", "b200", SetAllToAll, kDeepSeek},
    {kBridge, "25.09", "DeepSeekV3", "h100", SetOverlap, kFirst},
    {kBridge, "25.11", "DeepSeekV3", "gb", SetPartialGraphs, kDeepSeek},
    {kBridge, "", "DeepSeekV3", "h100", SetLatent, kDeepSeek},
    {kBridge, "", "DeepSeekV3", "b200", SetLatent, kDeepSeek},
    {kBridge, "", "DeepSeekV3", "gb200", SetLatent, kDeepSeek},
    {kBridge, "", "Kimi", "", SetNoRecomputation, kKimi},
    {kBridge, "", "Kimi", "", SetLatent, kKimi},
    {kBridge, "", "Kimi", "", SetEnds, kKimi},
};

// The table's first word is its release.
bool IsOfRelease(const CsvRow& row, absl::string_view releases) {
  if (releases.empty()) return true;
  const std::string table = Cell(row, "source_table");
  const absl::string_view release = absl::string_view(table).substr(0, table.find(' '));
  for (const absl::string_view each : absl::StrSplit(releases, ' ')) {
    if (each == release) return true;
  }
  return false;
}

}  // namespace

absl::Span<const StepRecipeRule> StepRecipeRules() { return kRules; }

StepRecipe StepRecipeOf(const CsvRow& row) {
  StepRecipe out;
  for (const StepRecipeRule& rule : kRules) {
    if (absl::StartsWith(Cell(row, "framework"), rule.framework) &&
        IsOfRelease(row, rule.releases) && absl::StartsWith(Cell(row, "model"), rule.model) &&
        absl::StartsWith(Cell(row, "gpu_key"), rule.hardware)) {
      rule.set(out);
    }
  }
  return out;
}

}  // namespace sextant
