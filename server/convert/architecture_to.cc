#include "server/convert/architecture_to.h"

namespace sextant::server {
namespace {

// Enums of the engine are the wire's in the wire's order, from 0; server/convert/architecture.cc
// asserts it.
template <typename Wire, typename Engine>
Wire As(Engine value) {
  return static_cast<Wire>(static_cast<int>(value));
}

void LatentTo(const LatentSpec& latent, v1::Attention::Latent* out) {
  if (latent.query_rank > 0) out->set_query_rank(latent.query_rank);
  out->set_key_value_rank(latent.key_value_rank);
  out->set_rotary_size(latent.rotary_size);
  out->set_down_bias(latent.down_bias);
}

void AttentionTo(const AttentionSpec& attention, v1::Attention* out) {
  out->set_head_count(attention.head_count);
  out->set_key_value_head_count(attention.key_value_head_count);
  out->set_query_key_head_size(attention.query_key_head_size);
  out->set_value_head_size(attention.value_head_size);
  if (attention.latent.has_value()) LatentTo(*attention.latent, out->mutable_latent());
  out->set_query_bias(attention.query_bias);
  out->set_key_bias(attention.key_bias);
  out->set_value_bias(attention.value_bias);
  out->set_output_bias(attention.output_bias);
  out->set_query_key_norm(As<v1::Attention::QueryKeyNorm>(attention.query_key_norm));
  out->set_query_key_norm_variant(As<v1::NormVariant>(attention.query_key_norm_variant));
  out->set_sinks(attention.sinks);
  out->set_mask(attention.mask == AttentionMask::kFull ? v1::ATTENTION_MASK_FULL
                                                       : v1::ATTENTION_MASK_CAUSAL);
  if (attention.window > 0) out->set_window(attention.window);
  if (attention.chunk > 0) out->set_chunk(attention.chunk);
}

void FeedForwardTo(const FeedForwardSpec& feed_forward, v1::FeedForward* out) {
  out->set_kind(As<v1::FeedForward::Kind>(feed_forward.kind));
  out->set_size(feed_forward.size);
  out->set_input_bias(feed_forward.input_bias);
  out->set_output_bias(feed_forward.output_bias);
}

void ExpertsTo(const ExpertsSpec& experts, v1::Experts* out) {
  out->set_expert_count(experts.expert_count);
  out->set_experts_per_token(experts.experts_per_token);
  FeedForwardTo(experts.expert, out->mutable_expert());
  out->set_shared_expert_count(experts.shared_expert_count);
  if (experts.shared_expert_count > 0) {
    FeedForwardTo(experts.shared_expert, out->mutable_shared_expert());
  }
  out->set_shared_expert_gate(experts.shared_expert_gate);
  out->set_router_bias(experts.router_bias);
  out->set_router_correction_bias(experts.router_correction_bias);
  out->set_group_count(experts.group_count);
  out->set_groups_per_token(experts.groups_per_token);
}

void NormsTo(const LayerNorms& norms, v1::LayerKind::Norms* out) {
  out->set_before_attention(norms.before_attention);
  out->set_after_attention(norms.after_attention);
  out->set_before_cross_attention(norms.before_cross_attention);
  out->set_before_feed_forward(norms.before_feed_forward);
  out->set_after_feed_forward(norms.after_feed_forward);
  out->set_after_cross_attention(norms.after_cross_attention);
}

void LayerKindTo(const LayerSpec& layer, v1::LayerKind* out) {
  out->set_name(layer.name);
  out->set_norm(As<v1::NormVariant>(layer.norm));
  NormsTo(layer.norms, out->mutable_norms());
  if (layer.attention.has_value()) AttentionTo(*layer.attention, out->mutable_attention());
  if (layer.cross_attention.has_value()) {
    AttentionTo(*layer.cross_attention, out->mutable_cross_attention());
  }
  if (layer.feed_forward.has_value()) {
    FeedForwardTo(*layer.feed_forward, out->mutable_feed_forward());
  }
  if (layer.experts.has_value()) ExpertsTo(*layer.experts, out->mutable_experts());
}

void StackTo(const StackSpec& stack, const ArchitectureSpec& spec, v1::Architecture::Stack* out) {
  for (const LayerRun& run : stack.layers) {
    v1::Architecture::LayerRun* const wire = out->add_layers();
    wire->set_layer_kind(spec.layer_kinds[static_cast<size_t>(run.layer_kind)].name);
    wire->set_count(run.count);
    wire->set_frozen(run.frozen);
  }
  out->set_learned_position_count(stack.learned_position_count);
  out->set_relative_position_bucket_count(stack.relative_position_bucket_count);
  out->set_embedding_norm(stack.embedding_norm);
  out->set_final_norm(stack.final_norm);
}

void EmbeddingTo(const EmbeddingSpec& embedding, v1::Architecture::Embedding* out) {
  out->set_vocabulary_size(embedding.vocabulary_size);
  if (embedding.padded_vocabulary_size > 0) {
    out->set_padded_vocabulary_size(embedding.padded_vocabulary_size);
  }
  if (embedding.embedding_size > 0) out->set_embedding_size(embedding.embedding_size);
  out->set_token_type_count(embedding.token_type_count);
}

void OutputTo(const OutputSpec& output, v1::Architecture::Output* out) {
  out->set_head(As<v1::OutputHead>(output.head));
  out->set_head_bias(output.head_bias);
  out->set_transform(output.transform);
  out->set_pooler(output.pooler);
  out->set_pooled_class_count(output.pooled_class_count);
}

}  // namespace

void ArchitectureTo(const ArchitectureSpec& spec, v1::Architecture* out) {
  out->set_hidden_size(spec.hidden_size);
  out->set_norm(As<v1::NormVariant>(spec.norm));
  EmbeddingTo(spec.embedding, out->mutable_embedding());
  for (const LayerSpec& layer : spec.layer_kinds) LayerKindTo(layer, out->add_layer_kinds());
  if (!spec.encoder.layers.empty()) StackTo(spec.encoder, spec, out->mutable_encoder());
  if (!spec.decoder.layers.empty()) StackTo(spec.decoder, spec, out->mutable_decoder());
  OutputTo(spec.output, out->mutable_output());
  if (!spec.multi_token_prediction.has_value()) return;
  const MultiTokenPredictionSpec& ahead = *spec.multi_token_prediction;
  v1::Architecture::MultiTokenPrediction* const wire = out->mutable_multi_token_prediction();
  wire->set_module_count(ahead.module_count);
  wire->set_layer_kind(spec.layer_kinds[static_cast<size_t>(ahead.layer_kind)].name);
  wire->set_final_norm(ahead.final_norm);
}

}  // namespace sextant::server
