#include "engine/model/sharding/layer_placement.h"

#include <algorithm>

namespace sextant {

int64_t LayerCountOf(const StackSpec& stack) {
  int64_t layers = 0;
  for (const LayerRun& run : stack.layers) layers += run.count;
  return layers;
}

LayerPlacement::LayerPlacement(const ArchitectureSpec& spec, const ParallelLayout& layout)
    : stage_count_(layout.pipeline_parallel_size),
      kind_count_(spec.layer_kinds.size()),
      encoder_last_stage_(layout.pipeline_parallel_size - 1),
      layers_(static_cast<size_t>(stage_count_) * 2 * kind_count_) {
  const int64_t encoder_layers = LayerCountOf(spec.encoder);
  const int64_t decoder_layers = LayerCountOf(spec.decoder);
  FillChunks(layout, encoder_layers + decoder_layers);
  FillLayers(spec);
  if (encoder_layers == 0 || decoder_layers == 0) return;
  decoder_first_stage_ = StageOfLayer(encoder_layers);
  encoder_last_stage_ = StageOfLayer(encoder_layers - 1);
}

void LayerPlacement::FillChunks(const ParallelLayout& layout, int64_t layer_count) {
  const int64_t chunks = ChunkCount(layout);
  chunks_.reserve(static_cast<size_t>(chunks));
  int64_t first = 0;
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t count = layout.layers_per_chunk.empty()
                              ? layer_count / chunks
                              : layout.layers_per_chunk[static_cast<size_t>(i)];
    chunks_.push_back({.first = first, .count = count});
    first += count;
  }
}

// Walks runs and chunks together: each step ends a run or a chunk.
void LayerPlacement::FillLayers(const ArchitectureSpec& spec) {
  size_t chunk = 0;
  int64_t taken = 0;  // of the chunk
  const auto place = [&](ModelPart part, const LayerRun& run) {
    for (int64_t left = run.count; left > 0;) {
      for (; chunks_[chunk].count == taken; ++chunk) taken = 0;
      const int64_t here = std::min(left, chunks_[chunk].count - taken);
      const int64_t stage = static_cast<int64_t>(chunk) % stage_count_;
      KindLayers& layers = layers_[IndexOf(stage, part, run.layer_kind)];
      layers.count += here;
      if (!run.frozen) layers.not_frozen += here;
      taken += here;
      left -= here;
    }
  };
  for (const LayerRun& run : spec.encoder.layers) place(ModelPart::kEncoder, run);
  for (const LayerRun& run : spec.decoder.layers) place(ModelPart::kDecoder, run);
}

int64_t LayerPlacement::StageOfLayer(int64_t layer) const {
  const auto ends_behind = [layer](const LayerRange& c) { return c.first + c.count > layer; };
  const auto chunk = std::find_if(chunks_.begin(), chunks_.end(), ends_behind);
  return static_cast<int64_t>(chunk - chunks_.begin()) % stage_count_;
}

int64_t LayerPlacement::LayersOn(int64_t stage) const {
  int64_t layers = 0;
  for (auto chunk = static_cast<size_t>(stage); chunk < chunks_.size();
       chunk += static_cast<size_t>(stage_count_)) {
    layers += chunks_[chunk].count;
  }
  return layers;
}

bool LayerPlacement::HasLayersOf(int64_t stage, ModelPart part) const {
  const auto first = layers_.begin() + static_cast<std::ptrdiff_t>(IndexOf(stage, part, 0));
  return std::any_of(first, first + static_cast<std::ptrdiff_t>(kind_count_),
                     [](const KindLayers& layers) { return layers.count > 0; });
}

int64_t LayerPlacement::LowestStageOf(ModelPart part) const {
  int64_t stage = 0;
  while (stage < stage_count_ && !HasLayersOf(stage, part)) ++stage;
  return stage;
}

}  // namespace sextant
