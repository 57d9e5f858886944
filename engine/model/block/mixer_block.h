// The programs of mixers, one file a family.
#ifndef SEXTANT_ENGINE_MODEL_BLOCK_MIXER_BLOCK_H_
#define SEXTANT_ENGINE_MODEL_BLOCK_MIXER_BLOCK_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/model/block/block.h"
#include "engine/model/block/mixer_spec.h"

namespace sextant {

// The program of `mixer`, which has passed CheckMixer(), in a layer of `hidden_size`.
Block MixerBlock(const MixerSpec& mixer, int64_t hidden_size);

// "gated_delta_net", "kimi_delta", "mamba_2", "mamba_1", "short_convolution": the module of its
// tensors.
absl::string_view MixerName(MixerKind kind);

// By kind; MixerBlock() chooses among them.
Block GatedDeltaNetBlock(const MixerSpec& mixer, int64_t hidden_size);
Block KimiDeltaBlock(const MixerSpec& mixer, int64_t hidden_size);
Block Mamba2Block(const MixerSpec& mixer, int64_t hidden_size);
Block Mamba1Block(const MixerSpec& mixer, int64_t hidden_size);
Block ShortConvolutionBlock(const MixerSpec& mixer, int64_t hidden_size);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_BLOCK_MIXER_BLOCK_H_
