// Random mixers in the layers of random models.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_BLOCK_RANDOM_MIXERS_H_
#define SEXTANT_TESTS_ENGINE_MODEL_BLOCK_RANDOM_MIXERS_H_

#include <algorithm>
#include <cstdint>
#include <random>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

class MixerDraw {
 public:
  explicit MixerDraw(uint32_t seed) : random_(seed) {}

  int64_t Between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool Chance() { return Between(0, 1) == 1; }

  // One that up to 4 tensor parallel ranks can divide, and 2 context parallel ones; Mamba-1 where
  // `whole`.
  MixerSpec Mixer(bool whole) {
    MixerSpec out = {.kind = static_cast<MixerKind>(Between(1, 5)),
                     .head_count = 8 * Between(1, 2),
                     .head_size = Between(1, 4),
                     .group_count = 4 * Between(1, 2),
                     .state_size = Between(1, 4),
                     .convolution_size = Between(1, 4),
                     .convolution_bias = Chance(),
                     .projection_bias = Chance()};
    if (out.kind == MixerKind::kMamba1 && !whole) out.kind = MixerKind::kMamba2;
    if (out.kind == MixerKind::kShortConvolution) {
      return {.kind = out.kind,
              .convolution_size = out.convolution_size,
              .convolution_bias = out.convolution_bias,
              .projection_bias = out.projection_bias};
    }
    if (out.kind == MixerKind::kKimiDelta) {
      out.group_count = out.head_count;
      out.decay_rank = Chance() ? Between(1, 3) : 0;
      out.gate_rank = Chance() ? Between(1, 3) : 0;
    }
    if (out.kind == MixerKind::kMamba1) {
      out.head_size = out.group_count = 1;
      out.decay_rank = Between(1, 3);
      out.inner_norms = Chance();
    }
    out.output_norm = out.kind == MixerKind::kMamba2 && Chance();
    return out;
  }

  // Gives layers of `spec` a mixer: in place of attention, or in parallel with it. False where none
  // has attention, or an adapter's matrix is lost with it.
  bool AddTo(ArchitectureSpec& spec, const ParallelLayout& layout) {
    const bool divides = spec.hidden_size % (2 * layout.tensor_parallel_size) == 0;
    bool added = false;
    for (LayerSpec& layer : spec.layer_kinds) {
      if (!layer.attention.has_value() || layer.cross_attention.has_value()) continue;
      do {
        layer.mixer = Mixer(layout.tensor_parallel_size == 1);
      } while (layer.mixer->kind == MixerKind::kShortConvolution && !divides);
      added = true;
      if (spec.encoder.relative_position_bucket_count == 0 &&
          spec.decoder.relative_position_bucket_count == 0 && Chance()) {
        layer.attention.reset();
      }
    }
    const bool attends =
        std::any_of(spec.layer_kinds.begin(), spec.layer_kinds.end(),
                    [](const LayerSpec& layer) { return layer.attention.has_value(); });
    return added && (attends || !spec.adapters.has_value());
  }

 private:
  std::mt19937 random_;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_BLOCK_RANDOM_MIXERS_H_
