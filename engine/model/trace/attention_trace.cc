#include <algorithm>
#include <iterator>

#include "engine/model/trace/attention_core_trace.h"
#include "engine/model/trace/layer_trace.h"

namespace sextant {
namespace {

using Site = ActivationSite;
using Element = TraceElement;

constexpr absl::string_view kQueryKeyValue[] = {"query", "key", "value", "output_gate"};
constexpr absl::string_view kQueryKey[] = {"query", "key", "output_gate"};
constexpr absl::string_view kGate[] = {"output_gate"};

class AttentionTrace {
 public:
  AttentionTrace(const LayerTraceParts& parts, const AttentionSpec& attention, bool cross)
      : parts_(parts),
        out_(parts.out),
        attention_(attention),
        cross_(cross),
        module_(cross ? "cross_attention" : "attention"),
        heads_(attention.head_count / out_.tensor_ranks()),
        key_heads_(std::max<int64_t>(attention.key_value_head_count / out_.tensor_ranks(), 1)),
        key_length_(cross ? out_.batch().encoder_sequence_length : out_.length()),
        query_(out_.Make(TokenRows::kAll, heads_ * attention.query_key_head_size)),
        key_(MakeKeys(attention.query_key_head_size)),
        projected_query_(has_head_norms()
                             ? out_.Make(TokenRows::kAll, heads_ * attention.query_key_head_size)
                             : query_),
        projected_key_(has_head_norms() ? MakeKeys(attention.query_key_head_size) : key_),
        value_(MakeKeys(attention.value_head_size)),
        heads_out_(out_.Make(TokenRows::kAll, heads_ * attention.value_head_size)) {
    out_.Enter(module_);
    if (!gated()) return;
    gate_ = out_.Make(TokenRows::kAll, OutputGateSize(attention) / out_.tensor_ranks());
  }

  uint8_t Add(uint8_t input) {
    if (attention_.latent.has_value()) {
      AddLatents(*attention_.latent, input);
    } else {
      AddProjections(input);
    }
    AddHeadNorms();
    AddRotary();
    AddAttentionCore({.parts = parts_,
                      .attention = attention_,
                      .cross = cross_,
                      .heads = heads_,
                      .key_value_heads = key_heads_,
                      .key_length = key_length_,
                      .key_tokens = key_tokens(),
                      .query = query_,
                      .key = key_,
                      .value = value_,
                      .output = heads_out_});
    AddOperandsAgain();
    return AddOutput(AddOutputGate());
  }

 private:
  bool Needs(Site site) const { return parts_.Needs(SiteIn(cross_, site)); }
  bool gated() const { return attention_.output_gate != OutputGate::kNone; }
  bool has_head_norms() const { return attention_.query_key_norm != QueryKeyNorm::kNone; }

  int64_t key_tokens() const {
    return out_.batch().sequence_count * key_length_ / out_.batch().context_parallel_size;
  }
  uint8_t MakeKeys(int64_t head_size) {
    return out_.MakeWhole(key_tokens() * key_heads_ * head_size);
  }

  void AddProjections(uint8_t input) {
    Projection projection = {
        .module = module_,
        .op = cross_ ? "query" : "query_key_value",
        .names = kQueryKeyValue,
        .split = MatrixSplit::kRows,
        .component = FlopsComponent::kAttentionQueryKeyValue,
        .input = input,
        .input_needs_gradient = Needs(Site::kAttentionInput),
        .keeps_computed = parts_.KeepsComputed(SiteIn(cross_, Site::kAttentionInput)),
        .outputs = {{projected_query_}}};
    if (cross_) {
      projection.names = projection.names.first(1);
    } else {
      if (attention_.values_are_keys) projection.names = kQueryKey;
      projection.outputs = {{projected_query_}, {projected_key_}};
      if (!attention_.values_are_keys) projection.outputs.Add({value_});
      if (gated()) projection.outputs.Add({gate_});
    }
    out_.AddProjection(projection);
    if (cross_) AddKeysOfEncoder(projection);
  }

  // Keys and values of cross attention multiply the encoder's output, which is kept once for all
  // layers.
  void AddKeysOfEncoder(Projection projection) {
    projection.op = "key_value";
    projection.names = absl::MakeConstSpan(kQueryKeyValue).subspan(1, 2);
    projection.input_needs_gradient = parts_.Needs(Site::kEncoderOutput);
    projection.keeps_computed = parts_.KeepsComputed(Site::kEncoderOutput);
    const ModelPart part = out_.part();
    out_.GoTo(ModelPart::kEncoder);
    projection.input = out_.Make(TokenRows::kSequence, out_.context().spec.hidden_size);
    out_.KeepElsewhere(projection.input);
    projection.outputs = {{projected_key_}, {value_}};
    out_.AddProjection(projection);
    out_.GoTo(part);
  }

  // Latents are whole on every tensor parallel rank; only their tokens are divided.
  void AddLatents(const LatentSpec& latent, uint8_t input) {
    if (gated()) AddGateOfLatent(input);
    uint8_t query_input = input;
    if (latent.query_rank > 0) {
      const uint8_t down = out_.Make(TokenRows::kSequence, latent.query_rank);
      AddDown("query_down", input, down);
      query_input = out_.Make(TokenRows::kSequence, latent.query_rank);
      out_.AddNorm({.name = "query_latent_norm",
                    .input = down,
                    .output = query_input,
                    .needed = Needs(Site::kQueryLatent)});
    }
    const uint8_t keys =
        out_.Make(TokenRows::kSequence, latent.key_value_rank + latent.rotary_size);
    AddDown("key_value_down", input, keys);
    const uint8_t normed = out_.Make(TokenRows::kSequence, latent.key_value_rank);
    out_.AddNorm({.name = "key_value_latent_norm",
                  .input = keys,
                  .output = normed,
                  .needed = Needs(Site::kKeyValueLatent)});
    const bool compressed = latent.query_rank > 0;
    query_up_ = Up(compressed ? "query_up" : "query", query_input,
                   compressed ? Site::kQueryLatent : Site::kAttentionInput, projected_query_);
    out_.AddProjection(query_up_);
    // Its output is split into keys and values; one tensor of both sizes stands for it.
    key_value_up_ = Up(
        "key_value_up", normed, Site::kKeyValueLatent,
        MakeKeys(attention_.query_key_head_size - latent.rotary_size + attention_.value_head_size));
    out_.AddProjection(key_value_up_);
    AddKeyAssembly(TracePass::kForward);
    if (!Needs(Site::kKey) && !Needs(Site::kValue)) return;
    const TraceOperands gradients = {{projected_key_, true}, {value_, true}};
    out_.Pass(TracePass::kInputGradient, "assemble_key", gradients, gradients);
  }

  void AddGateOfLatent(uint8_t input) {
    out_.AddProjection({.module = module_,
                        .op = "output_gate",
                        .names = kGate,
                        .split = MatrixSplit::kRows,
                        .component = FlopsComponent::kAttentionQueryKeyValue,
                        .input = input,
                        .input_needs_gradient = Needs(Site::kAttentionInput),
                        .keeps_computed = parts_.KeepsComputed(Site::kAttentionInput),
                        .outputs = {{gate_}}});
  }

  void AddDown(const absl::string_view& name, uint8_t input, uint8_t output) {
    out_.AddProjection({.module = module_,
                        .op = name,
                        .names = {&name, 1},
                        .component = FlopsComponent::kAttentionLatent,
                        .input = input,
                        .input_needs_gradient = Needs(Site::kAttentionInput),
                        .keeps_computed = parts_.KeepsComputed(Site::kAttentionInput),
                        .outputs = {{output}}});
  }

  Projection Up(absl::string_view name, uint8_t input, Site reads, uint8_t output) const {
    static constexpr absl::string_view kNames[] = {"query", "query_up", "key_value_up"};
    const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
    return {.module = module_,
            .op = name,
            .names = {found, 1},
            .split = MatrixSplit::kRows,
            .component = name == "query" ? FlopsComponent::kAttentionQueryKeyValue
                                         : FlopsComponent::kAttentionLatent,
            .input = input,
            .input_needs_gradient = Needs(reads),
            .keeps_computed = parts_.KeepsComputed(SiteIn(cross_, reads)),
            .outputs = {{output}}};
  }

  // Each head's key is its own part next to the rotary part that all heads share.
  void AddKeyAssembly(TracePass pass) {
    const TraceOperands both = {{projected_key_}, {value_}};
    out_.Pass(pass, "assemble_key", both, both).reads = key_value_up_.outputs;
  }

  // Queries, keys and values are computed again from their latents.
  void AddOperandsAgain() {
    if (!attention_.latent.has_value()) return;
    if (!out_.batch().recomputation.latent_up_projections || !Needs(Site::kHeads)) return;
    out_.AddInOrder([&] {
      out_.RepeatProjection(query_up_);
      out_.RepeatProjection(key_value_up_);
      AddKeyAssembly(TracePass::kRecompute);
      if (!has_head_norms()) return;
      out_.RowPass(TracePass::kRecompute, "head_norms", {}, {{query_}, {key_}});
    });
  }

  void AddHeadNorms() {
    if (!has_head_norms()) return;
    out_.AddNorm({"query_norm", projected_query_, query_, Needs(Site::kQuery)});
    out_.AddNorm({"key_norm", projected_key_, key_, Needs(Site::kKey)});
    if (!attention_.values_are_keys) return;
    out_.AddNorm({"value_norm", projected_key_, value_, Needs(Site::kValue)});
  }

  // Without a table of positions, positions are taken to be rotary.
  void AddRotary() {
    const ArchitectureSpec& spec = out_.context().spec;
    const StackSpec& stack = out_.part() == ModelPart::kEncoder ? spec.encoder : spec.decoder;
    if (cross_ || stack.learned_position_count > 0 || stack.relative_position_bucket_count > 0) {
      return;
    }
    // The positions of latent attention turn only a part of each head; keys are written with them.
    if (attention_.latent.has_value() && attention_.latent->rotary_size == 0) return;
    const TraceOperands turned =
        attention_.latent.has_value() ? TraceOperands{{query_}} : TraceOperands{{query_}, {key_}};
    TraceOperands gradients;
    for (const TraceOperand& operand : turned) gradients.Add({operand.tensor, true});
    out_.Pass(TracePass::kForward, "rotary", turned, turned);
    if (!Needs(Site::kQuery) && !Needs(Site::kKey)) return;
    out_.Pass(TracePass::kInputGradient, "rotary", gradients, gradients);
  }

  // Multiplies the heads by the sigmoid of a projection of attention's input. Returns the product.
  uint8_t AddOutputGate() {
    if (!gated()) return heads_out_;
    const uint8_t product = out_.Make(TokenRows::kAll, heads_ * attention_.value_head_size);
    out_.Pass(TracePass::kForward, "gate_heads", {{heads_out_}, {gate_}}, {{product}});
    if (Needs(Site::kHeads)) {
      out_.Pass(TracePass::kInputGradient, "gate_heads", {{heads_out_}, {gate_}, {product, true}},
                {{heads_out_, true}, {gate_, true}});
    }
    return product;
  }

  uint8_t AddOutput(uint8_t input) {
    const MicroBatchSpec& batch = out_.batch();
    const bool fused = batch.attention == AttentionKernel::kFlash;
    if (fused && batch.attention_output_copied && batch.sequence_count > 1) {
      const uint8_t heads = input;
      input = out_.Make(TokenRows::kAll, heads_ * attention_.value_head_size);
      out_.Pass(TracePass::kForward, "copy_heads", {{heads}}, {{input}});
    }
    const uint8_t output = out_.Make(TokenRows::kSequence, out_.context().spec.hidden_size);
    constexpr absl::string_view kOutput[] = {"output"};
    out_.AddProjection({.module = module_,
                        .op = "output",
                        .names = kOutput,
                        .split = MatrixSplit::kColumns,
                        .component = FlopsComponent::kAttentionOutput,
                        .input = input,
                        .input_needs_gradient = Needs(Site::kHeads),
                        .keeps_computed = parts_.KeepsComputed(SiteIn(cross_, Site::kHeads)),
                        .outputs = {{output}}});
    return output;
  }

  const LayerTraceParts& parts_;
  TraceBuilder& out_;
  const AttentionSpec& attention_;
  const bool cross_;
  const absl::string_view module_;
  const int64_t heads_;  // on this GPU
  const int64_t key_heads_;
  const int64_t key_length_;
  const uint8_t query_;
  const uint8_t key_;
  const uint8_t projected_query_;  // before the norms of heads
  const uint8_t projected_key_;
  const uint8_t value_;
  const uint8_t heads_out_;
  uint8_t gate_ = 0;
  Projection query_up_ = {};  // of latents
  Projection key_value_up_ = {};
};

}  // namespace

uint8_t AddAttentionTrace(const LayerTraceParts& parts, const AttentionSpec& attention, bool cross,
                          uint8_t input) {
  return AttentionTrace(parts, attention, cross).Add(input);
}

}  // namespace sextant
