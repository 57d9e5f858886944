// The gated delta net and Kimi delta attention: a state of d_k x d_v a head, S' = S (a - b k k') +
// b v k', whose decay a is one number a head or one a channel of its keys.
// Sources: Yang et al. 2024 (arXiv 2412.06464) section 3; Kimi Team 2025 (arXiv 2510.26692)
// section 3; kernels: fla-org/flash-linear-attention, fla/ops/gated_delta_rule/chunk.py @0315a70e
// and fla/ops/kda/chunk.py @0395eef1. docs/blocks.md, "Delta rules", has the counts.
#include "engine/model/block/mixer_block.h"

namespace sextant {
namespace {

constexpr int64_t kDeltaChunk = 64;      // of both kernels
constexpr int64_t kDeltaStateBytes = 2;  // the kernels refuse fp32

// The recurrence has three products of a d_k x d_v state: S k, the update, S q. By chunks of C
// tokens: K K', A K, Q K' of [C, d_k]; A V, P V of [C, d_v]; three of the state; and the inverse of
// a triangle, [C, C].
BlockCore DeltaRule(const MixerSpec& mixer) {
  const int64_t k = mixer.state_size;
  const int64_t v = mixer.head_size;
  BlockCore out = {.heads = mixer.head_count,
                   .groups = mixer.head_count,
                   .chunk = kDeltaChunk,
                   .forward_flops = 6.0 * static_cast<double>(k) * static_cast<double>(v) *
                                    static_cast<double>(mixer.head_count),
                   .state_elements = k * v,
                   .state_bytes = kDeltaStateBytes,
                   // w, u and new values, gradients of w and u, of queries, keys and values.
                   .remade_width = mixer.head_count * (4 * k + 4 * v)};
  out.products = {
      {.m = kDeltaChunk, .n = kDeltaChunk, .k = k, .forward = 3, .backward = 8},
      {.m = kDeltaChunk, .n = v, .k = kDeltaChunk, .forward = 2, .backward = 5},
      {.m = kDeltaChunk, .n = v, .k = k, .forward = 3, .backward = 9},
      {.m = kDeltaChunk, .n = kDeltaChunk, .k = kDeltaChunk, .forward = 1, .backward = 2}};
  return out;
}

}  // namespace

Block GatedDeltaNetBlock(const MixerSpec& mixer, int64_t hidden_size) {
  const int64_t heads = mixer.head_count;
  const int64_t keys = MixerKeyChannels(mixer);
  const int64_t values = MixerChannels(mixer);
  const int64_t mixed = 2 * keys + values;
  BlockBuilder out(MixerName(mixer.kind), hidden_size);
  const BlockValueId projected = out.Make({.name = "convolution_input",
                                           .gradient = "convolution_input_gradient",
                                           .shape = "b s 2gd+nv",
                                           .width = mixed});
  const BlockValueId gate =
      out.Make({.name = "gate", .gradient = "gate_gradient", .shape = "b s n v", .width = values});
  const BlockValueId decay = out.Make({.name = "beta_decay",
                                       .gradient = "beta_decay_gradient",
                                       .shape = "b s 2n",
                                       .width = 2 * heads});
  out.Project(BlockStage::kInput, "input", out.input(), {projected, gate, decay},
              {{.name = "query_key_value_gate", .rows = mixed + values},
               {.name = "beta_decay", .rows = 2 * heads}});
  const BlockValueId convolved = out.Make({.name = "convolved",
                                           .gradient = "convolved_gradient",
                                           .shape = "b s 2gd+nv",
                                           .width = mixed});
  out.Convolve(BlockStage::kBeforeCore, projected, convolved, mixer.convolution_size,
               mixer.convolution_bias);
  const BlockValueId heads_out = out.Make(
      {.name = "heads", .gradient = "heads_gradient", .shape = "b s n v", .width = values});
  BlockCore core = DeltaRule(mixer);
  // Queries and keys are normalised and repeated for the heads of their group.
  core.saved = {{.name = "query", .shape = "b s n d", .width = heads * mixer.state_size},
                {.name = "key", .shape = "b s n d", .width = heads * mixer.state_size},
                {.name = "value", .shape = "b s n v", .width = values},
                {.name = "chunk_inverse", .shape = "b s n C", .width = heads * kDeltaChunk},
                {.name = "beta", .shape = "b s n", .width = heads},
                // Decays before and after their softplus and summed up, norms of queries and keys.
                {.name = "decays_norms", .shape = "b s 5n", .width = 5 * heads, .fp32 = true}};
  out.Core(core, {.name = "delta_rule",
                  .reads = {convolved, decay},
                  .writes = {heads_out},
                  .weights = {{.name = "decay", .kind = BlockWeightKind::kVector, .rows = heads},
                              {.name = "step", .kind = BlockWeightKind::kVector, .rows = heads}}});
  const BlockValueId normed = out.Make({.name = "output_input",
                                        .gradient = "output_input_gradient",
                                        .shape = "b s n v",
                                        .width = values});
  out.Norm(BlockStage::kAfterCore, {heads_out, gate}, normed,
           {.name = "gated_norm",
            .kind = BlockWeightKind::kNorm,
            .rows = mixer.head_size,
            .divided = false});
  out.ProjectOutput(normed, mixer.projection_bias);
  return out.Take();
}

namespace {

// A number a channel: of a matrix, or of two with `rank` numbers between them.
class ChannelMap {
 public:
  ChannelMap(BlockBuilder& out, int64_t rank, const BlockValue& latent, const BlockValue& value)
      : out_(out),
        rank_(rank),
        latent_(rank > 0 ? out.Make(latent) : out.input()),
        value_(out.Make(value)) {}

  BlockValueId value() const { return value_; }

  // The matrices at the block's input come first.
  void ProjectInput(absl::string_view down, absl::string_view up, int64_t channels) {
    if (rank_ == 0) return Project(BlockStage::kInput, up, channels);
    out_.Project(BlockStage::kInput, down, out_.input(), {latent_},
                 {{.name = down, .rows = rank_}});
  }
  void ProjectUp(absl::string_view up, int64_t channels) {
    if (rank_ > 0) Project(BlockStage::kUp, up, channels);
  }

 private:
  void Project(BlockStage stage, absl::string_view name, int64_t channels) {
    out_.Project(stage, name, latent_, {value_}, {{.name = name, .rows = channels}});
  }

  BlockBuilder& out_;
  const int64_t rank_;
  const BlockValueId latent_;
  const BlockValueId value_;
};

}  // namespace

Block KimiDeltaBlock(const MixerSpec& mixer, int64_t hidden_size) {
  const int64_t heads = mixer.head_count;
  const int64_t channels = MixerChannels(mixer);
  const int64_t keys = MixerKeyChannels(mixer);
  const int64_t mixed = 2 * keys + channels;
  BlockBuilder out(MixerName(mixer.kind), hidden_size);
  const BlockValueId projected = out.Make({.name = "convolution_input",
                                           .gradient = "convolution_input_gradient",
                                           .shape = "b s 3nd",
                                           .width = mixed});
  const BlockValueId beta =
      out.Make({.name = "beta", .gradient = "beta_gradient", .shape = "b s n", .width = heads});
  out.Project(BlockStage::kInput, "input", out.input(), {projected, beta},
              {{.name = "query", .rows = keys},
               {.name = "key", .rows = keys},
               {.name = "value", .rows = channels},
               {.name = "beta", .rows = heads}});
  ChannelMap decay(out, mixer.decay_rank,
                   {.name = "decay_latent",
                    .gradient = "decay_latent_gradient",
                    .shape = "b s r",
                    .width = mixer.decay_rank,
                    .divided = false},
                   {.name = "decay",
                    .gradient = "decay_gradient",
                    .shape = "b s n d",
                    .width = heads * mixer.state_size});
  ChannelMap gate(
      out, mixer.gate_rank,
      {.name = "gate_latent",
       .gradient = "gate_latent_gradient",
       .shape = "b s r",
       .width = mixer.gate_rank,
       .divided = false},
      {.name = "gate", .gradient = "gate_gradient", .shape = "b s n v", .width = channels});
  decay.ProjectInput("decay_down", "decay_up", heads * mixer.state_size);
  gate.ProjectInput("gate_down", "gate_up", channels);
  decay.ProjectUp("decay_up", heads * mixer.state_size);
  gate.ProjectUp("gate_up", channels);
  const BlockValueId convolved = out.Make(
      {.name = "convolved", .gradient = "convolved_gradient", .shape = "b s 3nd", .width = mixed});
  out.Convolve(BlockStage::kBeforeCore, projected, convolved, mixer.convolution_size,
               mixer.convolution_bias);
  const BlockValueId heads_out = out.Make(
      {.name = "heads", .gradient = "heads_gradient", .shape = "b s n v", .width = channels});
  BlockCore core = DeltaRule(mixer);
  core.remade_width += heads * mixer.state_size * 2;  // queries and keys times their decays
  core.saved = {{.name = "query", .shape = "b s n d", .width = keys},
                {.name = "key", .shape = "b s n d", .width = keys},
                {.name = "value", .shape = "b s n v", .width = channels},
                {.name = "chunk_products", .shape = "b s n 2C", .width = 2 * heads * kDeltaChunk},
                {.name = "beta_sigmoid", .shape = "b s n", .width = heads},
                {.name = "norms", .shape = "b s 2n", .width = 2 * heads, .fp32 = true}};
  out.Core(
      core,
      {.name = "delta_rule",
       .reads = {convolved, decay.value(), beta},
       .writes = {heads_out},
       .keeps = {decay.value(), beta},
       .weights = {
           {.name = "decay", .kind = BlockWeightKind::kVector, .rows = heads},
           {.name = "step", .kind = BlockWeightKind::kVector, .rows = heads * mixer.state_size}}});
  const BlockValueId normed = out.Make({.name = "output_input",
                                        .gradient = "output_input_gradient",
                                        .shape = "b s n v",
                                        .width = channels});
  out.Norm(BlockStage::kAfterCore, {heads_out, gate.value()}, normed,
           {.name = "gated_norm",
            .kind = BlockWeightKind::kNorm,
            .rows = mixer.head_size,
            .divided = false});
  out.ProjectOutput(normed, mixer.projection_bias);
  return out.Take();
}

}  // namespace sextant
