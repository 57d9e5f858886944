// A mixer: a branch of a layer that carries information from token to token through a state of
// fixed size, or by a short convolution, in place of attention or in parallel with it.
#ifndef SEXTANT_ENGINE_MODEL_BLOCK_MIXER_SPEC_H_
#define SEXTANT_ENGINE_MODEL_BLOCK_MIXER_SPEC_H_

#include <cstdint>

namespace sextant {

enum class MixerKind {
  kUnspecified,
  kGatedDeltaNet,     // Yang et al. 2024 (arXiv 2412.06464); Qwen3-Next
  kKimiDelta,         // Kimi Team 2025 (arXiv 2510.26692); Kimi Linear
  kMamba2,            // Dao, Gu 2024 (arXiv 2405.21060)
  kMamba1,            // Gu, Dao 2023 (arXiv 2312.00752)
  kShortConvolution,  // Liquid AI 2025 (arXiv 2511.23404); LFM2
  kLightning,         // Qin et al. 2024 (arXiv 2401.04658); MiniMax-01 (arXiv 2501.08313)
};
inline constexpr MixerKind kLastMixerKind = MixerKind::kLightning;

// Sizes in the words of state-space models; in those of linear attention a state is of one head,
// state_size x head_size: keys by values. A short convolution has hidden_size channels and no
// state: convolution_size and the biases are all that it has.
struct MixerSpec {
  MixerKind kind = MixerKind::kUnspecified;
  int64_t head_count = 0;   // of values; Mamba-1: channels, each a head
  int64_t head_size = 0;    // of a value; Mamba-1: 1
  int64_t group_count = 0;  // heads of keys and queries (Mamba: B and C); Mamba-1: 1
  int64_t state_size = 0;   // of a key
  int64_t convolution_size = 0;
  bool convolution_bias = false;
  bool projection_bias = false;  // of the first and the last matrix
  // Ranks of the matrices that make a decay and a gate for each channel. 0: one matrix each.
  // Mamba-1 has decay_rank alone, at least 1; Kimi delta attention has both.
  int64_t decay_rank = 0;
  int64_t gate_rank = 0;
  bool output_norm = false;  // Mamba-2: of the gated output; Mamba-1 has none, delta rules always
  bool inner_norms = false;  // Mamba-1: of step sizes, B and C (Jamba)

  friend bool operator==(const MixerSpec&, const MixerSpec&) = default;
};

// Channels of the values, of all heads.
inline int64_t MixerChannels(const MixerSpec& mixer) { return mixer.head_count * mixer.head_size; }

// Channels of the keys, and of the queries.
inline int64_t MixerKeyChannels(const MixerSpec& mixer) {
  return mixer.group_count * mixer.state_size;
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_BLOCK_MIXER_SPEC_H_
