// The shapes that Megatron-LM's GPT model has.
#include <google/protobuf/util/message_differencer.h>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "server/launcher/megatron.h"

namespace sextant::server {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr int64_t kMaxGptLayers = 1 << 16;

// A part of an architecture that a GPT model lacks.
struct Lack {
  const char* field;
  const char* only;  // "|true": its values, "" where it is not set; nullptr: it is never set
  const char* words;
};

constexpr Lack kModelLacks[] = {
    {"encoder", nullptr, "an encoder"},
    {"decoder.relative_position_bucket_count", nullptr, "relative positions"},
    {"decoder.embedding_norm", nullptr, "a norm after the embedding"},
    {"decoder.final_norm", "|true", "no norm after the last layer"},
    {"embedding.embedding_size", nullptr, "token types, or an embedding of another width"},
    {"embedding.token_type_count", nullptr, "token types, or an embedding of another width"},
    {"output.head", "tied|untied", "no output head"},
    {"output.head_bias", nullptr, "a bias of the output head, or a pooler"},
    {"output.transform", nullptr, "a bias of the output head, or a pooler"},
    {"output.pooler", nullptr, "a bias of the output head, or a pooler"},
    {"norm", "rms-norm|layer-norm", "norms other than LayerNorm and RMSNorm"},
};

constexpr Lack kLayerLacks[] = {
    {"cross_attention", nullptr, "layers without self-attention"},
    {"feed_forward.activation_parameter_count", nullptr, "an activation with parameters"},
    {"attention.window", nullptr, "windows or chunks of attention"},
    {"attention.chunk", nullptr, "windows or chunks of attention"},
    {"attention.sinks", nullptr, "attention sinks"},
    {"attention.output_gate", nullptr, "a gate on attention's output"},
    {"attention.values_are_keys", nullptr, "values that are keys"},
    {"attention.mask", "|causal", "attention without a causal mask"},
    {"attention.query_key_norm", "|per-head",
     "a norm of queries and keys over all heads, or of its own kind"},
    {"attention.latent.indexer", nullptr, "an indexer of attention"},
    {"attention.latent.down_bias", nullptr, "biases of latents"},
    {"experts.router_bias", nullptr, "a trained bias of the router"},
    {"experts.shared_expert_gate", nullptr, "a gate of shared experts"},
    {"experts.latent_size", nullptr, "experts of another width than hidden_size"},
    {"experts.zero_expert_count", nullptr, "experts without parameters"},
    {"experts.expert_scales", nullptr, "learned scales of experts"},
    {"output_scale", nullptr, "a scale of a layer's output"},
};

std::string FirstLack(absl::Span<const Lack> lacks, const google::protobuf::Message& message) {
  for (const Lack& lack : lacks) {
    const std::optional<std::string> value = FieldOf(message, lack.field);
    const bool has =
        lack.only == nullptr
            ? !value.has_value()
            : absl::c_linear_search(std::vector<std::string>(absl::StrSplit(lack.only, '|')),
                                    value.value_or(""));
    if (!has) return lack.words;
  }
  return "";
}

const v1::LayerKind* KindOf(const v1::Architecture& model, const std::string& name) {
  const auto found = absl::c_find_if(
      model.layer_kinds(), [&](const v1::LayerKind& kind) { return kind.name() == name; });
  return found == model.layer_kinds().end() ? nullptr : &*found;
}

// A lack that several fields show together.
std::string AttentionLack(const v1::Attention& attention, v1::NormVariant norm) {
  if (attention.query_key_norm_variant() != v1::NORM_VARIANT_UNSPECIFIED &&
      attention.query_key_norm_variant() != norm) {
    return "a norm of queries and keys over all heads, or of its own kind";
  }
  const bool biases_differ = attention.query_bias() != attention.key_bias() ||
                             attention.query_bias() != attention.value_bias() ||
                             (attention.output_bias() && !attention.query_bias());
  if (biases_differ) return "biases on some of query, key and value alone";
  const bool wider = attention.has_value_head_size() &&
                     attention.value_head_size() != attention.query_key_head_size();
  return wider && !attention.has_latent() ? "values of another size than keys" : "";
}

std::string LayerLack(const v1::LayerKind& kind, v1::NormVariant norm) {
  if (kind.has_mixer()) return "mixers: linear attention, state-space layers or short convolutions";
  const v1::LayerKind::Norms& norms = kind.norms();
  const bool before =
      !kind.has_norms() || (norms.before_attention() && norms.before_feed_forward() &&
                            !norms.after_attention() && !norms.after_feed_forward());
  if (!before) return "norms elsewhere than before attention and before the feed-forward";
  if (kind.norm() != norm) return "several kinds of norms";
  if (!kind.has_attention()) return "layers without self-attention";
  if (kind.has_feed_forward() == kind.has_experts()) {
    return "layers with both a feed-forward and experts, or neither";
  }
  const std::string lack = FirstLack(kLayerLacks, kind);
  return lack.empty() ? AttentionLack(kind.attention(), norm) : lack;
}

// Puts a run of layers into `shape`.
std::string AddRun(const v1::Architecture& model, const v1::Architecture::LayerRun& run,
                   GptShape* shape) {
  const v1::LayerKind* const kind = KindOf(model, run.layer_kind());
  if (kind == nullptr) return "layers without a kind";
  if (run.frozen()) return "frozen layers";
  std::string why = LayerLack(*kind, model.norm());
  if (!why.empty()) return why;
  const v1::LayerKind*& place = kind->has_experts() ? shape->experts : shape->dense;
  if (place == nullptr) place = kind;
  const bool alike = MessageDifferencer::Equals(place->attention(), kind->attention()) &&
                     MessageDifferencer::Equals(place->attention(), shape->any().attention()) &&
                     MessageDifferencer::Equals(place->feed_forward(), kind->feed_forward()) &&
                     MessageDifferencer::Equals(place->experts(), kind->experts());
  if (!alike) return "layers of several kinds";
  if (run.count() > kMaxGptLayers - static_cast<int64_t>(shape->layers.size()))
    return "too many layers";
  shape->layers.insert(shape->layers.end(), static_cast<size_t>(run.count()), kind->has_experts());
  return "";
}

// False where the layers have other biases than the two switches give.
bool FindBiases(GptShape* shape) {
  const v1::Attention& attention = shape->any().attention();
  std::vector<const v1::FeedForward*> parts;
  if (shape->dense != nullptr) parts.push_back(&shape->dense->feed_forward());
  if (shape->experts != nullptr) {
    parts.push_back(&shape->experts->experts().expert());
    if (shape->experts->experts().has_shared_expert()) {
      parts.push_back(&shape->experts->experts().shared_expert());
    }
  }
  shape->linear_bias = attention.output_bias();
  shape->query_key_value_bias = attention.query_bias() && !shape->linear_bias;
  return absl::c_all_of(parts, [&](const v1::FeedForward* part) {
    return part->input_bias() == shape->linear_bias && part->output_bias() == shape->linear_bias;
  });
}

}  // namespace

std::string FindGptShape(const v1::Architecture& model, GptShape* shape) {
  if (!model.has_decoder()) return "an encoder";
  std::string why = FirstLack(kModelLacks, model);
  for (const v1::Architecture::LayerRun& run : model.decoder().layers()) {
    if (why.empty()) why = AddRun(model, run, shape);
  }
  if (!why.empty()) return why;
  if (shape->layers.empty()) return "no layers";
  if (model.has_multi_token_prediction()) {
    const v1::Architecture::MultiTokenPrediction& ahead = model.multi_token_prediction();
    const auto last = model.decoder().layers().rbegin();
    const bool as_last =
        ahead.layer_kind() == last->layer_kind() && (!ahead.has_final_norm() || ahead.final_norm());
    if (!as_last) return "modules of multi-token prediction unlike its last layer";
  }
  return FindBiases(shape) ? "" : "biases on some matrices alone";
}

}  // namespace sextant::server
