#include "engine/model/architecture/attention_weights.h"

namespace sextant {
namespace {

using Component = WeightComponent;

// Adds one attention's tensors; keeps what all of them need.
class AttentionWeights {
 public:
  AttentionWeights(const AttentionSpec& attention, const AttentionPlace& place, WeightList& out)
      : attention_(attention), place_(place), out_(out) {}

  void AddProjections() {
    Project("query", query_size(), attention_.query_bias);
    Project("key", key_size(), attention_.key_bias);
    Project("value", value_size(), attention_.value_bias);
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

}  // namespace

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
  weights.AddOutput();
}

}  // namespace sextant
