#include "tests/engine/model/sharding/random_sharding.h"

#include <algorithm>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/model/sharding/layer_placement.h"
#include "tests/engine/model/architecture/architectures.h"

namespace sextant {
namespace {

class ShardingDraw {
 public:
  explicit ShardingDraw(uint32_t seed) : random_(seed) {}

  RandomSharding All() {
    tensor_ = int64_t{1} << Between(0, 2);
    expert_ = Between(1, 3);
    expert_tensor_ = Chance() ? 0 : int64_t{1} << Between(0, 2);
    heads_ = 4 * Between(1, 2);
    out_.layout.split_key_value_heads = Chance();
    const int64_t shape = Between(0, 3);  // an encoder, both stacks, else a decoder
    FillModel(shape == 1, shape >= 1);
    if (shape == 0) out_.spec.decoder = {};
    FillExtras(shape >= 1);
    FillLayout(shape == 1);
    out_.layout.split_key_value_heads = out_.layout.split_key_value_heads && SharesKeyHeads();
    return out_;
  }

 private:
  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool Chance() { return Between(0, 1) == 1; }
  NormVariant Norm() { return static_cast<NormVariant>(Between(1, 4)); }

  // True where ranks outnumber the key heads of a layer: otherwise there is nothing to split.
  bool SharesKeyHeads() const {
    return std::any_of(
        out_.spec.layer_kinds.begin(), out_.spec.layer_kinds.end(),
        [this](const LayerSpec& layer) { return layer.attention->key_value_head_count < tensor_; });
  }

  AttentionSpec Attention(AttentionMask mask) {
    AttentionSpec out = Heads(heads_, int64_t{1} << Between(0, 2), Between(2, 3));
    out.value_head_size = Between(1, 3);
    if (out_.layout.split_key_value_heads) out.query_key_head_size = out.value_head_size = 4;
    out.output_bias = Chance();
    out.sinks = Chance();
    out.mask = mask;
    if (Chance()) {
      out.key_value_head_count = out.head_count;
      out.latent = LatentSpec{.query_rank = Between(0, 3),
                              .key_value_rank = Between(1, 3),
                              .rotary_size = Between(0, 1),
                              .down_bias = Chance()};
    } else {
      out.query_bias = Chance();
      out.key_bias = out.value_bias = Chance();
      out.query_key_norm = static_cast<QueryKeyNorm>(Between(0, 2));
      if (out.query_key_norm != QueryKeyNorm::kNone && Between(0, 3) == 0) {
        out.values_are_keys = true;
        out.value_head_size = out.query_key_head_size;
      }
    }
    // Queries without a latent and the gate's matrix each gather their input in a trace.
    const bool gathers_twice = out.latent.has_value() && out.latent->query_rank == 0;
    if (Between(0, 2) == 0 && !gathers_twice)
      out.output_gate = static_cast<OutputGate>(Between(1, 2));
    return out;
  }

  FeedForwardSpec FeedForward(int64_t multiple) {
    const int64_t size = multiple * Between(2, 3);
    return Chance() ? Gated(size) : Plain(size);
  }

  ExpertsSpec Experts() {
    const int64_t cut = expert_tensor_ == 0 ? tensor_ : expert_tensor_;
    ExpertsSpec out = {.expert_count = expert_ * Between(1, 3),
                       .experts_per_token = 1,
                       .expert = FeedForward(cut),
                       .shared_expert_count = Between(0, 2),
                       .router_bias = Chance(),
                       .router_correction_bias = Chance(),
                       .latent_size = Between(0, 2) == 0 ? 2 * tensor_ * Between(1, 2) : 0,
                       .zero_expert_count = Between(0, 3) == 0 ? Between(1, 2) : 0};
    if (out.shared_expert_count > 0) {
      // Two shared experts of which none divides by itself, at times.
      const bool halves = out.shared_expert_count == 2 && tensor_ > 1 && Chance();
      out.shared_expert = FeedForward(halves ? tensor_ / 2 : tensor_);
      out.shared_expert_gate = Chance();
    }
    return out;
  }

  int AddKind(AttentionMask mask, bool crosses) {
    LayerSpec layer = DenseLayer(Attention(mask), FeedForward(tensor_));
    layer.name = absl::StrCat("kind", out_.spec.layer_kinds.size());
    layer.norm = Norm();
    layer.norms.after_attention = Chance();
    if (crosses) {
      layer.cross_attention = Heads(heads_, heads_, 4);
      layer.cross_attention->mask = AttentionMask::kFull;
      layer.norms.before_cross_attention = true;
    }
    const bool both = Chance();
    if (Chance()) {
      layer.experts = Experts();
      has_experts_ = true;
      if (!both) layer.feed_forward.reset();
    }
    out_.spec.layer_kinds.push_back(layer);
    return static_cast<int>(out_.spec.layer_kinds.size()) - 1;
  }

  void FillStack(StackSpec& stack, AttentionMask mask, bool crosses) {
    const int first = AddKind(mask, crosses);
    const int second = AddKind(mask, crosses);
    for (int i = 0; i < 4; ++i) {
      stack.layers.push_back({i % 2 == 0 ? first : second, Between(1, 4), Chance()});
    }
    stack.learned_position_count = Between(0, 3);
    stack.relative_position_bucket_count = Between(0, 2);
    stack.embedding_norm = Chance();
    stack.final_norm = Chance();
  }

  void FillModel(bool both, bool decodes) {
    ArchitectureSpec& spec = out_.spec;
    spec.hidden_size = tensor_ * Between(2, 3);
    spec.norm = Norm();
    spec.embedding = {.vocabulary_size = Between(5, 20),
                      .embedding_size = Chance() ? 0 : Between(2, 4),
                      .token_type_count = Between(0, 2)};
    spec.embedding.padded_vocabulary_size =
        PaddedVocabularySize(spec.embedding.vocabulary_size, tensor_);
    if (both || !decodes) FillStack(spec.encoder, AttentionMask::kFull, false);
    if (decodes) FillStack(spec.decoder, AttentionMask::kCausal, both);
    spec.output = {.head = static_cast<OutputHeadKind>(Between(2, 3)),
                   .head_bias = Chance(),
                   .transform = Chance(),
                   .pooler = Chance()};
    spec.output.pooled_class_count = spec.output.pooler ? Between(0, 2) : 0;
  }

  void FillExtras(bool decodes) {
    ArchitectureSpec& spec = out_.spec;
    if (decodes && Chance()) {
      const int kind = AddKind(AttentionMask::kCausal, false);
      spec.multi_token_prediction =
          MultiTokenPredictionSpec{.module_count = Between(1, 2), .layer_kind = kind};
    }
    if (Chance()) spec.frozen_components = {WeightComponent::kNorm, WeightComponent::kRouter};
    if (!Chance()) return;
    spec.adapters = AdapterSpec{.rank = Between(1, 2),
                                .targets = {{"token_embedding", ""}, {"attention", "output"}}};
    if (has_experts_ && Chance()) {
      spec.adapters->targets.push_back({"experts", "up"});
      spec.adapters->targets.push_back({"experts", "down"});
    }
    spec.base_frozen = Chance();
  }

  void FillLayout(bool both) {
    ParallelLayout& layout = out_.layout;
    layout.tensor_parallel_size = tensor_;
    layout.pipeline_parallel_size = Between(1, 4);
    if (layout.pipeline_parallel_size > 1 && !both) layout.virtual_stage_count = Between(1, 2);
    if (has_experts_) {
      layout.expert_parallel_size = expert_;
      layout.expert_tensor_parallel_size = expert_tensor_;
    }
    const int64_t layers = LayerCountOf(out_.spec.encoder) + LayerCountOf(out_.spec.decoder);
    if (layers % ChunkCount(layout) == 0 && Chance()) return;
    layout.layers_per_chunk.assign(static_cast<size_t>(ChunkCount(layout)), 0);
    for (int64_t i = 0; i < layers; ++i) {
      ++layout.layers_per_chunk[static_cast<size_t>(Between(0, ChunkCount(layout) - 1))];
    }
  }

  std::mt19937 random_;
  RandomSharding out_;
  int64_t tensor_ = 1;
  int64_t expert_ = 1;
  int64_t expert_tensor_ = 0;
  int64_t heads_ = 4;
  bool has_experts_ = false;
};

}  // namespace

RandomSharding DrawSharding(uint32_t seed) { return ShardingDraw(seed).All(); }

}  // namespace sextant
