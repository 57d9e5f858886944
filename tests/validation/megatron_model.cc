// Defaults are those of NVIDIA/Megatron-LM @000c4ac24f61, `megatron/training/arguments.py`.
#include "tests/validation/megatron_model.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/status_macros.h"
#include "engine/model/architecture/architecture_spec.h"
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

// Kinds of layers.
constexpr char kDense[] = "dense";
constexpr char kExperts[] = "experts";

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

void SetFeedForward(const MegatronArguments& arguments, int64_t size, v1::FeedForward& out) {
  const bool bias = !arguments.Flag("disable-bias-linear");
  out.set_kind(IsGated(arguments) ? v1::FeedForward::KIND_GATED : v1::FeedForward::KIND_PLAIN);
  out.set_size(size);
  out.set_input_bias(bias);
  out.set_output_bias(bias);
}

void SetLatentAttention(const MegatronArguments& arguments, v1::Attention& out) {
  const int64_t rotary = arguments.Count("qk-pos-emb-head-dim", 64);
  out.set_query_key_head_size(arguments.Count("qk-head-dim", 128) + rotary);
  out.set_value_head_size(arguments.Count("v-head-dim", 128));
  out.set_output_bias(!arguments.Flag("disable-bias-linear"));
  v1::Attention::Latent& latent = *out.mutable_latent();
  if (arguments.Has("q-lora-rank")) latent.set_query_rank(arguments.Count("q-lora-rank", 0));
  latent.set_key_value_rank(arguments.Count("kv-lora-rank", 32));
  latent.set_rotary_size(rotary);
}

void SetAttention(const MegatronArguments& arguments, bool bert, v1::Attention& out) {
  const int64_t heads = arguments.Count("num-attention-heads", 0);
  out.set_head_count(heads);
  if (arguments.Flag("multi-latent-attention")) {
    SetLatentAttention(arguments, out);
    return;
  }
  out.set_query_key_head_size(arguments.Count(
      "kv-channels", arguments.Count("hidden-size", 0) / std::max<int64_t>(1, heads)));
  if (arguments.Flag("group-query-attention")) {
    out.set_key_value_head_count(arguments.Count("num-query-groups", 1));
  }
  const bool bias = !arguments.Flag("disable-bias-linear");
  out.set_query_bias(bias);
  out.set_key_bias(bias);
  out.set_value_bias(bias);
  out.set_output_bias(bias);
  if (arguments.Flag("qk-layernorm")) {
    out.set_query_key_norm(v1::Attention::QUERY_KEY_NORM_PER_HEAD);
  }
  out.set_mask(bert ? v1::ATTENTION_MASK_FULL : v1::ATTENTION_MASK_CAUSAL);
}

void SetExperts(const MegatronArguments& arguments, v1::Experts& out) {
  out.set_expert_count(arguments.Count("num-experts", 0));
  out.set_experts_per_token(arguments.Count("moe-router-topk", 2));
  const int64_t size = arguments.Count("moe-ffn-hidden-size", FeedForwardSize(arguments));
  SetFeedForward(arguments, size, *out.mutable_expert());
  out.set_router_correction_bias(arguments.Flag("moe-router-enable-expert-bias"));
  const int64_t shared = arguments.Count("moe-shared-expert-intermediate-size", 0);
  if (shared < 1) return;
  out.set_shared_expert_count(1);
  SetFeedForward(arguments, shared, *out.mutable_shared_expert());
}

v1::NormVariant NormOf(const MegatronArguments& arguments) {
  return arguments.Text("normalization", "LayerNorm") == "RMSNorm" ? v1::NORM_VARIANT_RMS_NORM
                                                                   : v1::NORM_VARIANT_LAYER_NORM;
}

// "experts" or "dense".
void AddKind(const MegatronArguments& arguments, bool bert, const std::string& name,
             v1::Architecture& out) {
  v1::LayerKind& layer = *out.add_layer_kinds();
  layer.set_name(name);
  layer.set_norm(NormOf(arguments));
  SetAttention(arguments, bert, *layer.mutable_attention());
  if (name == kExperts) {
    SetExperts(arguments, *layer.mutable_experts());
  } else {
    SetFeedForward(arguments, FeedForwardSize(arguments), *layer.mutable_feed_forward());
  }
}

// Only kinds that some layer is of.
absl::Status AddLayers(const MegatronArguments& arguments, bool bert, v1::Architecture& out) {
  const int64_t count = arguments.Count("num-layers", 0);
  std::vector<bool> experts(static_cast<size_t>(std::max<int64_t>(0, count)), false);
  if (arguments.Has("num-experts")) {
    SEXTANT_ASSIGN_OR_RETURN(experts, ExpertLayers(arguments.Text("moe-layer-freq", "1"), count));
  }
  auto& runs = *(bert ? out.mutable_encoder() : out.mutable_decoder())->mutable_layers();
  for (const bool with_experts : experts) {
    const std::string name = with_experts ? kExperts : kDense;
    const auto has_name = [&](const v1::LayerKind& kind) { return kind.name() == name; };
    if (std::none_of(out.layer_kinds().begin(), out.layer_kinds().end(), has_name)) {
      AddKind(arguments, bert, name, out);
    }
    if (runs.empty() || runs.rbegin()->layer_kind() != name) runs.Add()->set_layer_kind(name);
    runs.rbegin()->set_count(runs.rbegin()->count() + 1);
  }
  return absl::OkStatus();
}

void SetOutput(const MegatronArguments& arguments, bool bert, v1::Architecture& out) {
  v1::Architecture::Output& output = *out.mutable_output();
  output.set_head(arguments.Flag("untie-embeddings-and-output-weights") ? v1::OUTPUT_HEAD_UNTIED
                                                                        : v1::OUTPUT_HEAD_TIED);
  if (!bert) return;
  output.set_head_bias(true);
  output.set_transform(true);
  if (arguments.Flag("bert-no-binary-head")) return;
  output.set_pooler(true);
  output.set_pooled_class_count(2);
  out.mutable_embedding()->set_token_type_count(2);
}

bool LearnsPositions(const MegatronArguments& arguments) {
  return arguments.Text("position-embedding-type", "learned_absolute") == "learned_absolute" &&
         !arguments.Flag("use-rotary-position-embeddings");
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

absl::StatusOr<v1::Architecture> MegatronModel(const MegatronArguments& arguments, bool bert,
                                               std::vector<std::string>& assumptions) {
  SEXTANT_ASSIGN_OR_RETURN(const int64_t vocabulary, VocabularyOf(arguments, bert, assumptions));
  v1::Architecture out;
  SEXTANT_RETURN_IF_ERROR(AddLayers(arguments, bert, out));
  const int64_t multiple = arguments.Count("make-vocab-size-divisible-by", 128) *
                           arguments.Count("tensor-model-parallel-size", 1);
  out.set_hidden_size(arguments.Count("hidden-size", 0));
  out.set_norm(NormOf(arguments));
  out.mutable_embedding()->set_vocabulary_size(vocabulary);
  out.mutable_embedding()->set_padded_vocabulary_size(
      PaddedVocabularySize(vocabulary, std::max<int64_t>(1, multiple)));
  if (LearnsPositions(arguments)) {
    (bert ? out.mutable_encoder() : out.mutable_decoder())
        ->set_learned_position_count(arguments.Count("max-position-embeddings", 0));
  }
  SetOutput(arguments, bert, out);
  const int64_t modules = arguments.Count("mtp-num-layers", 0);
  if (modules > 0 && !out.layer_kinds().empty()) {
    out.mutable_multi_token_prediction()->set_module_count(modules);
    out.mutable_multi_token_prediction()->set_layer_kind(out.layer_kinds().rbegin()->name());
  }
  return out;
}

}  // namespace sextant
