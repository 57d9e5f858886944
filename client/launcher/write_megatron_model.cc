// A model's shape, written as arguments of Megatron-LM.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/megatron_model.h"
#include "client/launcher/megatron_pipeline.h"
#include "sextant/v1/architecture.pb.h"

namespace sextant::client {
namespace {

using google::protobuf::util::MessageDifferencer;

constexpr int64_t kMaxWrittenLayers = 1 << 16;

// The layers of a GPT model: those with a feed-forward, and those with experts.
struct Shape {
  const v1::LayerKind* dense = nullptr;
  const v1::LayerKind* experts = nullptr;
  std::vector<bool> layers = {};  // true: of experts

  const v1::LayerKind& any() const { return dense != nullptr ? *dense : *experts; }
};

const v1::LayerKind* KindOf(const v1::Architecture& model, const std::string& name) {
  const auto found = absl::c_find_if(
      model.layer_kinds(), [&](const v1::LayerKind& kind) { return kind.name() == name; });
  return found == model.layer_kinds().end() ? nullptr : &*found;
}

// Why Megatron-LM's GPT model has no such attention; "" where it has.
std::string WhyNoAttention(const v1::Attention& attention, v1::NormVariant norm) {
  if (attention.has_window() || attention.has_chunk()) return "windows or chunks of attention";
  if (attention.sinks()) return "attention sinks";
  if (attention.output_gate() != v1::Attention::OUTPUT_GATE_UNSPECIFIED) {
    return "a gate on attention's output";
  }
  if (attention.mask() == v1::ATTENTION_MASK_FULL) return "attention without a causal mask";
  if (attention.query_key_norm() == v1::Attention::QUERY_KEY_NORM_ALL_HEADS ||
      (attention.query_key_norm_variant() != v1::NORM_VARIANT_UNSPECIFIED &&
       attention.query_key_norm_variant() != norm)) {
    return "a norm of queries and keys over all heads, or of its own kind";
  }
  const bool biases_differ = attention.query_bias() != attention.key_bias() ||
                             attention.query_bias() != attention.value_bias() ||
                             (attention.output_bias() && !attention.query_bias());
  if (biases_differ) return "biases on some of query, key and value alone";
  const bool wider = attention.has_value_head_size() &&
                     attention.value_head_size() != attention.query_key_head_size();
  if (wider && !attention.has_latent()) return "values of another size than keys";
  if (attention.latent().has_indexer()) return "an indexer of attention";
  return attention.latent().down_bias() ? "biases of latents" : "";
}

std::string WhyNoExperts(const v1::Experts& experts) {
  if (experts.router_bias()) return "a trained bias of the router";
  return experts.shared_expert_gate() ? "a gate of shared experts" : "";
}

// Why it has no such kind of layer; "" where it has.
std::string WhyNoLayer(const v1::LayerKind& kind, v1::NormVariant norm) {
  const v1::LayerKind::Norms& norms = kind.norms();
  const bool before =
      !kind.has_norms() || (norms.before_attention() && norms.before_feed_forward() &&
                            !norms.after_attention() && !norms.after_feed_forward());
  if (!before) return "norms elsewhere than before attention and before the feed-forward";
  if (kind.norm() != norm) return "several kinds of norms";
  if (!kind.has_attention() || kind.has_cross_attention()) return "layers without self-attention";
  if (kind.has_feed_forward() == kind.has_experts()) {
    return "layers with both a feed-forward and experts, or neither";
  }
  if (kind.feed_forward().activation_parameter_count() > 0) return "an activation with parameters";
  const std::string why = WhyNoAttention(kind.attention(), norm);
  return why.empty() && kind.has_experts() ? WhyNoExperts(kind.experts()) : why;
}

std::string WhyNoModel(const v1::Architecture& model) {
  if (model.has_encoder() || !model.has_decoder()) return "an encoder";
  const v1::Architecture::Stack& stack = model.decoder();
  if (stack.relative_position_bucket_count() > 0) return "relative positions";
  if (stack.embedding_norm()) return "a norm after the embedding";
  if (stack.has_final_norm() && !stack.final_norm()) return "no norm after the last layer";
  const v1::Architecture::Embedding& embedding = model.embedding();
  if (embedding.has_embedding_size() || embedding.token_type_count() > 0) {
    return "token types, or an embedding of another width";
  }
  const v1::Architecture::Output& output = model.output();
  if (output.head() != v1::OUTPUT_HEAD_TIED && output.head() != v1::OUTPUT_HEAD_UNTIED) {
    return "no output head";
  }
  if (output.head_bias() || output.transform() || output.pooler()) {
    return "a bias of the output head, or a pooler";
  }
  if (model.norm() != v1::NORM_VARIANT_RMS_NORM && model.norm() != v1::NORM_VARIANT_LAYER_NORM) {
    return "norms other than LayerNorm and RMSNorm";
  }
  return "";
}

// Puts a run of layers into `shape`. Returns why the model has no arguments; "" where it may.
std::string AddRun(const v1::Architecture& model, const v1::Architecture::LayerRun& run,
                   Shape* shape) {
  const v1::LayerKind* const kind = KindOf(model, run.layer_kind());
  if (kind == nullptr) return "layers without a kind";
  if (run.frozen()) return "frozen layers";
  std::string why = WhyNoLayer(*kind, model.norm());
  if (!why.empty()) return why;
  const v1::LayerKind*& place = kind->has_experts() ? shape->experts : shape->dense;
  if (place == nullptr) place = kind;
  const bool alike = MessageDifferencer::Equals(place->attention(), kind->attention()) &&
                     MessageDifferencer::Equals(place->attention(), shape->any().attention()) &&
                     MessageDifferencer::Equals(place->feed_forward(), kind->feed_forward()) &&
                     MessageDifferencer::Equals(place->experts(), kind->experts());
  if (!alike) return "layers of several kinds";
  if (run.count() > kMaxWrittenLayers - static_cast<int64_t>(shape->layers.size()))
    return "too many layers";
  shape->layers.insert(shape->layers.end(), static_cast<size_t>(run.count()), kind->has_experts());
  return "";
}

// The layers of `model`. Returns why it has no arguments; "" where it has.
std::string FindShape(const v1::Architecture& model, Shape* shape) {
  std::string why = WhyNoModel(model);
  for (const v1::Architecture::LayerRun& run : model.decoder().layers()) {
    if (why.empty()) why = AddRun(model, run, shape);
  }
  if (!why.empty()) return why;
  if (shape->layers.empty()) return "no layers";
  if (!model.has_multi_token_prediction()) return "";
  const v1::Architecture::MultiTokenPrediction& ahead = model.multi_token_prediction();
  const auto last = model.decoder().layers().rbegin();
  const bool as_last =
      ahead.layer_kind() == last->layer_kind() && (!ahead.has_final_norm() || ahead.final_norm());
  return as_last ? "" : "modules of multi-token prediction unlike its last layer";
}

// WrittenBiases, by Megatron-LM's two switches.
struct WrittenBiases {
  bool linear = false;           // on all matrices
  bool query_key_value = false;  // on those alone
};

// Absent where the layers have others.
std::optional<WrittenBiases> BiasesOf(const Shape& shape) {
  const v1::Attention& attention = shape.any().attention();
  std::vector<const v1::FeedForward*> parts;
  if (shape.dense != nullptr) parts.push_back(&shape.dense->feed_forward());
  if (shape.experts != nullptr) {
    parts.push_back(&shape.experts->experts().expert());
    if (shape.experts->experts().has_shared_expert()) {
      parts.push_back(&shape.experts->experts().shared_expert());
    }
  }
  const auto all = [&](bool bias) {
    return absl::c_all_of(parts, [bias](const v1::FeedForward* part) {
      return part->input_bias() == bias && part->output_bias() == bias;
    });
  };
  if (attention.output_bias() && all(true)) return WrittenBiases{.linear = true};
  if (attention.output_bias() || !all(false)) return std::nullopt;
  return WrittenBiases{.query_key_value = attention.query_bias()};
}

bool IsGated(const Shape& shape) {
  return (shape.dense != nullptr ? shape.dense->feed_forward() : shape.experts->experts().expert())
             .kind() == v1::FeedForward::KIND_GATED;
}

void WriteAttention(const v1::Attention& attention, MegatronText* out) {
  out->Add("--num-attention-heads", attention.head_count());
  if (attention.has_latent()) {
    const v1::Attention::Latent& latent = attention.latent();
    out->Flag("--multi-latent-attention");
    if (latent.has_query_rank()) out->Add("--q-lora-rank", latent.query_rank());
    out->Add("--kv-lora-rank", latent.key_value_rank());
    out->Add("--qk-head-dim", attention.query_key_head_size() - latent.rotary_size());
    out->Add("--qk-pos-emb-head-dim", latent.rotary_size());
    out->Add("--v-head-dim", attention.has_value_head_size() ? attention.value_head_size()
                                                             : attention.query_key_head_size());
  } else {
    out->Add("--kv-channels", attention.query_key_head_size());
    if (attention.has_key_value_head_count()) {
      out->Flag("--group-query-attention");
      out->Add("--num-query-groups", attention.key_value_head_count());
    }
  }
  // With latents it is the norms of those, which Sextant counts.
  if (attention.has_latent() || attention.query_key_norm() != 0) out->Flag("--qk-layernorm");
}

void WriteExperts(const v1::Experts& experts, const std::vector<bool>& layers, MegatronText* out) {
  out->Add("--num-experts", experts.expert_count());
  out->Add("--moe-router-topk", experts.experts_per_token());
  out->Add("--moe-ffn-hidden-size", experts.expert().size());
  if (experts.shared_expert_count() > 0) {
    out->Add("--moe-shared-expert-intermediate-size",
             experts.shared_expert_count() * experts.shared_expert().size());
  }
  if (!absl::c_all_of(layers, [](bool e) { return e; })) {
    out->Add("--moe-layer-freq", ExpertLayersText(layers));
  }
  if (experts.group_count() > 0) {
    out->Add("--moe-router-num-groups", experts.group_count());
    out->Add("--moe-router-group-topk", experts.groups_per_token());
  }
  if (!experts.router_correction_bias()) return;
  out->Flag("--moe-router-enable-expert-bias");
  out->Add("--moe-router-score-function", "sigmoid");  // the only one that it takes
}

void WriteAround(const LaunchedRun& run, MegatronText* out) {
  const v1::Architecture& model = run.model;
  const int64_t learned = model.decoder().learned_position_count();
  out->Add("--normalization", model.norm() == v1::NORM_VARIANT_RMS_NORM ? "RMSNorm" : "LayerNorm");
  out->Add("--position-embedding-type", learned > 0 ? "learned_absolute" : "rope");
  out->Add("--max-position-embeddings",
           learned > 0 ? learned : run.request.training().sequence_length());
  if (model.output().head() == v1::OUTPUT_HEAD_UNTIED) {
    out->Flag("--untie-embeddings-and-output-weights");
  }
  out->Add("--vocab-size", model.embedding().vocabulary_size());
  if (model.has_multi_token_prediction()) {
    out->Add("--mtp-num-layers", model.multi_token_prediction().module_count());
  }
}

}  // namespace

void WriteModel(const LaunchedRun& run, MegatronText* out, Refusals* refusals) {
  Shape shape;
  std::string why = FindShape(run.model, &shape);
  const std::optional<WrittenBiases> biases = why.empty() ? BiasesOf(shape) : std::nullopt;
  if (why.empty() && !biases.has_value()) why = "biases on some matrices alone";
  if (!why.empty()) return refusals->Add(run.model_name, absl::StrCat("no argument gives ", why));
  out->Add("--num-layers", static_cast<int64_t>(shape.layers.size()));
  out->Add("--hidden-size", run.model.hidden_size());
  if (shape.dense != nullptr) out->Add("--ffn-hidden-size", shape.dense->feed_forward().size());
  WriteAttention(shape.any().attention(), out);
  if (IsGated(shape)) out->Flag("--swiglu");
  if (!biases->linear) out->Flag("--disable-bias-linear");
  if (biases->query_key_value) out->Flag("--add-qkv-bias");
  WriteAround(run, out);
  if (shape.experts != nullptr) WriteExperts(shape.experts->experts(), shape.layers, out);
}

}  // namespace sextant::client
