// The kinds of mixers, a row and a program each.
#ifndef SEXTANT_ENGINE_MODEL_BLOCK_MIXER_BLOCK_H_
#define SEXTANT_ENGINE_MODEL_BLOCK_MIXER_BLOCK_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/model/block/block.h"
#include "engine/model/block/mixer_spec.h"

namespace sextant {

// How the heads of a kind have keys, and its channels are heads.
enum class MixerHeads {
  kNone,      // no state: its channels are hidden_size
  kGrouped,   // groups of heads share keys
  kOwnKeys,   // group_count is head_count
  kChannels,  // each channel is a head of 1, all in one group, and tensor parallel ranks hold all
};

// The facts of a kind of mixer: its name, its program, and the fields of MixerSpec that it has.
struct MixerFacts {
  absl::string_view name;  // "gated_delta_net": the module of its tensors
  Block (*program)(const MixerSpec& mixer, int64_t hidden_size);
  MixerHeads heads = MixerHeads::kGrouped;
  bool convolution = true;
  bool decay_rank = false;
  bool decay_rank_required = false;
  bool gate_rank = false;
  bool output_norm = false;
  bool inner_norms = false;
};

// `kind` is not kUnspecified.
const MixerFacts& FactsOf(MixerKind kind);

inline absl::string_view MixerName(MixerKind kind) { return FactsOf(kind).name; }
inline bool HasHeads(const MixerSpec& mixer) {
  return FactsOf(mixer.kind).heads != MixerHeads::kNone;
}

// The program of `mixer`, which has passed CheckLayer(), in a layer of `hidden_size`.
inline Block MixerBlock(const MixerSpec& mixer, int64_t hidden_size) {
  return FactsOf(mixer.kind).program(mixer, hidden_size);
}

// By kind, one file a family.
Block GatedDeltaNetBlock(const MixerSpec& mixer, int64_t hidden_size);
Block KimiDeltaBlock(const MixerSpec& mixer, int64_t hidden_size);
Block Mamba2Block(const MixerSpec& mixer, int64_t hidden_size);
Block Mamba1Block(const MixerSpec& mixer, int64_t hidden_size);
Block ShortConvolutionBlock(const MixerSpec& mixer, int64_t hidden_size);
Block LightningBlock(const MixerSpec& mixer, int64_t hidden_size);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_BLOCK_MIXER_BLOCK_H_
