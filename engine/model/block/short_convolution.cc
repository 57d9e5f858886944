// A gated short convolution: y = C conv(B x), with B, C and x of hidden_size channels.
// Source: Liquid AI 2025 (arXiv 2511.23404) section 2; huggingface/transformers,
// models/lfm2/modeling_lfm2.py, Lfm2ShortConv. docs/blocks.md, "Short convolution".
#include "engine/model/block/mixer_block.h"

namespace sextant {

Block ShortConvolutionBlock(const MixerSpec& mixer, int64_t hidden_size) {
  BlockBuilder out(MixerName(MixerKind::kShortConvolution), hidden_size);
  const auto make = [&](absl::string_view name, absl::string_view gradient) {
    return out.Make(name, gradient, "b s h", hidden_size);
  };
  const BlockValueId before = make("before_gate", "before_gate_gradient");
  const BlockValueId after = make("after_gate", "after_gate_gradient");
  const BlockValueId x = make("gated", "gated_gradient");
  out.Project(BlockStage::kInput, "input", out.input(), {before, after, x},
              {{.name = "input", .rows = 3 * hidden_size, .bias = mixer.projection_bias}});
  const BlockValueId multiplied = make("convolution_input", "convolution_input_gradient");
  out.Multiply(BlockStage::kBeforeCore, "gate_before", {before, x}, multiplied);
  const BlockValueId convolved = make("convolved", "convolved_gradient");
  out.Convolve(BlockStage::kCore, multiplied, convolved, mixer.convolution_size,
               mixer.convolution_bias);
  const BlockValueId gated = make("output_input", "output_input_gradient");
  out.Multiply(BlockStage::kAfterCore, "gate_after", {after, convolved}, gated);
  out.ProjectOutput(gated, mixer.projection_bias);
  return out.Take();
}

}  // namespace sextant
