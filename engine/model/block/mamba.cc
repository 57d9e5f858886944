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

// By chunks of Q tokens: C B' of each group; its product with x, the state's update and C S of each
// head. Backward: those of the kernels named above.
BlockCore ScanCore(const MixerSpec& mixer, int64_t mixed) {
  const int64_t p = mixer.head_size;
  const int64_t n = mixer.state_size;
  const int64_t channels = MixerChannels(mixer);
  BlockCore out = {.heads = mixer.head_count,
                   .groups = mixer.group_count,
                   .chunk = kScanChunk,
                   .forward_flops = 4.0 * static_cast<double>(channels) * static_cast<double>(n),
                   .state_elements = n * p,
                   .state_bytes = kScanStateBytes,
                   .remade_width = mixed};
  out.products = {
      {.m = kScanChunk, .n = kScanChunk, .k = n, .forward = 1, .backward = 3, .by_group = true},
      {.m = kScanChunk, .n = p, .k = kScanChunk, .forward = 1, .backward = 3},
      {.m = kScanChunk, .n = p, .k = n, .forward = 2, .backward = 5}};
  out.saved = {{.name = "scan_output", .shape = "b s I", .width = channels}};
  return out;
}

// No products: 3 multiply-adds for each of N states of a channel.
BlockCore SelectiveScanCore(const MixerSpec& mixer) {
  const int64_t channels = MixerChannels(mixer);
  const int64_t states = channels * mixer.state_size;
  BlockCore out = {.heads = channels,
                   .groups = 1,
                   .chunk = kSelectiveChunk,
                   .forward_flops = 6.0 * static_cast<double>(states)};
  out.saved = {{.name = "scan_output", .shape = "b s I", .width = channels},
               {.name = "states",
                .shape = "b s/Q I 2N",
                .width = CeilDivide(2 * states, kSelectiveChunk),
                .fp32 = true}};
  return out;
}

BlockWeight Vector(absl::string_view name, int64_t rows) {
  return {.name = name, .kind = BlockWeightKind::kVector, .rows = rows};
}

// Step sizes, and B and C, which R + 2 N numbers a token are made into.
struct ScanParameters {
  BlockValueId step;
  BlockValueId keys;
};

ScanParameters AddParameters(const MixerSpec& mixer, BlockValueId convolved, BlockBuilder& out) {
  const int64_t rank = mixer.decay_rank;
  const int64_t keys = 2 * mixer.state_size;
  BlockValueId latent = out.MakeWhole("step_latent", "step_latent_gradient", "b s R", rank);
  BlockValueId states = out.MakeWhole("state_keys", "state_keys_gradient", "b s 2N", keys);
  out.Project(BlockStage::kBeforeCore, "parameters", convolved, {latent, states},
              {{.name = "parameters", .rows = rank + keys}});
  if (mixer.inner_norms) {
    const BlockValueId normed_latent =
        out.MakeWhole("step_latent_normed", "step_latent_normed_gradient", "b s R", rank);
    const BlockValueId normed_states =
        out.MakeWhole("state_keys_normed", "state_keys_normed_gradient", "b s 2N", keys);
    out.Norm(BlockStage::kBeforeCore, {latent}, normed_latent,
             {.name = "step_norm", .kind = BlockWeightKind::kNorm, .rows = rank});
    out.Norm(BlockStage::kBeforeCore, {states}, normed_states,
             {.name = "state_norm", .kind = BlockWeightKind::kNorm, .rows = keys});
    latent = normed_latent;
    states = normed_states;
  }
  const BlockValueId step = out.Make("step", "step_gradient", "b s I", MixerChannels(mixer));
  out.Project(BlockStage::kBeforeCore, "step", latent, {step},
              {{.name = "step", .rows = MixerChannels(mixer), .bias = true}});
  return {step, states};
}

}  // namespace

// One kernel convolves, scans and multiplies by the gate. It keeps what its input matrix made and
// the scan's output; the convolution, step sizes and states are computed again. The norm and the
// output matrix are kernels of their own, as Megatron-LM has them.
Block Mamba2Block(const MixerSpec& mixer, int64_t hidden_size) {
  const int64_t heads = mixer.head_count;
  const int64_t channels = MixerChannels(mixer);
  const int64_t mixed = channels + 2 * MixerKeyChannels(mixer);
  BlockBuilder out(MixerName(mixer.kind), hidden_size);
  const BlockValueId projected =
      out.Make("convolution_input", "convolution_input_gradient", "b s I+2gN", mixed);
  const BlockValueId gate = out.Make("gate", "gate_gradient", "b s I", channels);
  const BlockValueId step = out.Make("step", "step_gradient", "b s n", heads);
  out.Project(BlockStage::kInput, "input", out.input(), {projected, gate, step},
              {{.name = "input", .rows = mixed + channels + heads, .bias = mixer.projection_bias}});
  const BlockValueId convolved = out.Make("convolved", "convolved_gradient", "b s I+2gN", mixed);
  out.Convolve(BlockStage::kBeforeCore, projected, convolved, mixer.convolution_size,
               mixer.convolution_bias);
  BlockValueId gated = out.Make("gated", "gated_gradient", "b s I", channels);
  out.Core(ScanCore(mixer, mixed),
           {.name = "scan",
            .reads = {convolved, gate, step},
            .writes = {gated},
            .keeps = {gate, step},
            .weights = {Vector("decay", heads), Vector("skip", heads), Vector("step", heads)}});
  if (mixer.output_norm) {
    const BlockValueId normed =
        out.Make("output_input", "output_input_gradient", "b s I", channels);
    out.Norm(BlockStage::kAfterCore, {gated}, normed,
             {.name = "gated_norm", .kind = BlockWeightKind::kNorm, .rows = channels});
    gated = normed;
  }
  out.ProjectOutput(gated, mixer.projection_bias);
  return out.Take();
}

Block Mamba1Block(const MixerSpec& mixer, int64_t hidden_size) {
  const int64_t channels = MixerChannels(mixer);
  BlockBuilder out(MixerName(mixer.kind), hidden_size);
  const BlockValueId projected =
      out.Make("convolution_input", "convolution_input_gradient", "b s I", channels);
  const BlockValueId gate = out.Make("gate", "gate_gradient", "b s I", channels);
  out.Project(BlockStage::kInput, "input", out.input(), {projected, gate},
              {{.name = "input", .rows = 2 * channels, .bias = mixer.projection_bias}});
  const BlockValueId convolved = out.Make("convolved", "convolved_gradient", "b s I", channels);
  out.Convolve(BlockStage::kBeforeCore, projected, convolved, mixer.convolution_size,
               mixer.convolution_bias);
  const auto [step, keys] = AddParameters(mixer, convolved, out);
  const BlockValueId gated = out.Make("gated", "gated_gradient", "b s I", channels);
  out.Core(SelectiveScanCore(mixer),
           {.name = "scan",
            .reads = {convolved, gate, step, keys},
            .writes = {gated},
            .keeps = {convolved, gate, step, keys},
            .weights = {Vector("decay", channels * mixer.state_size), Vector("skip", channels)}});
  out.ProjectOutput(gated, mixer.projection_bias);
  return out.Take();
}

}  // namespace sextant
