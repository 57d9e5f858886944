// Lightning attention: linear attention whose state of d_k x d_v a head decays by a fixed number.
// Sources: Qin et al. 2024 (arXiv 2401.04658) section 3; MiniMax 2025 (arXiv 2501.08313) section
// 2.2; huggingface/transformers, models/minimax/modeling_minimax.py, MiniMaxLightningAttention.
// docs/blocks.md, "Lightning attention".
#include "engine/model/block/mixer_block.h"

namespace sextant {
namespace {

constexpr int64_t kLightningBlock = 256;
constexpr int64_t kLightningStateBytes = 4;

// The update k v' and the product q S. By blocks of B tokens: Q K' and its product with V, Q S and
// the update; backward one product for each factor of these, and Q K' again.
BlockCore LightningCore(const MixerSpec& mixer) {
  const int64_t k = mixer.state_size;
  const int64_t v = mixer.head_size;
  BlockCore out = {.heads = mixer.head_count,
                   .groups = mixer.head_count,
                   .chunk = kLightningBlock,
                   .forward_flops = 4.0 * static_cast<double>(k * v * mixer.head_count),
                   .state_elements = k * v,
                   .state_bytes = kLightningStateBytes};
  out.products = {{.m = kLightningBlock, .n = kLightningBlock, .k = k, .forward = 1, .backward = 3},
                  {.m = kLightningBlock, .n = v, .k = kLightningBlock, .forward = 1, .backward = 2},
                  {.m = kLightningBlock, .n = v, .k = k, .forward = 2, .backward = 5}};
  return out;
}

}  // namespace

Block LightningBlock(const MixerSpec& mixer, int64_t hidden_size) {
  const int64_t channels = MixerChannels(mixer);
  const int64_t mixed = 2 * MixerKeyChannels(mixer) + channels;
  BlockBuilder out(MixerName(mixer.kind), hidden_size);
  const BlockValueId projected =
      out.Make("query_key_value", "query_key_value_gradient", "b s n 2d+v", mixed);
  const BlockValueId gate = out.Make("gate", "gate_gradient", "b s n v", channels);
  out.Project(BlockStage::kInput, "input", out.input(), {projected, gate},
              {{.name = "query_key_value", .rows = mixed, .bias = mixer.projection_bias},
               {.name = "output_gate", .rows = channels, .bias = mixer.projection_bias}});
  const BlockValueId activated = out.Make("activated", "activated_gradient", "b s n 2d+v", mixed);
  out.Multiply(BlockStage::kBeforeCore, "activation", {projected}, activated);
  const BlockValueId heads = out.Make("heads", "heads_gradient", "b s n v", channels);
  out.Core(
      LightningCore(mixer),
      {.name = "linear_attention", .reads = {activated}, .writes = {heads}, .keeps = {activated}});
  const BlockValueId normed = out.Make("normed", "normed_gradient", "b s n v", channels);
  out.Norm(BlockStage::kAfterCore, {heads}, normed,
           {.name = "output_norm", .kind = BlockWeightKind::kNorm, .rows = channels});
  const BlockValueId gated = out.Make("output_input", "output_input_gradient", "b s n v", channels);
  out.Multiply(BlockStage::kAfterCore, "gate", {normed, gate}, gated);
  out.ProjectOutput(gated, mixer.projection_bias);
  return out.Take();
}

}  // namespace sextant
