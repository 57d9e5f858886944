// The assignment of layers to pipeline stages.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_LAYER_PLACEMENT_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_LAYER_PLACEMENT_H_

#include <cstdint>
#include <vector>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

// Layers of one kind in one part of the model.
struct KindLayers {
  int64_t count = 0;
  int64_t not_frozen = 0;
};

// Consecutive layers, in the order of the forward pass.
struct LayerRange {
  int64_t first = 0;
  int64_t count = 0;
};

class LayerPlacement {
 public:
  // `spec` and `layout` have passed CheckArchitecture() and CheckLayout(). Time is linear in runs
  // of layers and chunks, not in layers.
  LayerPlacement(const ArchitectureSpec& spec, const ParallelLayout& layout);

  int64_t stage_count() const { return stage_count_; }

  // Layers on `stage` of the kind at `layer_kind`; `part` is kEncoder or kDecoder.
  const KindLayers& On(int64_t stage, ModelPart part, int layer_kind) const {
    return layers_[IndexOf(stage, part, layer_kind)];
  }

  // The layers of a stage's `chunk`th chunk, numbered through encoder and decoder.
  LayerRange ChunkOf(int64_t stage, int64_t chunk) const {
    return chunks_[static_cast<size_t>(chunk * stage_count_ + stage)];
  }

  // Layers of both stacks and all kinds.
  int64_t LayersOn(int64_t stage) const;

  // The first stage of the decoder, and the last stage of the encoder.
  int64_t decoder_first_stage() const { return decoder_first_stage_; }
  int64_t encoder_last_stage() const { return encoder_last_stage_; }

  bool HasLayersOf(int64_t stage, ModelPart part) const;
  // The lowest stage with layers of `part`; stage_count() where none has any.
  int64_t LowestStageOf(ModelPart part) const;

 private:
  size_t IndexOf(int64_t stage, ModelPart part, int layer_kind) const {
    const size_t stack = part == ModelPart::kEncoder ? 0 : 1;
    return (static_cast<size_t>(stage) * 2 + stack) * kind_count_ + static_cast<size_t>(layer_kind);
  }
  int64_t StageOfLayer(int64_t layer) const;
  void FillChunks(const ParallelLayout& layout, int64_t layer_count);
  void FillLayers(const ArchitectureSpec& spec);

  int64_t stage_count_;
  size_t kind_count_;
  int64_t decoder_first_stage_ = 0;
  int64_t encoder_last_stage_;
  std::vector<LayerRange> chunks_;  // in the order of the forward pass
  std::vector<KindLayers> layers_;  // by stage, part and kind
};

// Layers of a stack, summed over runs.
int64_t LayerCountOf(const StackSpec& stack);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_LAYER_PLACEMENT_H_
