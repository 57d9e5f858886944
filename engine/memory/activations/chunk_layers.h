// Which layers a chunk of a stage, or a whole stage, has: counted by runs, without allocation.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_CHUNK_LAYERS_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_CHUNK_LAYERS_H_

#include <array>
#include <cstdint>

#include "engine/memory/activations/activation_list.h"
#include "engine/model/sharding/layer_placement.h"

namespace sextant {

inline constexpr int64_t kAllChunks = -1;

// A chunk of a stage; kAllChunks: all of the stage's.
struct StageChunk {
  int64_t stage = 0;
  int64_t chunk = kAllChunks;
};

// Layers of a kind that have the same gradients.
struct LayersAlike {
  int64_t count = 0;
  LayerGradientState state = {};
};

class ChunkLayers {
 public:
  ChunkLayers(const ActivationContext& context, const LayerPlacement& placement,
              const StageChunk& where)
      : context_(context), placement_(placement), where_(where) {}

  int64_t CountOf(ModelPart part, int kind) const;

  // By gradients; counts may be 0. Without a flow all stand in the first.
  std::array<LayersAlike, kLayerGradientStateCount> AlikeOf(ModelPart part, int kind) const;

  // Inputs of blocks of `layers_per_block` layers that are computed again, which end where a chunk
  // or a stack does. Blocks behind which no gradient is needed keep none.
  int64_t BlocksOf(ModelPart part, int64_t layers_per_block) const;

  // Layers of the longest run of `part` in a chunk.
  int64_t LongestOf(ModelPart part) const;

 private:
  // Of `part` in the `chunk`th chunk, counted from the first of the stack.
  LayerRange RangeOf(ModelPart part, int64_t chunk) const;
  int64_t first_chunk() const { return where_.chunk == kAllChunks ? 0 : where_.chunk; }
  int64_t end_chunk() const {
    return where_.chunk == kAllChunks ? context_.layout.virtual_stage_count : where_.chunk + 1;
  }

  const ActivationContext& context_;
  const LayerPlacement& placement_;
  const StageChunk where_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_CHUNK_LAYERS_H_
