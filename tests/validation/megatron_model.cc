// Defaults are those of NVIDIA/Megatron-LM @000c4ac24f61, `megatron/training/arguments.py`.
#include "tests/validation/megatron_model.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/status_macros.h"
#include "tests/validation/python_list.h"

namespace sextant {
namespace {

// Entries of the vocabularies that Megatron-LM's tests use where no size is given: GPT-2's
// byte-pair vocabulary and BERT's uncased one with the two tokens that the tokenizer adds; Llama
// 2's, and the 256,000 pieces that the file's name says.
constexpr int64_t kGptVocabulary = 50257;
constexpr int64_t kBertVocabulary = 30522 + 2;
constexpr int64_t kLlamaVocabulary = 32000;
constexpr int64_t kNemotronVocabulary = 256000;

absl::StatusOr<int64_t> VocabularyOf(const MegatronArguments& arguments, bool bert,
                                     std::vector<std::string>& assumptions) {
  const std::string tokenizer = arguments.Text("tokenizer-type", "");
  // NullTokenizer adds an end-of-document token.
  if (arguments.Has("vocab-size")) {
    return arguments.Count("vocab-size", 0) + (tokenizer == "NullTokenizer" ? 1 : 0);
  }
  if (tokenizer == "Llama2Tokenizer") return kLlamaVocabulary;
  if (tokenizer == "GPTSentencePieceTokenizer" &&
      arguments.Text("tokenizer-model", "").find("256k") != std::string::npos) {
    return kNemotronVocabulary;
  }
  if (!tokenizer.empty()) return absl::InvalidArgumentError("vocabulary not published");
  if (!arguments.Has("vocab-file")) assumptions.push_back("vocabulary of GPT-2");
  return bert ? kBertVocabulary : kGptVocabulary;
}

bool IsGated(const MegatronArguments& arguments) { return arguments.Flag("swiglu"); }

// Two thirds of 4 h, rounded down to a multiple of 64, where the feed-forward is gated.
int64_t FeedForwardSize(const MegatronArguments& arguments) {
  const int64_t hidden = arguments.Count("hidden-size", 0);
  const int64_t size = IsGated(arguments) ? 8 * hidden / 3 / 64 * 64 : 4 * hidden;
  return arguments.Count("ffn-hidden-size", size);
}

FeedForwardSpec FeedForwardOf(const MegatronArguments& arguments, int64_t size) {
  const bool bias = !arguments.Flag("disable-bias-linear");
  return {.kind = IsGated(arguments) ? FeedForwardKind::kGated : FeedForwardKind::kPlain,
          .size = size,
          .input_bias = bias,
          .output_bias = bias};
}

AttentionSpec LatentAttention(const MegatronArguments& arguments) {
  const int64_t heads = arguments.Count("num-attention-heads", 0);
  const int64_t rotary = arguments.Count("qk-pos-emb-head-dim", 64);
  return {.head_count = heads,
          .key_value_head_count = heads,
          .query_key_head_size = arguments.Count("qk-head-dim", 128) + rotary,
          .value_head_size = arguments.Count("v-head-dim", 128),
          .latent = LatentSpec{.query_rank = arguments.Count("q-lora-rank", 0),
                               .key_value_rank = arguments.Count("kv-lora-rank", 32),
                               .rotary_size = rotary},
          .output_bias = !arguments.Flag("disable-bias-linear")};
}

AttentionSpec AttentionOf(const MegatronArguments& arguments, bool bert) {
  if (arguments.Flag("multi-latent-attention")) return LatentAttention(arguments);
  const int64_t heads = arguments.Count("num-attention-heads", 0);
  const int64_t size = arguments.Count(
      "kv-channels", arguments.Count("hidden-size", 0) / std::max<int64_t>(1, heads));
  const bool grouped = arguments.Flag("group-query-attention");
  const bool bias = !arguments.Flag("disable-bias-linear");
  const bool norm = arguments.Flag("qk-layernorm");
  return {.head_count = heads,
          .key_value_head_count = grouped ? arguments.Count("num-query-groups", 1) : heads,
          .query_key_head_size = size,
          .value_head_size = size,
          .query_bias = bias,
          .key_bias = bias,
          .value_bias = bias,
          .output_bias = bias,
          .query_key_norm = norm ? QueryKeyNorm::kPerHead : QueryKeyNorm::kNone,
          .mask = bert ? AttentionMask::kFull : AttentionMask::kCausal};
}

ExpertsSpec ExpertsOf(const MegatronArguments& arguments) {
  const int64_t size = arguments.Count("moe-ffn-hidden-size", FeedForwardSize(arguments));
  const int64_t shared = arguments.Count("moe-shared-expert-intermediate-size", 0);
  return {.expert_count = arguments.Count("num-experts", 0),
          .experts_per_token = arguments.Count("moe-router-topk", 2),
          .expert = FeedForwardOf(arguments, size),
          .shared_expert_count = shared > 0 ? 1 : 0,
          .shared_expert = shared > 0 ? FeedForwardOf(arguments, shared) : FeedForwardSpec{},
          .router_correction_bias = arguments.Flag("moe-router-enable-expert-bias")};
}

NormVariant NormOf(const MegatronArguments& arguments) {
  return arguments.Text("normalization", "LayerNorm") == "RMSNorm" ? NormVariant::kRmsNorm
                                                                   : NormVariant::kLayerNorm;
}

// Kinds 0, without experts, and 1, with them; only those that some layer is of.
struct Layers {
  std::vector<LayerSpec> kinds;
  std::vector<LayerRun> runs;
};

absl::StatusOr<Layers> LayersOf(const MegatronArguments& arguments, bool bert) {
  const int64_t count = arguments.Count("num-layers", 0);
  std::vector<bool> experts(static_cast<size_t>(std::max<int64_t>(0, count)), false);
  if (arguments.Has("num-experts")) {
    SEXTANT_ASSIGN_OR_RETURN(experts, ExpertLayers(arguments.Text("moe-layer-freq", "1"), count));
  }
  LayerSpec base;
  base.norm = NormOf(arguments);
  base.attention = AttentionOf(arguments, bert);
  Layers out;
  int kind_of[2] = {-1, -1};
  for (const bool with_experts : experts) {
    int& kind = kind_of[with_experts ? 1 : 0];
    if (kind < 0) {
      kind = static_cast<int>(out.kinds.size());
      LayerSpec& layer = out.kinds.emplace_back(base);
      layer.name = with_experts ? "experts" : "dense";
      if (with_experts) layer.experts = ExpertsOf(arguments);
      if (!with_experts) layer.feed_forward = FeedForwardOf(arguments, FeedForwardSize(arguments));
    }
    if (out.runs.empty() || out.runs.back().layer_kind != kind) out.runs.push_back({kind, 0});
    ++out.runs.back().count;
  }
  return out;
}

OutputSpec OutputOf(const MegatronArguments& arguments, bool bert) {
  OutputSpec out = {.head = arguments.Flag("untie-embeddings-and-output-weights")
                                ? OutputHeadKind::kUntied
                                : OutputHeadKind::kTied};
  if (!bert) return out;
  const bool pooled = !arguments.Flag("bert-no-binary-head");
  out.head_bias = true;
  out.transform = true;
  out.pooler = pooled;
  out.pooled_class_count = pooled ? 2 : 0;
  return out;
}

}  // namespace

absl::StatusOr<std::vector<bool>> ExpertLayers(const std::string& frequency, int64_t layer_count) {
  std::vector<bool> out;
  int64_t every = 0;
  if (absl::SimpleAtoi(frequency, &every) && every > 0) {
    for (int64_t i = 0; i < layer_count; ++i) out.push_back(i % every == 0);
    return out;
  }
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<int64_t> entries, PythonList(frequency));
  for (const int64_t entry : entries) out.push_back(entry != 0);
  if (static_cast<int64_t>(out.size()) == layer_count) return out;
  return absl::InvalidArgumentError(
      absl::StrCat("moe-layer-freq has ", out.size(), " layers, not ", layer_count));
}

absl::StatusOr<ArchitectureSpec> MegatronModel(const MegatronArguments& arguments, bool bert,
                                               std::vector<std::string>& assumptions) {
  SEXTANT_ASSIGN_OR_RETURN(const int64_t vocabulary, VocabularyOf(arguments, bert, assumptions));
  SEXTANT_ASSIGN_OR_RETURN(Layers layers, LayersOf(arguments, bert));
  const int64_t multiple = arguments.Count("make-vocab-size-divisible-by", 128) *
                           arguments.Count("tensor-model-parallel-size", 1);
  const bool learned =
      arguments.Text("position-embedding-type", "learned_absolute") == "learned_absolute" &&
      !arguments.Flag("use-rotary-position-embeddings");
  ArchitectureSpec out;
  out.hidden_size = arguments.Count("hidden-size", 0);
  out.norm = NormOf(arguments);
  out.embedding.vocabulary_size = vocabulary;
  out.embedding.padded_vocabulary_size =
      PaddedVocabularySize(vocabulary, std::max<int64_t>(1, multiple));
  out.layer_kinds = std::move(layers.kinds);
  StackSpec& stack = bert ? out.encoder : out.decoder;
  stack.layers = std::move(layers.runs);
  if (learned) stack.learned_position_count = arguments.Count("max-position-embeddings", 0);
  out.output = OutputOf(arguments, bert);
  if (out.output.pooler) out.embedding.token_type_count = 2;
  const int64_t modules = arguments.Count("mtp-num-layers", 0);
  if (modules > 0) {
    out.multi_token_prediction = MultiTokenPredictionSpec{
        .module_count = modules, .layer_kind = static_cast<int>(out.layer_kinds.size()) - 1};
  }
  return out;
}

}  // namespace sextant
