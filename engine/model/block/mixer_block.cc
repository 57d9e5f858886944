#include "engine/model/block/mixer_block.h"

#include <cstddef>

namespace sextant {
namespace {

// By MixerKind, from the first one that is a kind.
constexpr MixerFacts kMixers[] = {
    {.name = "gated_delta_net", .program = GatedDeltaNetBlock},
    {.name = "kimi_delta",
     .program = KimiDeltaBlock,
     .heads = MixerHeads::kOwnKeys,
     .decay_rank = true,
     .gate_rank = true},
    {.name = "mamba2", .program = Mamba2Block, .output_norm = true},
    {.name = "mamba1",
     .program = Mamba1Block,
     .heads = MixerHeads::kChannels,
     .decay_rank = true,
     .decay_rank_required = true,
     .inner_norms = true},
    {.name = "short_convolution", .program = ShortConvolutionBlock, .heads = MixerHeads::kNone},
    {.name = "lightning_attention",
     .program = LightningBlock,
     .heads = MixerHeads::kOwnKeys,
     .convolution = false},
};

}  // namespace

const MixerFacts& FactsOf(MixerKind kind) { return kMixers[static_cast<size_t>(kind) - 1]; }

}  // namespace sextant
