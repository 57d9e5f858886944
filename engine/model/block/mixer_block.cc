#include "engine/model/block/mixer_block.h"

#include <cstddef>

namespace sextant {

Block MixerBlock(const MixerSpec& mixer, int64_t hidden_size) {
  switch (mixer.kind) {
    case MixerKind::kGatedDeltaNet:
      return GatedDeltaNetBlock(mixer, hidden_size);
    case MixerKind::kKimiDelta:
      return KimiDeltaBlock(mixer, hidden_size);
    case MixerKind::kMamba2:
      return Mamba2Block(mixer, hidden_size);
    case MixerKind::kMamba1:
      return Mamba1Block(mixer, hidden_size);
    case MixerKind::kShortConvolution:
    case MixerKind::kUnspecified:  // not reached: CheckMixer() refuses it
      return ShortConvolutionBlock(mixer, hidden_size);
  }
  return {};
}

absl::string_view MixerName(MixerKind kind) {
  constexpr absl::string_view kNames[] = {"",        "gated_delta_net", "kimi_delta",
                                          "mamba_2", "mamba_1",         "short_convolution"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace sextant
