// State-space layers. Mamba-2: a state of N x p a head of p channels, decayed by one number a head
// and token. Mamba-1: a state of N a channel.
// Sources: Dao, Gu 2024 (arXiv 2405.21060) section 6; Gu, Dao 2023 (arXiv 2312.00752) section 3;
// kernels: state-spaces/mamba, mamba_ssm/ops/triton/ssd_combined.py @01b717ae; modules:
// NVIDIA/Megatron-LM, megatron/core/ssm/mamba_mixer.py @00bebb45. docs/blocks.md, "State spaces".
#include "engine/base/checked_math.h"
#include "engine/model/block/mixer_block.h"

namespace sextant {
namespace {

constexpr int64_t kScanChunk = 256;        // mamba_ssm's chunk_size of Mamba2
constexpr int64_t kSelectiveChunk = 2048;  // of selective_scan's kernel
constexpr int64_t kScanStateBytes = 4;

}  // namespace

// One kernel convolves, scans and multiplies by the gate. It keeps what its input matrix made and
// the scan's output; the convolution, step sizes and states are computed again. The norm and the
// output matrix are kernels of their own, as Megatron-LM has them.
Block Mamba2Block(const MixerSpec& mixer, int64_t hidden_size) {
  const int64_t heads = mixer.head_count;
  const int64_t channels = MixerChannels(mixer);
  const int64_t keys = MixerKeyChannels(mixer);
  const int64_t mixed = channels + 2 * keys;
  const int64_t p = mixer.head_size;
  const int64_t n = mixer.state_size;
  BlockBuilder out(MixerName(mixer.kind), hidden_size);
  const BlockValueId projected = out.Make({.name = "convolution_input",
                                           .gradient = "convolution_input_gradient",
                                           .shape = "b s I+2gN",
                                           .width = mixed});
  const BlockValueId gate =
      out.Make({.name = "gate", .gradient = "gate_gradient", .shape = "b s I", .width = channels});
  const BlockValueId step =
      out.Make({.name = "step", .gradient = "step_gradient", .shape = "b s n", .width = heads});
  out.Project(BlockStage::kInput, "input", out.input(), {projected, gate, step},
              {{.name = "input", .rows = mixed + channels + heads, .bias = mixer.projection_bias}});
  const BlockValueId convolved = out.Make({.name = "convolved",
                                           .gradient = "convolved_gradient",
                                           .shape = "b s I+2gN",
                                           .width = mixed});
  out.Convolve(BlockStage::kBeforeCore, projected, convolved, mixer.convolution_size,
               mixer.convolution_bias);
  BlockValueId gated = out.Make(
      {.name = "gated", .gradient = "gated_gradient", .shape = "b s I", .width = channels});
  // By chunks of Q tokens: C B' of each group; its product with x, the state's update and C S of
  // each head. Backward: those of the kernels named above.
  BlockCore core = {.heads = heads,
                    .groups = mixer.group_count,
                    .chunk = kScanChunk,
                    .forward_flops = 4.0 * static_cast<double>(channels) * static_cast<double>(n),
                    .state_elements = n * p,
                    .state_bytes = kScanStateBytes,
                    .remade_width = mixed};
  core.products = {
      {.m = kScanChunk, .n = kScanChunk, .k = n, .forward = 1, .backward = 3, .by_group = true},
      {.m = kScanChunk, .n = p, .k = kScanChunk, .forward = 1, .backward = 3},
      {.m = kScanChunk, .n = p, .k = n, .forward = 2, .backward = 5}};
  core.saved = {{.name = "scan_output", .shape = "b s I", .width = channels}};
  out.Core(core, {.name = "scan",
                  .reads = {convolved, gate, step},
                  .writes = {gated},
                  .keeps = {gate, step},
                  .weights = {{.name = "decay", .kind = BlockWeightKind::kVector, .rows = heads},
                              {.name = "skip", .kind = BlockWeightKind::kVector, .rows = heads},
                              {.name = "step", .kind = BlockWeightKind::kVector, .rows = heads}}});
  if (mixer.output_norm) {
    const BlockValueId normed = out.Make({.name = "output_input",
                                          .gradient = "output_input_gradient",
                                          .shape = "b s I",
                                          .width = channels});
    out.Norm(BlockStage::kAfterCore, {gated}, normed,
             {.name = "gated_norm", .kind = BlockWeightKind::kNorm, .rows = channels});
    gated = normed;
  }
  out.ProjectOutput(gated, mixer.projection_bias);
  return out.Take();
}

// Step sizes, B and C are made of the convolved channels, through R + 2 N numbers a token.
Block Mamba1Block(const MixerSpec& mixer, int64_t hidden_size) {
  const int64_t channels = MixerChannels(mixer);
  const int64_t n = mixer.state_size;
  const int64_t rank = mixer.decay_rank;
  BlockBuilder out(MixerName(mixer.kind), hidden_size);
  const BlockValueId projected = out.Make({.name = "convolution_input",
                                           .gradient = "convolution_input_gradient",
                                           .shape = "b s I",
                                           .width = channels});
  const BlockValueId gate =
      out.Make({.name = "gate", .gradient = "gate_gradient", .shape = "b s I", .width = channels});
  out.Project(BlockStage::kInput, "input", out.input(), {projected, gate},
              {{.name = "input", .rows = 2 * channels, .bias = mixer.projection_bias}});
  const BlockValueId convolved = out.Make(
      {.name = "convolved", .gradient = "convolved_gradient", .shape = "b s I", .width = channels});
  out.Convolve(BlockStage::kBeforeCore, projected, convolved, mixer.convolution_size,
               mixer.convolution_bias);
  BlockValueId latent = out.Make({.name = "step_latent",
                                  .gradient = "step_latent_gradient",
                                  .shape = "b s R",
                                  .width = rank,
                                  .divided = false});
  BlockValueId keys = out.Make({.name = "state_keys",
                                .gradient = "state_keys_gradient",
                                .shape = "b s 2N",
                                .width = 2 * n,
                                .divided = false});
  out.Project(BlockStage::kBeforeCore, "parameters", convolved, {latent, keys},
              {{.name = "parameters", .rows = rank + 2 * n}});
  if (mixer.inner_norms) {
    const BlockValueId normed_latent = out.Make({.name = "step_latent_normed",
                                                 .gradient = "step_latent_normed_gradient",
                                                 .shape = "b s R",
                                                 .width = rank,
                                                 .divided = false});
    const BlockValueId normed_keys = out.Make({.name = "state_keys_normed",
                                               .gradient = "state_keys_normed_gradient",
                                               .shape = "b s 2N",
                                               .width = 2 * n,
                                               .divided = false});
    out.Norm(BlockStage::kBeforeCore, {latent}, normed_latent,
             {.name = "step_norm", .kind = BlockWeightKind::kNorm, .rows = rank});
    out.Norm(BlockStage::kBeforeCore, {keys}, normed_keys,
             {.name = "state_norm", .kind = BlockWeightKind::kNorm, .rows = 2 * n});
    latent = normed_latent;
    keys = normed_keys;
  }
  const BlockValueId step =
      out.Make({.name = "step", .gradient = "step_gradient", .shape = "b s I", .width = channels});
  out.Project(BlockStage::kBeforeCore, "step", latent, {step},
              {{.name = "step", .rows = channels, .bias = true}});
  const BlockValueId gated = out.Make(
      {.name = "gated", .gradient = "gated_gradient", .shape = "b s I", .width = channels});
  // No products: 3 multiply-adds for each of N states of a channel.
  BlockCore core = {.heads = channels,
                    .groups = 1,
                    .chunk = kSelectiveChunk,
                    .forward_flops = 6.0 * static_cast<double>(channels) * static_cast<double>(n)};
  core.saved = {{.name = "scan_output", .shape = "b s I", .width = channels},
                {.name = "states",
                 .shape = "b s/Q I 2N",
                 .width = CeilDivide(channels * 2 * n, kSelectiveChunk),
                 .fp32 = true}};
  out.Core(core,
           {.name = "scan",
            .reads = {convolved, gate, step, keys},
            .writes = {gated},
            .keeps = {convolved, gate, step, keys},
            .weights = {{.name = "decay", .kind = BlockWeightKind::kVector, .rows = channels * n},
                        {.name = "skip", .kind = BlockWeightKind::kVector, .rows = channels}}});
  out.ProjectOutput(gated, mixer.projection_bias);
  return out.Take();
}

}  // namespace sextant
