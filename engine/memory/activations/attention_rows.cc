#include <algorithm>

#include "engine/memory/activations/layer_rows.h"

namespace sextant {
namespace {

using Cut = ActivationCut;
using Kind = ElementKind;
namespace source = activation_source;

// The rows of one attention; holds the data that they share.
class AttentionRows {
 public:
  AttentionRows(const AttentionSpec& attention, bool cross, ActivationList& out)
      : attention_(attention),
        cross_(cross),
        out_(out),
        heads_(attention.head_count / out.tensor_ranks()),
        key_heads_(std::max<int64_t>(attention.key_value_head_count / out.tensor_ranks(), 1)) {}

  // Latents are whole on every tensor parallel rank; only their tokens are divided.
  void AddLatents(const LatentSpec& latent) {
    if (latent.query_rank > 0) {
      AddLatent({.name = "query_latent",
                 .shape = "b s q",
                 .width = latent.query_rank,
                 .saved = out_.Saves("query_down"),
                 .kept_for = "gradient of the latent's norm"},
                ActivationSite::kQueryLatent);
      AddNormed({.name = "query_latent_normed",
                 .shape = "b s q",
                 .width = latent.query_rank,
                 .kept_for = "weight gradient of query_up"},
                ActivationSite::kQueryLatent);
    }
    AddLatent({.name = "key_value_latent",
               .shape = "b s r+r'",
               .width = latent.key_value_rank + latent.rotary_size,
               .saved = out_.Saves("key_value_down"),
               .kept_for = "gradient of the latent's norm"},
              ActivationSite::kKeyValueLatent);
    AddNormed({.name = "key_value_latent_normed",
               .shape = "b s r",
               .width = latent.key_value_rank,
               .kept_for = "weight gradient of key_value_up"},
              ActivationSite::kKeyValueLatent);
  }

  void AddNormInputs() {
    if (attention_.query_key_norm == QueryKeyNorm::kNone) return;
    const NormVariant given = attention_.query_key_norm_variant;
    const bool copies = CopiesNormInput(
        given == NormVariant::kUnspecified ? NormVariant::kRmsNorm : given, out_.batch());
    ActivationRow query = {.name = "query_norm_input",
                           .kind = copies ? Kind::kFp32 : Kind::kCompute,
                           .step = BackwardStep::kHeadNorms,
                           .saved = saves_query(),
                           .kept_for = "gradient of the query norm",
                           .source = source::kChainRule};
    ActivationRow key = query;
    key.name = "key_norm_input";
    key.saved = out_.Saves("key");
    key.shape = "b s g d";
    key.width = attention_.query_key_head_size;
    key.kept_for = "gradient of the key norm";
    if (Needs(ActivationSite::kQuery)) AddQuery(query);
    if (Needs(ActivationSite::kKey)) AddKeys(key);
    if (!copies || (out_.gradients() != nullptr && out_.gradients()->trained.empty())) return;
    query.kind = key.kind = Kind::kCompute;
    query.saved = key.saved = false;
    query.name = "query_normalised";
    key.name = "key_normalised";
    query.kept_for = key.kept_for = "gradient of the norm's weight";
    AddQuery(query);
    AddKeys(key);
  }

  // A causal mask, a window and grouped heads leave the core's operands whole.
  void AddOperands() {
    const bool again =
        attention_.latent.has_value() && out_.batch().recomputation.latent_up_projections;
    const bool normed = attention_.query_key_norm != QueryKeyNorm::kNone;
    ActivationRow row = {.name = "query",
                         .step = BackwardStep::kCore,
                         .again = again,
                         .saved = !normed && saves_query(),
                         .kept_for = "gradient of keys",
                         .source = source::kLayer};
    if (ReadsOperand(ActivationSite::kKey)) AddQuery(row);
    row.name = "key";
    row.shape = "b s g d";
    row.width = attention_.query_key_head_size;
    row.saved = !normed && out_.Saves("key");
    row.kept_for = "gradient of queries";
    if (ReadsOperand(ActivationSite::kQuery)) AddKeys(row, core_key_heads());
    row.name = "value";
    row.shape = "b s g v";
    row.width = attention_.value_head_size;
    row.step = flash() ? BackwardStep::kCore : BackwardStep::kValues;
    row.saved = out_.Saves("value");
    row.kept_for = "gradient of scores";
    if (ReadsOperand(ActivationSite::kScores)) AddKeys(row, core_key_heads());
    if (!attention_.latent.has_value() || !out_.Saves("key_value_up")) return;
    out_.AddSaved({.name = "key_value_up",
                   .shape = "b s a d-r'+v",
                   .cut = Cut::kTensor,
                   .width = CheckedInt(heads_) * UpSizeOf(*attention_.latent),
                   .step = BackwardStep::kCore});
  }

  void AddCore() {
    if (!flash()) {
      AddScores();
    } else if (Needs(ActivationSite::kHeads)) {
      out_.Add({.name = "softmax_statistics",
                .shape = "b a s",
                .kind = Kind::kFp32,
                .cut = Cut::kTensor,
                .width = heads_,
                .step = BackwardStep::kCore,
                .again = core_again(),
                .saved = true,
                .kept_for = "computing scores again in the fused backward",
                .source = source::kFlash});
      // Where the next matrix reads the same tensor, one tensor serves both.
      const bool copied =
          (out_.batch().attention_output_copied && out_.batch().sequence_count > 1) ||
          returns_heads();
      const bool shared =
          !gated() && !copied && out_.KeepsAsComputed(SiteIn(cross_, ActivationSite::kHeads));
      AddHeads({.name = "heads",
                .step = BackwardStep::kCore,
                .again = core_again() && !shared && !(gated() && !returns_heads()),
                .saved = true,
                .for_weights = shared,
                .kept_for = shared ? "gradient of scores, weight gradient of output"
                                   : "gradient of scores"});
      if (shared) {
        return out_.AddAdaptersOf(HeadsRow({.step = BackwardStep::kOutput}),
                                  SiteIn(cross_, ActivationSite::kHeads));
      }
    }
    AddGate();
    out_.AddMatmulInput(HeadsRow({.name = "output_input",
                                  .kind = Kind::kMatmulInput,
                                  .step = BackwardStep::kOutput,
                                  .kept_for = "weight gradient of output"}),
                        SiteIn(cross_, ActivationSite::kHeads));
  }

  // The output gradients of the matrices before the core.
  void AddOutputGradients() {
    const ActivationSite input =
        cross_ ? ActivationSite::kCrossInput : ActivationSite::kAttentionInput;
    if (gated()) {
      out_.AddOutputGradient({.name = "output_gate.output_gradient",
                              .shape = "b s g",
                              .cut = Cut::kTensor,
                              .width = OutputGateSize(attention_) / out_.tensor_ranks()},
                             input);
    }
    if (attention_.latent.has_value()) return AddLatentOutputGradients(*attention_.latent, input);
    const ActivationSite keys = cross_ ? ActivationSite::kEncoderOutput : input;
    AddQueryGradient(input);
    AddKeyGradient("key.output_gradient", "b s g d", attention_.query_key_head_size, keys);
    if (attention_.values_are_keys) return;
    AddKeyGradient("value.output_gradient", "b s g v", attention_.value_head_size, keys);
  }

 private:
  // Features of a head that the latent of keys and values makes.
  int64_t UpSizeOf(const LatentSpec& latent) const {
    return attention_.query_key_head_size - latent.rotary_size + attention_.value_head_size;
  }
  bool saves_query() const { return out_.Saves("query") || out_.Saves("query_up"); }
  bool gated() const { return attention_.output_gate != OutputGate::kNone; }
  bool flash() const { return out_.batch().attention == AttentionKernel::kFlash; }
  // True where the core's output is exchanged: the matrix after it, or the gate, reads another
  // tensor.
  bool returns_heads() const {
    return ExchangesHeads(out_.batch()) && !ExchangesOutputAgain(out_.batch());
  }
  bool core_again() const {
    return out_.batch().recomputation.policy == RecomputePolicy::kSelective;
  }
  // Heads of the keys and values that are kept for the core. Where its operands are exchanged once
  // more, those before the exchange are.
  int64_t core_key_heads() const {
    if (core_again() && ExchangesOutputAgain(out_.batch())) return key_heads_;
    return AttendedKeyHeads(attention_, out_.context().layout, out_.batch());
  }
  bool Needs(ActivationSite activation) const { return out_.Needs(SiteIn(cross_, activation)); }
  // A fused core saves all of its operands if any gradient is needed.
  bool ReadsOperand(ActivationSite gradient) const {
    return Needs(flash() ? ActivationSite::kHeads : gradient);
  }

  // The product of heads and gate, which the output matrix reads, has gradients for both. A fused
  // core keeps the heads for its own, unless the gate reads exchanged ones.
  void AddGate() {
    if (!gated() || !Needs(ActivationSite::kHeads)) return;
    out_.Add({.name = "output_gate",
              .shape = "b s g",
              .cut = Cut::kTensor,
              .width = OutputGateSize(attention_) / out_.tensor_ranks(),
              .step = BackwardStep::kOutput,
              .kept_for = "gradient of heads",
              .source = source::kChainRule});
    if (!flash() || returns_heads()) {
      AddHeads(
          {.name = "heads", .step = BackwardStep::kOutput, .kept_for = "gradient of the gate"});
    }
  }

  void AddQueryGradient(ActivationSite read) {
    out_.AddOutputGradient({.name = "query.output_gradient",
                            .shape = "b s a d",
                            .cut = Cut::kTensor,
                            .width = CheckedInt(heads_) * attention_.query_key_head_size},
                           read);
  }

  void AddKeyGradient(absl::string_view name, absl::string_view shape, int64_t head_size,
                      ActivationSite read) {
    if (!out_.WaitsFor(read)) return;
    AddKeys(ActivationList::OutputGradient({.name = name, .shape = shape, .width = head_size}));
  }

  void AddLatentOutputGradients(const LatentSpec& latent, ActivationSite input) {
    if (latent.query_rank > 0) {
      out_.AddOutputGradient(
          {.name = "query_down.output_gradient", .shape = "b s q", .width = latent.query_rank},
          input);
    }
    AddQueryGradient(latent.query_rank > 0 ? ActivationSite::kQueryLatent : input);
    out_.AddOutputGradient({.name = "key_value_down.output_gradient",
                            .shape = "b s r+r'",
                            .width = latent.key_value_rank + latent.rotary_size},
                           input);
    out_.AddOutputGradient({.name = "key_value_up.output_gradient",
                            .shape = "b s a d-r'+v",
                            .cut = Cut::kTensor,
                            .width = CheckedInt(heads_) * UpSizeOf(latent)},
                           ActivationSite::kKeyValueLatent);
  }

  void AddLatent(ActivationRow row, ActivationSite latent) {
    if (!out_.Needs(latent)) return;
    row.step = BackwardStep::kLatentNorms;
    row.source = source::kLatent;
    out_.Add(row);
  }

  void AddNormed(ActivationRow row, ActivationSite latent) {
    row.kind = Kind::kMatmulInput;
    row.step = BackwardStep::kUp;
    row.source = source::kLatent;
    out_.AddMatmulInput(row, latent);
  }

  void AddQuery(ActivationRow row) {
    row.shape = "b s a d";
    row.cut = Cut::kTensor;
    row.width = CheckedInt(heads_) * attention_.query_key_head_size;
    out_.Add(row);
  }

  // `row.width` is that of one head.
  void AddKeys(const ActivationRow& row) { AddKeys(row, key_heads_); }
  void AddKeys(ActivationRow row, int64_t heads) {
    row.cut = Cut::kTensor;
    row.width = row.width * heads;
    if (!cross_) return out_.Add(row);
    row.width = row.width * TokensOf(out_.context(), ModelPart::kEncoder);
    out_.AddWhole(row);
  }

  // Masked scores are computed and kept, too: an unfused kernel has the whole square. A softmax in
  // fp32 is kept for its own gradient, and its cast for the values'.
  void AddScores() {
    const MicroBatchSpec& batch = out_.batch();
    const int64_t keys = cross_ ? batch.encoder_sequence_length : out_.sequence_length();
    ActivationRow row = {.name = "softmax",
                         .shape = "b a s s",
                         .cut = Cut::kTensor,
                         .width = CheckedInt(heads_) * keys,
                         .step = BackwardStep::kCore,
                         .again = core_again(),
                         .kept_for = "gradients of scores and values",
                         .source = source::kLayer};
    const bool scores = Needs(ActivationSite::kScores);
    const bool values = Needs(ActivationSite::kValue);
    const bool wide = WidensSoftmax(batch);
    if (wide) row.kind = Kind::kFp32;
    if (scores || (values && !batch.dropout && !wide)) out_.Add(row);
    if (!batch.dropout && !wide) return;
    row.name = batch.dropout ? "dropped_softmax" : "cast_softmax";
    row.kind = Kind::kCompute;
    row.step = BackwardStep::kValues;
    row.kept_for = "gradient of values";
    if (values) out_.Add(row);
    if (!batch.dropout) return;
    row.name = "softmax_mask";
    row.step = BackwardStep::kCore;
    row.kind = Kind::kMask;
    row.kept_for = "gradient of dropout";
    if (scores) out_.Add(row);
  }

  ActivationRow HeadsRow(ActivationRow row) const {
    row.shape = "b s a v";
    row.of_core = true;
    row.cut = Cut::kTensor;
    row.width = CheckedInt(heads_) * attention_.value_head_size;
    row.source = source::kLayer;
    return row;
  }
  void AddHeads(const ActivationRow& row) { out_.Add(HeadsRow(row)); }

  const AttentionSpec& attention_;
  const bool cross_;
  ActivationList& out_;
  const int64_t heads_;  // on this GPU
  // With more ranks than key and value heads, each rank holds a whole head, either as a copy or
  // gathered from its parts.
  const int64_t key_heads_;
};

}  // namespace

void AddAttentionRows(const AttentionSpec& attention, bool cross, ActivationList& out) {
  AttentionRows rows(attention, cross, out);
  if (attention.latent.has_value()) rows.AddLatents(*attention.latent);
  rows.AddNormInputs();
  rows.AddOperands();
  rows.AddCore();
  out.AddSavedOutput("output");
  if (out.WaitsFor(MatmulUse())) rows.AddOutputGradients();
}

}  // namespace sextant
