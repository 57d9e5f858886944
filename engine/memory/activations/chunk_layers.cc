#include "engine/memory/activations/chunk_layers.h"

#include <algorithm>

namespace sextant {
namespace {

const StackSpec& StackOf(const ArchitectureSpec& spec, ModelPart part) {
  return part == ModelPart::kEncoder ? spec.encoder : spec.decoder;
}

// The part of [first, first + count) that lies in `range`.
int64_t Overlap(const LayerRange& range, int64_t first, int64_t count) {
  const int64_t begin = std::max(range.first, first);
  return std::max<int64_t>(std::min(range.first + range.count, first + count) - begin, 0);
}

}  // namespace

LayerRange ChunkLayers::RangeOf(ModelPart part, int64_t chunk) const {
  const LayerRange both = placement_.ChunkOf(where_.stage, chunk);
  const int64_t encoder =
      context_.spec.encoder.layers.empty() ? 0 : LayerCountOf(context_.spec.encoder);
  if (part == ModelPart::kEncoder) {
    return {.first = both.first, .count = std::clamp<int64_t>(encoder - both.first, 0, both.count)};
  }
  const int64_t first = std::max<int64_t>(both.first - encoder, 0);
  return {.first = first, .count = std::max<int64_t>(both.first + both.count - encoder - first, 0)};
}

int64_t ChunkLayers::CountOf(ModelPart part, int kind) const {
  if (where_.chunk == kAllChunks || context_.layout.virtual_stage_count == 1) {
    return placement_.On(where_.stage, part, kind).count;
  }
  int64_t count = 0;
  int64_t first = 0;
  const LayerRange range = RangeOf(part, where_.chunk);
  for (const LayerRun& run : StackOf(context_.spec, part).layers) {
    if (run.layer_kind == kind) count += Overlap(range, first, run.count);
    first += run.count;
  }
  return count;
}

// Layers behind the first one whose output needs a gradient have an input that does, and so has
// that one where the embeddings need one.
std::array<LayersAlike, kLayerGradientStateCount> ChunkLayers::AlikeOf(ModelPart part,
                                                                       int kind) const {
  std::array<LayersAlike, kLayerGradientStateCount> out;
  if (context_.flow == nullptr) {
    out[0].count = CountOf(part, kind);
    return out;
  }
  const StackGradients& gradients = context_.flow->StackOf(part);
  const int64_t first_needing = gradients.first_layer + (gradients.embedding_needs ? 0 : 1);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].state = {.frozen = (i & 2) != 0, .input_needs_gradient = (i & 1) != 0};
  }
  for (int64_t chunk = first_chunk(); chunk < end_chunk(); ++chunk) {
    const LayerRange range = RangeOf(part, chunk);
    int64_t first = 0;
    for (const LayerRun& run : StackOf(context_.spec, part).layers) {
      const int64_t before = std::clamp<int64_t>(first_needing - first, 0, run.count);
      const size_t state = run.frozen ? 2 : 0;
      if (run.layer_kind == kind) {
        out[state].count += Overlap(range, first, before);
        out[state + 1].count += Overlap(range, first + before, run.count - before);
      }
      first += run.count;
    }
  }
  return out;
}

int64_t ChunkLayers::BlocksOf(ModelPart part, int64_t layers_per_block) const {
  int64_t blocks = 0;
  for (int64_t chunk = first_chunk(); chunk < end_chunk(); ++chunk) {
    const LayerRange range = RangeOf(part, chunk);
    blocks += CeilDivide(range.count, layers_per_block);
    if (context_.flow == nullptr) continue;
    const int64_t without =
        std::clamp<int64_t>(context_.flow->StackOf(part).first_layer - range.first, 0, range.count);
    blocks -= without == range.count ? CeilDivide(range.count, layers_per_block)
                                     : without / layers_per_block;
  }
  return blocks;
}

int64_t ChunkLayers::LongestOf(ModelPart part) const {
  int64_t longest = 0;
  for (int64_t chunk = first_chunk(); chunk < end_chunk(); ++chunk) {
    longest = std::max(longest, RangeOf(part, chunk).count);
  }
  return longest;
}

}  // namespace sextant
