// The gated delta net and Kimi delta attention: a state of d_k x d_v a head, S' = S (a - b k k') +
// b v k', whose decay a is one number a head or one a channel of its keys.
// Sources: Yang et al. 2024 (arXiv 2412.06464) section 3; Kimi Team 2025 (arXiv 2510.26692)
// section 3; kernels: fla-org/flash-linear-attention, fla/ops/gated_delta_rule/chunk.py @0315a70e
// and fla/ops/kda/chunk.py @0395eef1. docs/blocks.md, "Delta rules", has the counts.
#include <initializer_list>

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

// A delta rule's kernel saves these in addition to `more`. Queries and keys are normalised, and
// repeated for the heads of their group.
BlockCore Saving(const MixerSpec& mixer, std::initializer_list<SavedTensor> more) {
  BlockCore out = DeltaRule(mixer);
  const int64_t keys = mixer.head_count * mixer.state_size;
  out.saved = {{.name = "query", .shape = "b s n d", .width = keys},
               {.name = "key", .shape = "b s n d", .width = keys},
               {.name = "value", .shape = "b s n v", .width = MixerChannels(mixer)}};
  out.saved.insert(out.saved.end(), more.begin(), more.end());
  return out;
}

// The convolution of queries, keys and values, side by side.
BlockValueId Convolved(const MixerSpec& mixer, BlockValueId projected, BlockBuilder& out) {
  const BlockValueId convolved = out.Make("convolved", "convolved_gradient", "b s 2gd+nv",
                                          2 * MixerKeyChannels(mixer) + MixerChannels(mixer));
  out.Convolve(BlockStage::kBeforeCore, projected, convolved, mixer.convolution_size,
               mixer.convolution_bias);
  return convolved;
}

// The gated norm, with one weight for the channels of a head, and the output matrix.
void AddEnd(const MixerSpec& mixer, BlockValueId heads, BlockValueId gate, BlockBuilder& out) {
  const BlockValueId normed =
      out.Make("output_input", "output_input_gradient", "b s n v", MixerChannels(mixer));
  out.Norm(BlockStage::kAfterCore, {heads, gate}, normed,
           {.name = "gated_norm",
            .kind = BlockWeightKind::kNorm,
            .rows = mixer.head_size,
            .divided = false});
  out.ProjectOutput(normed, mixer.projection_bias);
}

// A number a channel: of a matrix, or of two with `rank` numbers between them.
struct ChannelMap {
  int64_t rank;
  int64_t channels;
  absl::string_view down;
  absl::string_view up;
  BlockValueId latent;
  BlockValueId value;
};

void ProjectChannels(BlockStage stage, const ChannelMap& map, BlockBuilder& out) {
  out.Project(stage, map.up, map.latent, {map.value}, {{.name = map.up, .rows = map.channels}});
}

// The matrices at the block's input come before those of the latents.
void AddChannelMaps(std::initializer_list<ChannelMap> maps, BlockBuilder& out) {
  for (const ChannelMap& map : maps) {
    if (map.rank == 0) {
      ProjectChannels(BlockStage::kInput, map, out);
      continue;
    }
    out.Project(BlockStage::kInput, map.down, out.input(), {map.latent},
                {{.name = map.down, .rows = map.rank}});
  }
  for (const ChannelMap& map : maps) {
    if (map.rank > 0) ProjectChannels(BlockStage::kUp, map, out);
  }
}

// The raw decays, one a channel, become decays in the kernel, as beta does.
void AddKimiCore(const MixerSpec& mixer, const BlockValueIds& reads, BlockValueId heads_out,
                 BlockBuilder& out) {
  const int64_t heads = mixer.head_count;
  const int64_t keys = MixerKeyChannels(mixer);
  BlockCore core = Saving(
      mixer, {{.name = "chunk_products", .shape = "b s n 2C", .width = 2 * heads * kDeltaChunk},
              {.name = "beta_sigmoid", .shape = "b s n", .width = heads},
              {.name = "norms", .shape = "b s 2n", .width = 2 * heads, .fp32 = true}});
  core.remade_width += 2 * keys;  // queries and keys times their decays
  out.Core(core, {.name = "delta_rule",
                  .reads = reads,
                  .writes = {heads_out},
                  .keeps = {reads[1], reads[2]},
                  .weights = {{.name = "decay", .kind = BlockWeightKind::kVector, .rows = heads},
                              {.name = "step", .kind = BlockWeightKind::kVector, .rows = keys}}});
}

}  // namespace

Block GatedDeltaNetBlock(const MixerSpec& mixer, int64_t hidden_size) {
  const int64_t heads = mixer.head_count;
  const int64_t values = MixerChannels(mixer);
  const int64_t mixed = 2 * MixerKeyChannels(mixer) + values;
  BlockBuilder out(MixerName(mixer.kind), hidden_size);
  const BlockValueId projected =
      out.Make("convolution_input", "convolution_input_gradient", "b s 2gd+nv", mixed);
  const BlockValueId gate = out.Make("gate", "gate_gradient", "b s n v", values);
  const BlockValueId decay = out.Make("beta_decay", "beta_decay_gradient", "b s 2n", 2 * heads);
  out.Project(BlockStage::kInput, "input", out.input(), {projected, gate, decay},
              {{.name = "query_key_value_gate", .rows = mixed + values},
               {.name = "beta_decay", .rows = 2 * heads}});
  const BlockValueId convolved = Convolved(mixer, projected, out);
  const BlockValueId heads_out = out.Make("heads", "heads_gradient", "b s n v", values);
  const BlockCore core = Saving(
      mixer, {{.name = "chunk_inverse", .shape = "b s n C", .width = heads * kDeltaChunk},
              {.name = "beta", .shape = "b s n", .width = heads},
              // Decays before and after their softplus and summed up, norms of queries and keys.
              {.name = "decays_norms", .shape = "b s 5n", .width = 5 * heads, .fp32 = true}});
  out.Core(core, {.name = "delta_rule",
                  .reads = {convolved, decay},
                  .writes = {heads_out},
                  .weights = {{.name = "decay", .kind = BlockWeightKind::kVector, .rows = heads},
                              {.name = "step", .kind = BlockWeightKind::kVector, .rows = heads}}});
  AddEnd(mixer, heads_out, gate, out);
  return out.Take();
}

Block KimiDeltaBlock(const MixerSpec& mixer, int64_t hidden_size) {
  const int64_t heads = mixer.head_count;
  const int64_t channels = MixerChannels(mixer);
  const int64_t keys = MixerKeyChannels(mixer);
  BlockBuilder out(MixerName(mixer.kind), hidden_size);
  const BlockValueId projected = out.Make("convolution_input", "convolution_input_gradient",
                                          "b s 2gd+nv", 2 * keys + channels);
  const BlockValueId beta = out.Make("beta", "beta_gradient", "b s n", heads);
  out.Project(BlockStage::kInput, "input", out.input(), {projected, beta},
              {{.name = "query", .rows = keys},
               {.name = "key", .rows = keys},
               {.name = "value", .rows = channels},
               {.name = "beta", .rows = heads}});
  const auto latent = [&out](absl::string_view name, absl::string_view gradient, int64_t rank) {
    return rank > 0 ? out.MakeWhole(name, gradient, "b s r", rank) : out.input();
  };
  const ChannelMap decay = {mixer.decay_rank,
                            keys,
                            "decay_down",
                            "decay_up",
                            latent("decay_latent", "decay_latent_gradient", mixer.decay_rank),
                            out.Make("decay", "decay_gradient", "b s n d", keys)};
  const ChannelMap gate = {mixer.gate_rank,
                           channels,
                           "gate_down",
                           "gate_up",
                           latent("gate_latent", "gate_latent_gradient", mixer.gate_rank),
                           out.Make("gate", "gate_gradient", "b s n v", channels)};
  AddChannelMaps({decay, gate}, out);
  const BlockValueId convolved = Convolved(mixer, projected, out);
  const BlockValueId heads_out = out.Make("heads", "heads_gradient", "b s n v", channels);
  AddKimiCore(mixer, {convolved, decay.value, beta}, heads_out, out);
  AddEnd(mixer, heads_out, gate.value, out);
  return out.Take();
}

}  // namespace sextant
