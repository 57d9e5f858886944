#include "engine/model/architecture/layer_weights.h"

#include "engine/model/block/mixer_block.h"

namespace sextant {
namespace {

// The properties of the surrounding layer that an attention needs.
struct AttentionPlace {
  absl::string_view module;  // "attention" or "cross_attention"
  int64_t hidden_size;
  NormVariant norm;  // of latents, and the default of queries and keys
};

using Component = WeightComponent;

// Adds the tensors of one attention; holds the data that they share.
class AttentionWeights {
 public:
  AttentionWeights(const AttentionSpec& attention, const AttentionPlace& place, WeightList& out)
      : attention_(attention), place_(place), out_(out) {}

  void AddProjections() {
    Project("query", query_size(), attention_.query_bias);
    Project("key", key_size(), attention_.key_bias);
    if (!attention_.values_are_keys) Project("value", value_size(), attention_.value_bias);
  }

  // Source: DeepSeek-V2, arXiv 2405.04434, section 2.1. The published implementation normalises
  // both latents.
  void AddLatentProjections(const LatentSpec& latent) {
    const int64_t plain_key = attention_.query_key_head_size - latent.rotary_size;
    if (latent.query_rank > 0) {
      Latent("query_down", latent.query_rank, place_.hidden_size, latent.down_bias);
      AddNorm("query_latent_norm", place_.norm, latent.query_rank);
      Latent("query_up", query_size(), latent.query_rank, false);
    } else {
      Project("query", query_size(), false);
    }
    Latent("key_value_down", latent.key_value_rank + latent.rotary_size, place_.hidden_size,
           latent.down_bias);
    AddNorm("key_value_latent_norm", place_.norm, latent.key_value_rank);
    Latent("key_value_up", attention_.head_count * (plain_key + attention_.value_head_size),
           latent.key_value_rank, false);
    if (latent.indexer.has_value() && !latent.indexer->shared) {
      AddIndexer(*latent.indexer, latent.query_rank);
    }
  }

  // One key for all heads, normalised; a weight a head, of which the score is the weighted sum.
  void AddIndexer(const IndexerSpec& indexer, int64_t query_rank) {
    Latent("indexer_query", indexer.head_count * indexer.head_size, query_rank, false);
    Latent("indexer_key", indexer.head_size, place_.hidden_size, false);
    AddNorm("indexer_key_norm", NormVariant::kLayerNorm, indexer.head_size);
    Latent("indexer_weights", indexer.head_count, place_.hidden_size, false);
  }

  void AddQueryKeyNorms() {
    const NormVariant variant = attention_.query_key_norm_variant == NormVariant::kUnspecified
                                    ? place_.norm
                                    : attention_.query_key_norm_variant;
    if (attention_.query_key_norm == QueryKeyNorm::kPerHead) {
      AddNorm("query_norm", variant, attention_.query_key_head_size);
      AddNorm("key_norm", variant, attention_.query_key_head_size);
    } else if (attention_.query_key_norm == QueryKeyNorm::kAllHeads) {
      AddNorm("query_norm", variant, query_size());
      AddNorm("key_norm", variant, key_size());
    }
  }

  void AddSinks() {
    out_.Add(LinearWeights{.module = place_.module,
                           .name = "sinks",
                           .component = Component::kAttentionSinks,
                           .rows = attention_.head_count,
                           .columns = 1});
  }

  // Source: Qiu et al. 2025, "Gated Attention for Large Language Models", arXiv 2505.06708,
  // section 2.2.
  void AddOutputGate() { Project("output_gate", OutputGateSize(attention_), false); }

  void AddOutput() {
    out_.Add(LinearWeights{.module = place_.module,
                           .name = "output",
                           .component = Component::kAttentionOutput,
                           .rows = place_.hidden_size,
                           .columns = attention_.head_count * attention_.value_head_size,
                           .bias = attention_.output_bias});
  }

 private:
  int64_t query_size() const { return attention_.head_count * attention_.query_key_head_size; }
  int64_t key_size() const {
    return attention_.key_value_head_count * attention_.query_key_head_size;
  }
  int64_t value_size() const {
    return attention_.key_value_head_count * attention_.value_head_size;
  }

  void Project(absl::string_view name, int64_t rows, bool bias) {
    out_.Add(LinearWeights{.module = place_.module,
                           .name = name,
                           .component = Component::kAttentionQueryKeyValue,
                           .rows = rows,
                           .columns = place_.hidden_size,
                           .bias = bias});
  }
  void Latent(absl::string_view name, int64_t rows, int64_t columns, bool bias) {
    out_.Add(LinearWeights{.module = place_.module,
                           .name = name,
                           .component = Component::kAttentionLatent,
                           .rows = rows,
                           .columns = columns,
                           .bias = bias});
  }
  void AddNorm(absl::string_view name, NormVariant variant, int64_t length) {
    out_.Add(
        NormWeights{.module = place_.module, .name = name, .variant = variant, .length = length});
  }

  const AttentionSpec& attention_;
  const AttentionPlace& place_;
  WeightList& out_;
};

// Appends the tensors of `attention`. Cross attention projects keys and values from the encoder's
// output, which is hidden_size wide, too.
void AddAttentionWeights(const AttentionSpec& attention, const AttentionPlace& place,
                         WeightList& out) {
  AttentionWeights weights(attention, place, out);
  if (attention.latent.has_value()) {
    weights.AddLatentProjections(*attention.latent);
  } else {
    weights.AddProjections();
  }
  weights.AddQueryKeyNorms();
  if (attention.sinks) weights.AddSinks();
  if (attention.output_gate != OutputGate::kNone) weights.AddOutputGate();
  weights.AddOutput();
}

using Component = WeightComponent;

// A feed-forward of a layer, and its number of copies.
struct FeedForwardPlace {
  absl::string_view module;
  Component component;
  int64_t hidden_size;
  int64_t copies = 1;
  int64_t active_copies = 1;
};

void AddFeedForward(const FeedForwardSpec& spec, const FeedForwardPlace& place, WeightList& out) {
  LinearWeights into = {.module = place.module,
                        .name = "gate",
                        .component = place.component,
                        .rows = spec.size,
                        .columns = place.hidden_size,
                        .bias = spec.input_bias,
                        .copies = place.copies,
                        .active_copies = place.active_copies};
  if (spec.kind == FeedForwardKind::kGated) out.Add(into);
  into.name = "up";
  out.Add(into);
  out.Add(LinearWeights{.module = place.module,
                        .name = "down",
                        .component = place.component,
                        .rows = place.hidden_size,
                        .columns = spec.size,
                        .bias = spec.output_bias,
                        .copies = place.copies,
                        .active_copies = place.active_copies});
  if (spec.activation_parameter_count == 0) return;
  out.Add(WeightTensor{.module = place.module,
                       .name = "activation",
                       .role = WeightRole::kBias,
                       .component = Component::kBias,
                       .rows = spec.activation_parameter_count,
                       .columns = 1,
                       .copies = place.copies,
                       .active_copies = place.active_copies});
}

void AddRouter(const ExpertsSpec& experts, int64_t hidden_size, WeightList& out) {
  out.Add(LinearWeights{.module = "router",
                        .name = "",
                        .component = Component::kRouter,
                        .rows = RouterSize(experts),
                        .columns = hidden_size,
                        .bias = experts.router_bias});
  if (experts.router_correction_bias) {
    out.Add(LinearWeights{.module = "router",
                          .name = "correction",
                          .component = Component::kBias,
                          .rows = RouterSize(experts),
                          .columns = 1,
                          .learned = false});
  }
  if (!experts.expert_scales) return;
  out.Add(NormWeights{.module = "router",
                      .name = "expert_scales",
                      .variant = NormVariant::kRmsNorm,
                      .length = experts.expert_count});
}

// The matrices that join narrower routed experts to the residual. Every rank has them whole.
// Source: NVIDIA/Megatron-LM, megatron/core/transformer/moe/moe_layer.py, fc1_latent_proj and
// fc2_latent_proj, from memory.
void AddExpertLatent(int64_t latent_size, int64_t hidden_size, WeightList& out) {
  LinearWeights matrix = {.module = "expert_latent",
                          .name = "down",
                          .component = Component::kRoutedExperts,
                          .rows = latent_size,
                          .columns = hidden_size};
  out.Add(matrix);
  matrix.name = "up";
  std::swap(matrix.rows, matrix.columns);
  out.Add(matrix);
}

void AddExperts(const ExpertsSpec& experts, int64_t hidden_size, WeightList& out) {
  AddRouter(experts, hidden_size, out);
  if (experts.latent_size > 0) AddExpertLatent(experts.latent_size, hidden_size, out);
  AddFeedForward(experts.expert,
                 {.module = "experts",
                  .component = Component::kRoutedExperts,
                  .hidden_size = ExpertWidth(experts, hidden_size),
                  .copies = experts.expert_count,
                  .active_copies = experts.experts_per_token},
                 out);
  if (experts.shared_expert_count == 0) return;
  AddFeedForward(experts.shared_expert,
                 {.module = "shared_experts",
                  .component = Component::kSharedExperts,
                  .hidden_size = hidden_size,
                  .copies = experts.shared_expert_count,
                  .active_copies = experts.shared_expert_count},
                 out);
  if (experts.shared_expert_gate) {
    out.Add(LinearWeights{.module = "shared_experts",
                          .name = "token_gate",
                          .component = Component::kSharedExperts,
                          .rows = 1,
                          .columns = hidden_size});
  }
}

// The weights of a block's program, each with its place there. A bias is a vector of its own.
void AddBlock(const Block& block, Component component, WeightList& out) {
  for (const BlockOp& op : block.ops) {
    for (const BlockWeight& weight : op.weights) {
      const bool vector = weight.kind == BlockWeightKind::kVector;
      const bool norm = weight.kind == BlockWeightKind::kNorm;
      WeightTensor tensor = {.module = block.module,
                             .name = weight.name,
                             .role = vector ? WeightRole::kBias : WeightRole::kWeight,
                             .component = norm ? Component::kNorm : component,
                             .rows = weight.rows,
                             .columns = weight.columns,
                             .block = block.PlaceOf(op, weight)};
      out.Add(tensor);
      if (!weight.bias) continue;
      tensor.role = WeightRole::kBias;
      tensor.component = Component::kBias;
      tensor.columns = 1;
      out.Add(tensor);
    }
  }
}

void AddNorms(const LayerSpec& layer, int64_t hidden_size, WeightList& out) {
  const struct {
    bool present;
    absl::string_view name;
  } norms[] = {
      {layer.norms.before_attention, "before_attention"},
      {layer.norms.after_attention, "after_attention"},
      {layer.norms.before_cross_attention, "before_cross_attention"},
      {layer.norms.after_cross_attention, "after_cross_attention"},
      {layer.norms.before_feed_forward, "before_feed_forward"},
      {layer.norms.before_experts, "before_router"},
      {layer.norms.before_experts, "before_experts"},
      {layer.norms.before_sum, "after_dense"},
      {layer.norms.before_sum, "after_experts"},
      {layer.norms.after_feed_forward, "after_feed_forward"},
  };
  for (const auto& norm : norms) {
    if (!norm.present) continue;
    out.Add(NormWeights{
        .module = "norm", .name = norm.name, .variant = layer.norm, .length = hidden_size});
  }
}

}  // namespace

void WeightList::Add(WeightTensor tensor) {
  tensor.part = place_.part;
  tensor.layer_kind = place_.layer_kind;
  tensor.layers = place_.layers;
  tensor.trainable_layers = place_.trainable_layers;
  tensors_.push_back(tensor);
}

void WeightList::Add(const LinearWeights& linear) {
  WeightTensor tensor = {.module = linear.module,
                         .name = linear.name,
                         .role = WeightRole::kWeight,
                         .component = linear.component,
                         .rows = linear.rows,
                         .columns = linear.columns,
                         .copies = linear.copies,
                         .active_copies = linear.active_copies,
                         .padding_rows = linear.padding_rows};
  Add(tensor);
  if (!linear.learned) tensors_.back().trainable_layers = 0;
  if (!linear.bias) return;
  tensor.role = WeightRole::kBias;
  tensor.component = linear.bias_component;
  tensor.columns = 1;
  Add(tensor);
}

void WeightList::Add(const NormWeights& norm) {
  if (norm.variant == NormVariant::kNonParametricLayerNorm) return;
  WeightTensor tensor = {.module = norm.module,
                         .name = norm.name,
                         .role = WeightRole::kWeight,
                         .component = WeightComponent::kNorm,
                         .rows = norm.length,
                         .columns = 1};
  Add(tensor);
  if (norm.variant != NormVariant::kLayerNorm) return;
  tensor.role = WeightRole::kBias;
  Add(tensor);
}

void AddLayerWeights(const LayerSpec& layer, int64_t hidden_size, WeightList& out) {
  if (layer.attention.has_value()) {
    AddAttentionWeights(*layer.attention,
                        {.module = "attention", .hidden_size = hidden_size, .norm = layer.norm},
                        out);
  }
  if (layer.mixer.has_value()) {
    AddBlock(MixerBlock(*layer.mixer, hidden_size), Component::kMixer, out);
  }
  if (layer.cross_attention.has_value()) {
    AddAttentionWeights(
        *layer.cross_attention,
        {.module = "cross_attention", .hidden_size = hidden_size, .norm = layer.norm}, out);
  }
  if (layer.feed_forward.has_value()) {
    AddFeedForward(*layer.feed_forward,
                   {.module = "feed_forward",
                    .component = Component::kDenseFeedForward,
                    .hidden_size = hidden_size},
                   out);
  }
  if (layer.experts.has_value()) AddExperts(*layer.experts, hidden_size, out);
  AddNorms(layer, hidden_size, out);
  if (!layer.output_scale) return;
  out.Add(LinearWeights{.module = "layer",
                        .name = "output_scale",
                        .component = Component::kNorm,
                        .rows = 1,
                        .columns = 1,
                        .learned = false});
}

}  // namespace sextant
