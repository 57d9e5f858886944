// A model's shape, read from arguments of Megatron-LM.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "client/launcher/megatron_model.h"
#include "client/launcher/megatron_pipeline.h"
#include "sextant/v1/architecture.pb.h"

namespace sextant::client {
namespace {

constexpr int64_t kMaxLayers = 1 << 16;
constexpr int64_t kMaxHiddenSize = 10'000'000;  // the API's

// Biases, by Megatron-LM's two switches.
struct Biases {
  bool linear = false;           // on all matrices
  bool query_key_value = false;  // on those alone
};

bool HasKind(const v1::Architecture& model, const std::string& name) {
  return absl::c_any_of(model.layer_kinds(),
                        [&](const v1::LayerKind& kind) { return kind.name() == name; });
}

v1::NormVariant ReadNorm(MegatronArguments* arguments) {
  const std::string norm = arguments->Text("--normalization", "LayerNorm");
  if (norm == "RMSNorm") return v1::NORM_VARIANT_RMS_NORM;
  if (norm != "LayerNorm") arguments->Refuse("--normalization", "write LayerNorm or RMSNorm");
  return v1::NORM_VARIANT_LAYER_NORM;
}

// Rows of a learned table of positions.
int64_t ReadPositions(MegatronArguments* arguments) {
  constexpr char kType[] = "--position-embedding-type";
  const std::string type = arguments->Text(kType, "learned_absolute");
  const std::optional<int64_t> rows = arguments->Count("--max-position-embeddings");
  if (type == "rope" || type == "none" || type == "mrope" || type == "yarn") return 0;
  if (type != "learned_absolute") {
    arguments->Refuse(kType, "write learned_absolute, rope or none");
  } else if (!rows.has_value()) {
    arguments->Refuse("--max-position-embeddings", "learned positions take it");
  }
  return rows.value_or(0);
}

void ReadLatents(MegatronArguments* arguments, v1::Attention* out) {
  const auto size = [&](const char* name, int64_t absent) {
    return std::min(arguments->Count(name).value_or(absent), int64_t{1} << 40);
  };
  const int64_t rotary = size("--qk-pos-emb-head-dim", 64);  // Megatron-LM's defaults
  const int64_t values = size("--v-head-dim", 128);
  out->set_query_key_head_size(size("--qk-head-dim", 128) + rotary);
  if (values != out->query_key_head_size()) out->set_value_head_size(values);
  v1::Attention::Latent* latent = out->mutable_latent();
  latent->set_key_value_rank(size("--kv-lora-rank", 32));
  latent->set_rotary_size(rotary);
  if (const auto rank = arguments->Count("--q-lora-rank")) latent->set_query_rank(*rank);
}

void ReadAttention(int64_t hidden_size, const Biases& biases, MegatronArguments* arguments,
                   v1::Attention* out) {
  const std::optional<int64_t> heads = arguments->Count("--num-attention-heads");
  if (!heads.has_value()) arguments->Refuse("--num-attention-heads", "a model takes it");
  out->set_head_count(heads.value_or(1));
  out->set_query_bias(biases.linear || biases.query_key_value);
  out->set_key_bias(out->query_bias());
  out->set_value_bias(out->query_bias());
  out->set_output_bias(biases.linear);
  if (arguments->Has("--multi-latent-attention")) return ReadLatents(arguments, out);
  if (arguments->Has("--qk-layernorm")) {
    out->set_query_key_norm(v1::Attention::QUERY_KEY_NORM_PER_HEAD);
  }
  const std::optional<int64_t> groups = arguments->Count("--num-query-groups");
  if (arguments->Has("--group-query-attention") && groups.value_or(1) != out->head_count()) {
    out->set_key_value_head_count(groups.value_or(1));
  }
  const std::optional<int64_t> channels = arguments->Count("--kv-channels");
  if (!channels.has_value() && hidden_size % out->head_count() != 0) {
    arguments->Refuse("--kv-channels", "--num-attention-heads does not divide --hidden-size");
  }
  out->set_query_key_head_size(channels.value_or(hidden_size / out->head_count()));
}

v1::FeedForward FeedForwardOf(int64_t size, bool gated, bool bias) {
  v1::FeedForward out;
  out.set_kind(gated ? v1::FeedForward::KIND_GATED : v1::FeedForward::KIND_PLAIN);
  out.set_size(size);
  out.set_input_bias(bias);
  out.set_output_bias(bias);
  return out;
}

void ReadExperts(const v1::FeedForward& dense, MegatronArguments* arguments, v1::Experts* out) {
  out->set_expert_count(arguments->Count("--num-experts").value_or(1));
  out->set_experts_per_token(arguments->Count("--moe-router-topk").value_or(2));
  *out->mutable_expert() = dense;
  if (const auto size = arguments->Count("--moe-ffn-hidden-size")) {
    out->mutable_expert()->set_size(*size);
  }
  if (const auto size = arguments->Count("--moe-shared-expert-intermediate-size")) {
    out->set_shared_expert_count(1);
    *out->mutable_shared_expert() = dense;
    out->mutable_shared_expert()->set_size(*size);
  }
  if (const auto groups = arguments->Count("--moe-router-num-groups")) {
    out->set_group_count(*groups);
    out->set_groups_per_token(arguments->Count("--moe-router-group-topk").value_or(1));
  }
  out->set_router_correction_bias(arguments->Has("--moe-router-enable-expert-bias"));
}

// True for each layer that has experts.
std::vector<bool> ReadLayerPattern(int64_t layer_count, MegatronArguments* arguments) {
  constexpr char kFrequency[] = "--moe-layer-freq";
  if (!arguments->Has("--num-experts")) return std::vector<bool>(static_cast<size_t>(layer_count));
  absl::StatusOr<std::vector<bool>> read =
      ExpertLayers(arguments->Text(kFrequency, "1"), layer_count);
  if (read.ok()) return *std::move(read);
  arguments->Refuse(kFrequency, std::string(read.status().message()));
  return std::vector<bool>(static_cast<size_t>(layer_count));
}

void AddLayers(const std::vector<bool>& layers, const v1::LayerKind& common,
               const v1::FeedForward& dense, MegatronArguments* arguments, v1::Architecture* out) {
  for (size_t i = 0; i < layers.size();) {
    size_t end = i;
    while (end < layers.size() && layers[end] == layers[i]) ++end;
    const std::string name = layers[i] ? "experts" : "dense";
    v1::Architecture::LayerRun* run = out->mutable_decoder()->add_layers();
    run->set_layer_kind(name);
    run->set_count(static_cast<int64_t>(end - i));
    i = end;
    if (HasKind(*out, name)) continue;
    v1::LayerKind* kind = out->add_layer_kinds();
    *kind = common;
    kind->set_name(name);
    if (name == "dense") {
      *kind->mutable_feed_forward() = dense;
    } else {
      ReadExperts(dense, arguments, kind->mutable_experts());
    }
  }
}

// The width inside a feed-forward that Megatron-LM takes by default: 4 h, of gated ones two thirds
// of it down to a multiple of 64 (validate_args()).
int64_t UsualWidth(int64_t hidden_size, bool gated) {
  return gated ? hidden_size * 8 / 3 / 64 * 64 : 4 * hidden_size;
}

void ReadArchitecture(int64_t layer_count, int64_t hidden_size, MegatronArguments* arguments,
                      v1::Architecture* out) {
  const bool gated = arguments->Has("--swiglu");
  const Biases biases = {.linear = !arguments->Has("--disable-bias-linear"),
                         .query_key_value = arguments->Has("--add-qkv-bias")};
  out->set_hidden_size(hidden_size);
  out->set_norm(ReadNorm(arguments));
  const std::optional<int64_t> words = arguments->Count("--vocab-size");
  if (!words.has_value()) {
    arguments->Refuse("--vocab-size", "the tokenizer's is not among the arguments: add it");
  }
  out->mutable_embedding()->set_vocabulary_size(words.value_or(1));
  out->mutable_output()->set_head(arguments->Has("--untie-embeddings-and-output-weights")
                                      ? v1::OUTPUT_HEAD_UNTIED
                                      : v1::OUTPUT_HEAD_TIED);
  const int64_t width =
      arguments->Count("--ffn-hidden-size").value_or(UsualWidth(hidden_size, gated));
  v1::LayerKind common;
  common.set_norm(out->norm());
  ReadAttention(hidden_size, biases, arguments, common.mutable_attention());
  AddLayers(ReadLayerPattern(layer_count, arguments), common,
            FeedForwardOf(width, gated, biases.linear), arguments, out);
  out->mutable_decoder()->set_learned_position_count(ReadPositions(arguments));
  if (const auto modules = arguments->Count("--mtp-num-layers")) {
    out->mutable_multi_token_prediction()->set_module_count(*modules);
    out->mutable_multi_token_prediction()->set_layer_kind(
        out->decoder().layers().rbegin()->layer_kind());
  }
}

}  // namespace

void ReadModel(MegatronArguments* arguments, v1::ModelSpec* out) {
  const std::optional<int64_t> layers = arguments->Count("--num-layers");
  const std::optional<int64_t> hidden_size = arguments->Count("--hidden-size");
  if (!arguments->Has("--num-layers") && !arguments->Has("--hidden-size")) return;
  for (const char* name : {"--num-layers", "--hidden-size"}) {
    if (!arguments->Has(name)) arguments->Refuse(name, "a model takes it");
  }
  if (!layers.has_value() || !hidden_size.has_value()) return;
  if (*layers > kMaxLayers || *hidden_size > kMaxHiddenSize) {
    return arguments->Refuse("--num-layers", "write at most 65536 layers of at most 10000000");
  }
  ReadArchitecture(*layers, *hidden_size, arguments, out->mutable_architecture());
}

}  // namespace sextant::client
