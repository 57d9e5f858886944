#include <algorithm>

#include "engine/memory/activations/layer_rows.h"
#include "engine/memory/activations/sources.h"

namespace sextant {
namespace {

using Cut = ActivationCut;
using Kind = ElementKind;
namespace source = activation_source;

// The rows of one attention; keeps what all of them need.
class AttentionRows {
 public:
  AttentionRows(const AttentionSpec& attention, bool cross, ActivationList& out)
      : attention_(attention),
        cross_(cross),
        out_(out),
        heads_(attention.head_count / out.tensor_ranks()),
        key_heads_(std::max<int64_t>(attention.key_value_head_count / out.tensor_ranks(), 1)) {}

  // Latents are whole on every rank of tensor parallelism, but for their tokens.
  void AddLatents(const LatentSpec& latent) {
    if (latent.query_rank > 0) {
      AddLatent("query_latent", "b s q", latent.query_rank, Kind::kCompute,
                "gradient of the latent's norm");
      AddLatent("query_latent_normed", "b s q", latent.query_rank, Kind::kMatmulInput,
                "weight gradient of query_up");
    }
    AddLatent("key_value_latent", "b s r+r'", latent.key_value_rank + latent.rotary_size,
              Kind::kCompute, "gradient of the latent's norm");
    AddLatent("key_value_latent_normed", "b s r", latent.key_value_rank, Kind::kMatmulInput,
              "weight gradient of key_value_up");
  }

  void AddNormInputs() {
    if (attention_.query_key_norm == QueryKeyNorm::kNone) return;
    AddQuery("query_norm_input", "gradient of the query norm", source::kChainRule);
    AddKeys("key_norm_input", "b s g d", attention_.query_key_head_size, "gradient of the key norm",
            source::kChainRule);
  }

  // Neither a causal mask nor a window nor grouped heads change what the core reads: all of them.
  void AddOperands() {
    if (attention_.latent.has_value() && out_.batch().recomputation.latent_up_projections) return;
    AddQuery("query", "gradient of keys", source::kLayer);
    AddKeys("key", "b s g d", attention_.query_key_head_size, "gradient of queries",
            source::kLayer);
    AddKeys("value", "b s g v", attention_.value_head_size, "gradient of scores", source::kLayer);
  }

  void AddCore() {
    const bool kept = out_.batch().recomputation.policy != RecomputePolicy::kSelective;
    const bool flash = out_.batch().attention == AttentionKernel::kFlash;
    if (kept && !flash) AddScores();
    if (kept && flash) {
      out_.Add({.name = "softmax_statistics",
                .shape = "b a s",
                .kind = Kind::kFp32,
                .cut = Cut::kTensor,
                .width = heads_,
                .kept_for = "computing scores again in the fused backward",
                .source = source::kFlash});
      AddHeads("heads", Kind::kCompute, "gradient of scores, weight gradient of output");
      if (!out_.narrows_matmul_inputs()) return;
    }
    AddHeads("output_input", Kind::kMatmulInput, "weight gradient of output");
  }

 private:
  void AddLatent(absl::string_view name, absl::string_view shape, int64_t width, Kind kind,
                 absl::string_view kept_for) {
    out_.Add({.name = name,
              .shape = shape,
              .kind = kind,
              .cut = Cut::kSequence,
              .width = width,
              .kept_for = kept_for,
              .source = source::kLatent});
  }

  void AddQuery(absl::string_view name, absl::string_view kept_for, absl::string_view from) {
    out_.Add({.name = name,
              .shape = "b s a d",
              .cut = Cut::kTensor,
              .width = CheckedInt(heads_) * attention_.query_key_head_size,
              .kept_for = kept_for,
              .source = from});
  }

  void AddKeys(absl::string_view name, absl::string_view shape, int64_t head_size,
               absl::string_view kept_for, absl::string_view from) {
    ActivationRow row = {.name = name,
                         .shape = shape,
                         .cut = Cut::kTensor,
                         .width = CheckedInt(key_heads_) * head_size,
                         .kept_for = kept_for,
                         .source = from};
    if (!cross_) return out_.Add(row);
    row.width = row.width * TokensOf(out_.context(), ModelPart::kEncoder);
    out_.AddWhole(row);
  }

  // Masked scores are computed and kept too: an unfused kernel has the whole square.
  void AddScores() {
    const MicroBatchSpec& batch = out_.batch();
    const int64_t keys = cross_ ? batch.encoder_sequence_length : out_.sequence_length();
    ActivationRow row = {.name = "softmax",
                         .shape = "b a s s",
                         .cut = Cut::kTensor,
                         .width = CheckedInt(heads_) * keys,
                         .kept_for = "gradients of scores and values",
                         .source = source::kLayer};
    out_.Add(row);
    if (!batch.dropout) return;
    row.name = "dropped_softmax";
    row.kept_for = "gradient of values";
    out_.Add(row);
    row.name = "softmax_mask";
    row.kind = Kind::kMask;
    row.kept_for = "gradient of dropout";
    out_.Add(row);
  }

  void AddHeads(absl::string_view name, Kind kind, absl::string_view kept_for) {
    out_.Add({.name = name,
              .shape = "b s a v",
              .kind = kind,
              .cut = Cut::kTensor,
              .width = CheckedInt(heads_) * attention_.value_head_size,
              .kept_for = kept_for,
              .source = source::kLayer});
  }

  const AttentionSpec& attention_;
  const bool cross_;
  ActivationList& out_;
  const int64_t heads_;  // on this GPU
  // Ranks beyond the heads of keys and values hold a whole one each, be it a copy or gathered from
  // its parts.
  const int64_t key_heads_;
};

}  // namespace

void AddAttentionRows(const AttentionSpec& attention, bool cross, ActivationList& out) {
  AttentionRows rows(attention, cross, out);
  if (attention.latent.has_value()) rows.AddLatents(*attention.latent);
  rows.AddNormInputs();
  rows.AddOperands();
  rows.AddCore();
}

}  // namespace sextant
