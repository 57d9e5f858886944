#include "engine/framework/model_code.h"

#include <cstddef>
#include <iterator>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace sextant {
namespace {

constexpr char kLlamaModel[] =
    "huggingface/transformers, src/transformers/models/llama/modeling_llama.py @0114da07";
constexpr char kLoraLayer[] = "huggingface/peft, src/peft/tuners/lora/layer.py, Linear @5d602fdbf";
constexpr char kTransformersLoss[] =
    "huggingface/transformers, src/transformers/loss/loss_utils.py @0114da07";
constexpr char kAttentionChoice[] =
    "huggingface/transformers, src/transformers/modeling_utils.py, "
    "_check_and_adjust_attn_implementation()";
constexpr char kEagerAttention[] =
    "huggingface/transformers, src/transformers/models/llama/modeling_llama.py, "
    "eager_attention_forward() @0114da07";
constexpr char kTensorPlan[] =
    "huggingface/transformers, src/transformers/models/llama/configuration_llama.py, tensor "
    "parallel plan (lm_head: colwise_rep)";
constexpr char kPlainLoss[] = "pytorch/pytorch, torch/nn/functional.py, cross_entropy()";
constexpr char kTorchAttention[] =
    "pytorch/pytorch, aten/src/ATen/native/transformers/cuda/sdp_utils.cpp";
constexpr char kLigerOps[] = "linkedin/Liger-Kernel, src/liger_kernel/ops @ead96b61";
constexpr char kMegatronArguments[] =
    "NVIDIA/Megatron-LM, megatron/training/arguments.py @d98e8a64";
constexpr char kTeBackends[] =
    "NVIDIA/TransformerEngine, "
    "transformer_engine/pytorch/attention/dot_product_attention/utils.py, "
    "get_attention_backend() @015d2257";
constexpr char kTitanModelFiles[] = "pytorch/torchtitan, torchtitan/models @b5bcd76c6";
constexpr char kFoundryLayers[] =
    "mosaicml/llm-foundry, llmfoundry/models/layers/attention.py @8c8dd48f7";
constexpr char kTuneModels[] = "pytorch/torchtune, torchtune/modules";
constexpr char kNoSuchOption[] = "the framework has no such option";

constexpr ModelCodeTraits PlainCode() {
  ModelCodeTraits out;
  out.loss = {LossKind::kPlain, kPlainLoss};
  out.logit_copies = {LogitCopies::kNone, kPlainLoss};
  out.attention = {AttentionCode::kTorch, kTorchAttention};
  out.fused_projections = {false, kLlamaModel};
  out.fuses_gated_experts = {true, kNoSuchOption};
  out.recomputes_modules = {false, kNoSuchOption};
  out.recomputes_operators = {false, kNoSuchOption};
  out.fused_loss = {true, kLigerOps};
  out.stages = {true, "pytorch/pytorch, torch/distributed/pipelining/stage.py @01386103"};
  return out;
}

constexpr ModelCodeTraits MegatronCode() {
  ModelCodeTraits out;
  constexpr int64_t kVocabularyMultiple = 128;
  out.loss = {LossKind::kVocabularyParallel,
              "NVIDIA/Megatron-LM, megatron/core/model_parallel_config.py @d98e8a64"};
  out.attention = {AttentionCode::kFlashAttention, kTeBackends};
  out.vocabulary_multiple = {kVocabularyMultiple,
                             "NVIDIA/Megatron-LM, megatron/training/vocab_utils.py @d98e8a64"};
  out.transformer_engine = {true, kMegatronArguments};
  out.grouped_experts = {false, kMegatronArguments};
  out.fused_projections = {
      true, "NVIDIA/Megatron-LM, megatron/core/transformer/attention.py (linear_qkv) @d98e8a64"};
  out.fuses_gated_experts = {
      true, "NVIDIA/Megatron-LM, megatron/core/fusions/fused_bias_swiglu.py @d98e8a64"};
  out.logit_copies = {
      LogitCopies::kNone,
      "NVIDIA/Megatron-LM, megatron/core/tensor_parallel/cross_entropy.py @00611e6eeb0b"};
  out.global_buffer = {true,
                       "NVIDIA/Megatron-LM, megatron/core/tensor_parallel/layers.py @d98e8a64"};
  out.recomputes_modules = {
      true, "NVIDIA/Megatron-LM, megatron/core/transformer/transformer_config.py @d98e8a64"};
  out.recomputes_operators = {false, kNoSuchOption};
  out.fused_loss = {false, kMegatronArguments};  // refuses cross_entropy_fusion_impl te
  out.stages = {true, "NVIDIA/Megatron-LM, megatron/core/pipeline_parallel/schedules.py @d98e8a64"};
  return out;
}

constexpr ModelCodeTraits TransformersCode() {
  ModelCodeTraits out = PlainCode();
  out.loss.source = kTransformersLoss;
  out.attention = {AttentionCode::kByModelClass, kAttentionChoice};
  out.whole_logits = {true, kTensorPlan};
  out.eager_layers = {true, kLlamaModel};
  out.adapters_cast_input = {true, kLoraLayer};
  out.wide_softmax = {true, kEagerAttention};
  out.logit_copies = {LogitCopies::kShifted, kTransformersLoss};
  out.stages = {false, kNoSuchOption};
  return out;
}

constexpr ModelCodeTraits TorchtitanCode() {
  ModelCodeTraits out = PlainCode();
  out.loss.source = "pytorch/torchtitan, torchtitan/components/loss.py @b5bcd76c6";
  out.attention.source = kTitanModelFiles;
  out.fused_projections.source = kTitanModelFiles;
  out.recomputes_operators = {
      true, "pytorch/torchtitan, torchtitan/distributed/activation_checkpoint.py @v0.2.2"};
  return out;
}

// Its loss computes the logits of an eighth of the tokens at a time, but the fp32 softmax of all
// stays for the backward pass, as Megatron's does.
constexpr ModelCodeTraits TorchtuneCode() {
  ModelCodeTraits out = PlainCode();
  out.loss = {LossKind::kVocabularyParallel,
              "pytorch/torchtune, torchtune/modules/loss/cross_entropy_loss.py "
              "(LinearCrossEntropyLoss) @02b12d36"};
  out.whole_logits = {true, out.loss.source};
  out.attention.source = kTuneModels;
  out.fused_projections.source = kTuneModels;
  out.stages = {false, kNoSuchOption};
  return out;
}

constexpr ModelCodeTraits LlmFoundryCode() {
  ModelCodeTraits out = PlainCode();
  out.loss = {LossKind::kFused,
              "mosaicml/llm-foundry, llmfoundry/models/mpt/modeling_mpt.py @8c8dd48f7"};
  out.attention = {AttentionCode::kFlashAttention, kFoundryLayers};
  out.fused_projections = {true, kFoundryLayers};
  out.stages = {false, kNoSuchOption};
  return out;
}

struct Row {
  absl::string_view name;
  ModelCodeTraits traits;
};

// In the order of ModelCode.
constexpr Row kRows[] = {{"plain", PlainCode()},
                         {"megatron", MegatronCode()},
                         {"transformers", TransformersCode()},
                         {"torchtitan", TorchtitanCode()},
                         {"torchtune", TorchtuneCode()},
                         {"llm_foundry", LlmFoundryCode()}};
static_assert(std::size(kRows) == kModelCodeCount);

const Row& RowOf(ModelCode code) { return kRows[static_cast<size_t>(code)]; }

// Classes that got scaled_dot_product_attention() after others, or have not got it.
struct LateClass {
  absl::string_view prefix;
  absl::optional<CodeRelease> fused_from;  // absent: none is known
  bool eager;                              // without a release, and before; else it is open
};

constexpr CodeRelease kFirstFused = {4, 36};

// BLOOM, MPT and T5 add a bias to the scores. Source: huggingface/transformers,
// src/transformers/models, modeling_bloom.py (baddbmm() of the bias) @0078a6cd, modeling_mpt.py,
// modeling_t5.py; pull requests 31031 (GPT-NeoX) and 31172 (GPT-2), both in 4.42; 33298 (OPT);
// commit 975b988b (Gemma 2 is eager unless a run says otherwise).
constexpr LateClass kLateClasses[] = {{"bloom", absl::nullopt, true},
                                      {"mpt", absl::nullopt, true},
                                      {"t5", absl::nullopt, true},
                                      {"mt5", absl::nullopt, true},
                                      {"flan-t5", absl::nullopt, true},
                                      {"t0", absl::nullopt, true},
                                      {"ul2", absl::nullopt, true},
                                      {"gpt2", CodeRelease{4, 42}, false},
                                      {"gpt_neox", CodeRelease{4, 42}, false},
                                      {"gpt-neox", CodeRelease{4, 42}, false},
                                      {"pythia", CodeRelease{4, 42}, false},
                                      {"opt", CodeRelease{4, 46}, false},
                                      {"gpt_neo", absl::nullopt, false},
                                      {"gpt-neo", absl::nullopt, false},
                                      {"gptj", absl::nullopt, false},
                                      {"gpt-j", absl::nullopt, false},
                                      {"gemma2", absl::nullopt, false},
                                      {"gemma-2-", absl::nullopt, false}};

}  // namespace

absl::string_view ModelCodeName(ModelCode code) { return RowOf(code).name; }
const ModelCodeTraits& CodeTraitsOf(ModelCode code) { return RowOf(code).traits; }

absl::optional<CodeRelease> CodeReleaseOf(absl::string_view text) {
  constexpr size_t kMaxParts = 5;
  constexpr int kMaxNumber = 9'999;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
  CodeRelease out;
  if (parts.size() < 2 || parts.size() > kMaxParts || !absl::SimpleAtoi(parts[0], &out.first) ||
      !absl::SimpleAtoi(parts[1], &out.second)) {
    return absl::nullopt;
  }
  const auto sound = [](int number) { return number >= 0 && number <= kMaxNumber; };
  if (!sound(out.first) || !sound(out.second)) return absl::nullopt;
  return out;
}

ClassAttention ClassAttentionOf(absl::string_view model, absl::optional<CodeRelease> release) {
  using enum ClassAttention;
  for (const LateClass& late : kLateClasses) {
    if (!absl::StartsWith(model, late.prefix)) continue;
    if (late.eager) return kEager;
    if (!release.has_value() || !late.fused_from.has_value()) return kEither;
    return *release < *late.fused_from ? kEager : kFused;
  }
  if (!release.has_value()) return kFusedAtLeast;
  return *release < kFirstFused ? kEager : kFused;
}

LogitCopies LogitCopiesOf(ModelCode code, absl::string_view model,
                          absl::optional<CodeRelease> release) {
  constexpr CodeRelease kLossFunctions = {4, 46};
  constexpr CodeRelease kShiftedLabels = {4, 50};
  // Source: huggingface/transformers, pull request 42753 of December 2025.
  constexpr CodeRelease kGraniteLoss = {5, 0};
  const LogitCopies usual = CodeTraitsOf(code).logit_copies.value;
  if (!release.has_value() || code != ModelCode::kTransformers) return usual;
  const bool granite = absl::StartsWith(model, "granite") || absl::StartsWith(model, "powerlm");
  if (*release < (granite ? kGraniteLoss : kLossFunctions)) return LogitCopies::kOutput;
  return *release < kShiftedLabels ? LogitCopies::kShifted : LogitCopies::kOne;
}

}  // namespace sextant
