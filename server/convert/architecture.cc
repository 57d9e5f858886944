#include "server/convert/architecture.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/base/text.h"
#include "proto/check/field_checker.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

using NormVariantPair = SameNumbers<NormVariant::kNonParametricLayerNorm, v1::NormVariant_MAX>;
using HeadNormPair = SameNumbers<QueryKeyNorm::kAllHeads, v1::Attention::QueryKeyNorm_MAX>;
using OutputGatePair = SameNumbers<OutputGate::kPerHead, v1::Attention::OutputGate_MAX>;
using AttentionMaskPair = OneLater<AttentionMask::kFull, v1::AttentionMask_MAX>;
using WidthKindPair = SameNumbers<FeedForwardKind::kGated, v1::FeedForward::Kind_MAX>;
using MixerKindPair = SameNumbers<kLastMixerKind, v1::MixerKind_MAX>;
using OutputHeadPair = SameNumbers<OutputHeadKind::kUntied, v1::OutputHead_MAX>;

IndexerSpec IndexerFrom(const v1::Attention::Indexer& m) {
  return {.head_count = m.head_count(),
          .head_size = m.head_size(),
          .chosen_count = m.chosen_count(),
          .shared = m.shared()};
}

LatentSpec LatentFrom(const v1::Attention::Latent& m) {
  LatentSpec out = {.query_rank = m.query_rank(),
                    .key_value_rank = m.key_value_rank(),
                    .rotary_size = m.rotary_size(),
                    .down_bias = m.down_bias()};
  if (m.has_indexer()) out.indexer = IndexerFrom(m.indexer());
  return out;
}

AttentionSpec AttentionFrom(const v1::Attention& m, const check::MessagePath& path,
                            FieldViolations& violations) {
  AttentionSpec out;
  out.head_count = m.head_count();
  out.key_value_head_count =
      m.has_key_value_head_count() ? m.key_value_head_count() : m.head_count();
  out.query_key_head_size = m.query_key_head_size();
  out.value_head_size = m.has_value_head_size() ? m.value_head_size() : m.query_key_head_size();
  if (m.has_latent()) out.latent = LatentFrom(m.latent());
  out.query_bias = m.query_bias();
  out.key_bias = m.key_bias();
  out.value_bias = m.value_bias();
  out.output_bias = m.output_bias();
  out.query_key_norm = HeadNormPair::From(m.query_key_norm(),
                                          check::MessagePath(path, "query_key_norm"), violations);
  out.query_key_norm_variant = NormVariantPair::From(
      m.query_key_norm_variant(), check::MessagePath(path, "query_key_norm_variant"), violations);
  out.sinks = m.sinks();
  out.output_gate =
      OutputGatePair::From(m.output_gate(), check::MessagePath(path, "output_gate"), violations);
  out.mask = AttentionMaskPair::From(m.mask(), check::MessagePath(path, "mask"), violations);
  out.window = m.window();
  out.chunk = m.chunk();
  out.values_are_keys = m.values_are_keys();
  return out;
}

MixerSpec MixerFrom(const v1::Mixer& m, const check::MessagePath& path,
                    FieldViolations& violations) {
  return {.kind = MixerKindPair::From(m.kind(), check::MessagePath(path, "kind"), violations),
          .head_count = m.head_count(),
          .head_size = m.head_size(),
          .group_count = m.group_count(),
          .state_size = m.state_size(),
          .convolution_size = m.convolution_size(),
          .convolution_bias = m.convolution_bias(),
          .projection_bias = m.projection_bias(),
          .decay_rank = m.decay_rank(),
          .gate_rank = m.gate_rank(),
          .output_norm = m.output_norm(),
          .inner_norms = m.inner_norms()};
}

FeedForwardSpec FeedForwardFrom(const v1::FeedForward& m, const check::MessagePath& path,
                                FieldViolations& violations) {
  return {.kind = WidthKindPair::From(m.kind(), check::MessagePath(path, "kind"), violations),
          .size = m.size(),
          .input_bias = m.input_bias(),
          .output_bias = m.output_bias(),
          .activation_parameter_count = m.activation_parameter_count()};
}

ExpertsSpec ExpertsFrom(const v1::Experts& m, const check::MessagePath& path,
                        FieldViolations& violations) {
  ExpertsSpec out;
  out.expert_count = m.expert_count();
  out.experts_per_token = m.experts_per_token();
  out.expert = FeedForwardFrom(m.expert(), check::MessagePath(path, "expert"), violations);
  out.shared_expert_count = m.shared_expert_count();
  if (m.has_shared_expert()) {
    out.shared_expert =
        FeedForwardFrom(m.shared_expert(), check::MessagePath(path, "shared_expert"), violations);
  }
  out.shared_expert_gate = m.shared_expert_gate();
  out.router_bias = m.router_bias();
  out.router_correction_bias = m.router_correction_bias();
  out.group_count = m.group_count();
  out.groups_per_token = m.groups_per_token();
  out.latent_size = m.latent_size();
  out.zero_expert_count = m.zero_expert_count();
  out.expert_scales = m.expert_scales();
  return out;
}

// By default each branch that the layer has is normalised before it.
LayerNorms NormsFrom(const v1::LayerKind& m) {
  const v1::LayerKind::Norms& n = m.norms();
  const bool feeds = m.has_feed_forward() || m.has_experts();
  const bool mixes = m.has_attention() || m.has_mixer();
  return {.before_attention = n.has_before_attention() ? n.before_attention() : mixes,
          .after_attention = n.after_attention(),
          .before_cross_attention = n.before_cross_attention(),
          .before_feed_forward = n.has_before_feed_forward() ? n.before_feed_forward() : feeds,
          .after_feed_forward = n.after_feed_forward(),
          .after_cross_attention = n.after_cross_attention(),
          .before_experts = n.before_experts(),
          .before_sum = n.before_sum()};
}

constexpr size_t kMaxKindBytes = 40;  // that an error quotes

// Kinds of layers by their names.
using KindNumbers = absl::flat_hash_map<absl::string_view, int>;

// Returns the number of a kind; where no kind has that name, adds a violation and returns 0.
int NumberOf(const std::string& kind, const KindNumbers& kinds, const check::MessagePath& path,
             FieldViolations& violations) {
  const auto found = kinds.find(kind);
  if (found != kinds.end()) return found->second;
  violations.Add(check::MessagePath(path, "layer_kind").ToString(),
                 absl::StrCat("\"", Clip(kind, kMaxKindBytes),
                              "\" names none of layer_kinds: write one of their names"));
  return 0;
}

StackSpec StackFrom(const v1::Architecture::Stack& m, const check::MessagePath& path,
                    const KindNumbers& kinds, FieldViolations& violations) {
  StackSpec out;
  out.layers.reserve(static_cast<size_t>(m.layers_size()));
  const size_t faults = violations.found_count();
  for (int i = 0; i < m.layers_size(); ++i) {
    const check::MessagePath run(path, "layers", i);
    out.layers.push_back({.layer_kind = NumberOf(m.layers(i).layer_kind(), kinds, run, violations),
                          .count = m.layers(i).count(),
                          .frozen = m.layers(i).frozen()});
    if (violations.found_count() != faults) break;  // one such name says enough
  }
  out.learned_position_count = m.learned_position_count();
  out.relative_position_bucket_count = m.relative_position_bucket_count();
  out.embedding_norm = m.embedding_norm();
  if (m.has_final_norm()) out.final_norm = m.final_norm();
  return out;
}

EmbeddingSpec EmbeddingFrom(const v1::Architecture::Embedding& m) {
  return {.vocabulary_size = m.vocabulary_size(),
          .padded_vocabulary_size = m.padded_vocabulary_size(),
          .embedding_size = m.embedding_size(),
          .token_type_count = m.token_type_count()};
}

OutputSpec OutputFrom(const v1::Architecture::Output& m, const check::MessagePath& path,
                      FieldViolations& violations) {
  OutputSpec out;
  out.head = OutputHeadPair::From(m.head(), check::MessagePath(path, "head"), violations);
  out.head_bias = m.head_bias();
  out.transform = m.transform();
  out.pooler = m.pooler();
  out.pooled_class_count = m.pooled_class_count();
  return out;
}

LayerSpec LayerKindFrom(const v1::LayerKind& m, const check::MessagePath& path,
                        FieldViolations& violations) {
  const auto at = [&](absl::string_view name) { return check::MessagePath(path, name); };
  LayerSpec out;
  out.name = m.name();
  out.norm = NormVariantPair::From(m.norm(), check::MessagePath(path, "norm"), violations);
  out.norms = NormsFrom(m);
  if (m.has_attention()) out.attention = AttentionFrom(m.attention(), at("attention"), violations);
  if (m.has_mixer()) out.mixer = MixerFrom(m.mixer(), at("mixer"), violations);
  if (m.has_cross_attention()) {
    out.cross_attention = AttentionFrom(m.cross_attention(), at("cross_attention"), violations);
    // There is no other mask over an encoder's output.
    if (m.cross_attention().mask() == v1::ATTENTION_MASK_UNSPECIFIED) {
      out.cross_attention->mask = AttentionMask::kFull;
    }
  }
  if (m.has_feed_forward()) {
    out.feed_forward = FeedForwardFrom(m.feed_forward(), at("feed_forward"), violations);
  }
  if (m.has_experts()) out.experts = ExpertsFrom(m.experts(), at("experts"), violations);
  out.output_scale = m.output_scale();
  return out;
}

void FeedForwardTo(const FeedForwardSpec& spec, v1::FeedForward* out) {
  out->set_kind(WidthKindPair::To(spec.kind));
  out->set_size(spec.size);
  out->set_input_bias(spec.input_bias);
  out->set_output_bias(spec.output_bias);
  out->set_activation_parameter_count(spec.activation_parameter_count);
}

void LatentTo(const LatentSpec& spec, v1::Attention::Latent* out) {
  if (spec.query_rank != 0) out->set_query_rank(spec.query_rank);
  out->set_key_value_rank(spec.key_value_rank);
  out->set_rotary_size(spec.rotary_size);
  out->set_down_bias(spec.down_bias);
  if (!spec.indexer.has_value()) return;
  out->mutable_indexer()->set_head_count(spec.indexer->head_count);
  out->mutable_indexer()->set_head_size(spec.indexer->head_size);
  out->mutable_indexer()->set_chosen_count(spec.indexer->chosen_count);
  out->mutable_indexer()->set_shared(spec.indexer->shared);
}

// `usual` is the mask that an absent one means.
void AttentionTo(const AttentionSpec& spec, AttentionMask usual, v1::Attention* out) {
  out->set_head_count(spec.head_count);
  if (spec.key_value_head_count != spec.head_count) {
    out->set_key_value_head_count(spec.key_value_head_count);
  }
  out->set_query_key_head_size(spec.query_key_head_size);
  if (spec.value_head_size != spec.query_key_head_size) {
    out->set_value_head_size(spec.value_head_size);
  }
  if (spec.latent.has_value()) LatentTo(*spec.latent, out->mutable_latent());
  out->set_query_bias(spec.query_bias);
  out->set_key_bias(spec.key_bias);
  out->set_value_bias(spec.value_bias);
  out->set_output_bias(spec.output_bias);
  out->set_query_key_norm(HeadNormPair::To(spec.query_key_norm));
  out->set_query_key_norm_variant(NormVariantPair::To(spec.query_key_norm_variant));
  out->set_sinks(spec.sinks);
  out->set_output_gate(OutputGatePair::To(spec.output_gate));
  if (spec.mask != usual) {
    out->set_mask(AttentionMaskPair::To(spec.mask));
  }
  if (spec.window != 0) out->set_window(spec.window);
  if (spec.chunk != 0) out->set_chunk(spec.chunk);
  out->set_values_are_keys(spec.values_are_keys);
}

void MixerTo(const MixerSpec& spec, v1::Mixer* out) {
  out->set_kind(MixerKindPair::To(spec.kind));
  out->set_head_count(spec.head_count);
  out->set_head_size(spec.head_size);
  out->set_group_count(spec.group_count);
  out->set_state_size(spec.state_size);
  out->set_convolution_size(spec.convolution_size);
  out->set_convolution_bias(spec.convolution_bias);
  out->set_projection_bias(spec.projection_bias);
  if (spec.decay_rank != 0) out->set_decay_rank(spec.decay_rank);
  if (spec.gate_rank != 0) out->set_gate_rank(spec.gate_rank);
  out->set_output_norm(spec.output_norm);
  out->set_inner_norms(spec.inner_norms);
}

void ExpertsTo(const ExpertsSpec& spec, v1::Experts* out) {
  out->set_expert_count(spec.expert_count);
  out->set_experts_per_token(spec.experts_per_token);
  FeedForwardTo(spec.expert, out->mutable_expert());
  out->set_shared_expert_count(spec.shared_expert_count);
  if (spec.shared_expert_count > 0) {
    FeedForwardTo(spec.shared_expert, out->mutable_shared_expert());
  }
  out->set_shared_expert_gate(spec.shared_expert_gate);
  out->set_router_bias(spec.router_bias);
  out->set_router_correction_bias(spec.router_correction_bias);
  out->set_group_count(spec.group_count);
  out->set_groups_per_token(spec.groups_per_token);
  if (spec.latent_size != 0) out->set_latent_size(spec.latent_size);
  out->set_zero_expert_count(spec.zero_expert_count);
  out->set_expert_scales(spec.expert_scales);
}

// NormsFrom() fills in what is left out.
void NormsTo(const LayerSpec& layer, v1::LayerKind* out) {
  const LayerNorms& norms = layer.norms;
  if (norms == NormsFrom(*out)) return;
  v1::LayerKind::Norms* wire = out->mutable_norms();
  wire->set_before_attention(norms.before_attention);
  wire->set_after_attention(norms.after_attention);
  wire->set_before_cross_attention(norms.before_cross_attention);
  wire->set_before_feed_forward(norms.before_feed_forward);
  wire->set_after_feed_forward(norms.after_feed_forward);
  wire->set_after_cross_attention(norms.after_cross_attention);
  wire->set_before_experts(norms.before_experts);
  wire->set_before_sum(norms.before_sum);
}

void LayerKindTo(const LayerSpec& layer, v1::LayerKind* out) {
  out->set_name(layer.name);
  out->set_norm(NormVariantPair::To(layer.norm));
  if (layer.attention.has_value()) {
    AttentionTo(*layer.attention, AttentionMask::kCausal, out->mutable_attention());
  }
  if (layer.mixer.has_value()) MixerTo(*layer.mixer, out->mutable_mixer());
  if (layer.cross_attention.has_value()) {
    AttentionTo(*layer.cross_attention, AttentionMask::kFull, out->mutable_cross_attention());
  }
  if (layer.feed_forward.has_value()) {
    FeedForwardTo(*layer.feed_forward, out->mutable_feed_forward());
  }
  if (layer.experts.has_value()) ExpertsTo(*layer.experts, out->mutable_experts());
  out->set_output_scale(layer.output_scale);
  NormsTo(layer, out);
}

void StackTo(const ArchitectureSpec& spec, const StackSpec& stack, v1::Architecture::Stack* out) {
  for (const LayerRun& run : stack.layers) {
    v1::Architecture::LayerRun* wire = out->add_layers();
    wire->set_layer_kind(spec.layer_kinds[static_cast<size_t>(run.layer_kind)].name);
    wire->set_count(run.count);
    wire->set_frozen(run.frozen);
  }
  out->set_learned_position_count(stack.learned_position_count);
  out->set_relative_position_bucket_count(stack.relative_position_bucket_count);
  out->set_embedding_norm(stack.embedding_norm);
  if (!stack.final_norm) out->set_final_norm(false);
}

void EmbeddingTo(const EmbeddingSpec& spec, v1::Architecture::Embedding* out) {
  out->set_vocabulary_size(spec.vocabulary_size);
  if (spec.padded_vocabulary_size != 0) {
    out->set_padded_vocabulary_size(spec.padded_vocabulary_size);
  }
  if (spec.embedding_size != 0) out->set_embedding_size(spec.embedding_size);
  out->set_token_type_count(spec.token_type_count);
}

void OutputTo(const OutputSpec& spec, v1::Architecture::Output* out) {
  out->set_head(OutputHeadPair::To(spec.head));
  out->set_head_bias(spec.head_bias);
  out->set_transform(spec.transform);
  out->set_pooler(spec.pooler);
  out->set_pooled_class_count(spec.pooled_class_count);
}

}  // namespace

ArchitectureSpec ArchitectureFrom(const v1::Architecture& m, absl::string_view path,
                                  FieldViolations& violations) {
  const check::MessagePath root(path);
  ArchitectureSpec out;
  KindNumbers kinds;
  for (int i = 0; i < m.layer_kinds_size(); ++i) {
    kinds.emplace(m.layer_kinds(i).name(), i);
    out.layer_kinds.push_back(
        LayerKindFrom(m.layer_kinds(i), check::MessagePath(root, "layer_kinds", i), violations));
  }
  out.hidden_size = m.hidden_size();
  out.norm = NormVariantPair::From(m.norm(), check::MessagePath(root, "norm"), violations);
  out.embedding = EmbeddingFrom(m.embedding());
  if (m.has_encoder()) {
    out.encoder = StackFrom(m.encoder(), check::MessagePath(root, "encoder"), kinds, violations);
  }
  if (m.has_decoder()) {
    out.decoder = StackFrom(m.decoder(), check::MessagePath(root, "decoder"), kinds, violations);
  }
  out.output = OutputFrom(m.output(), check::MessagePath(root, "output"), violations);
  if (!m.has_multi_token_prediction()) return out;
  const v1::Architecture::MultiTokenPrediction& ahead = m.multi_token_prediction();
  const check::MessagePath at(root, "multi_token_prediction");
  out.multi_token_prediction =
      MultiTokenPredictionSpec{.module_count = ahead.module_count(),
                               .layer_kind = NumberOf(ahead.layer_kind(), kinds, at, violations)};
  if (ahead.has_final_norm()) out.multi_token_prediction->final_norm = ahead.final_norm();
  return out;
}

void ArchitectureTo(const ArchitectureSpec& spec, v1::Architecture* out) {
  out->set_hidden_size(spec.hidden_size);
  out->set_norm(NormVariantPair::To(spec.norm));
  EmbeddingTo(spec.embedding, out->mutable_embedding());
  for (const LayerSpec& layer : spec.layer_kinds) LayerKindTo(layer, out->add_layer_kinds());
  if (!spec.encoder.layers.empty()) StackTo(spec, spec.encoder, out->mutable_encoder());
  if (!spec.decoder.layers.empty()) StackTo(spec, spec.decoder, out->mutable_decoder());
  OutputTo(spec.output, out->mutable_output());
  if (!spec.multi_token_prediction.has_value()) return;
  const MultiTokenPredictionSpec& ahead = *spec.multi_token_prediction;
  v1::Architecture::MultiTokenPrediction* wire = out->mutable_multi_token_prediction();
  wire->set_module_count(ahead.module_count);
  wire->set_layer_kind(spec.layer_kinds[static_cast<size_t>(ahead.layer_kind)].name);
  if (!ahead.final_norm) wire->set_final_norm(false);
}

}  // namespace sextant::server
