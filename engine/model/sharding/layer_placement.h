// The assignment of layers to pipeline stages.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_LAYER_PLACEMENT_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_LAYER_PLACEMENT_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
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

// Consecutive layers of one kind in one chunk, all frozen or all not.
struct LayerPiece {
  ModelPart part = ModelPart::kDecoder;
  bool frozen = false;
  int layer_kind = 0;
  LayerRange layers = {};  // numbered through encoder and decoder
};

// True where both have as many layers of the same kind.
inline bool IsAlike(const LayerPiece& a, const LayerPiece& b) {
  return a.layers.count == b.layers.count && a.layer_kind == b.layer_kind && a.part == b.part &&
         a.frozen == b.frozen;
}
inline bool IsAlike(absl::Span<const LayerPiece> a, absl::Span<const LayerPiece> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const LayerPiece& x, const LayerPiece& y) { return IsAlike(x, y); });
}

// The layers of one kind on a stage; `part` is kEncoder or kDecoder.
struct StageKind {
  ModelPart part = ModelPart::kDecoder;
  int layer_kind = 0;
  KindLayers layers = {};
};

class LayerPlacement {
 public:
  // `spec` and `layout` have passed CheckArchitecture() and CheckLayout(). Time and space are
  // linear in runs of layers and chunks, not in layers, nor in stages times kinds.
  LayerPlacement(const ArchitectureSpec& spec, const ParallelLayout& layout);

  int64_t stage_count() const { return stage_count_; }
  // Chunks of each stage.
  int64_t chunk_count() const { return static_cast<int64_t>(chunks_.size()) / stage_count_; }
  // Layers of the encoder.
  int64_t encoder_layers() const { return encoder_layers_; }

  // The kinds that have layers on `stage`: the encoder's before the decoder's, each in the order
  // of the model's list.
  absl::Span<const StageKind> KindsOn(int64_t stage) const {
    return Part(stage_kinds_, first_kinds_, stage);
  }

  // The layers of a stage's `chunk`th chunk, numbered through encoder and decoder.
  LayerRange ChunkOf(int64_t stage, int64_t chunk) const {
    return chunks_[static_cast<size_t>(chunk * stage_count_ + stage)];
  }
  // The same, by kind, in the order of the forward pass.
  absl::Span<const LayerPiece> PiecesOf(int64_t stage, int64_t chunk) const {
    return Part(pieces_, first_pieces_, chunk * stage_count_ + stage);
  }
  // Pieces of all chunks.
  int64_t piece_count() const { return static_cast<int64_t>(pieces_.size()); }

  // Layers of both stacks and all kinds.
  int64_t LayersOn(int64_t stage) const;

  // The first stage of the decoder, and the last stage of the encoder.
  int64_t decoder_first_stage() const { return decoder_first_stage_; }
  int64_t encoder_last_stage() const { return encoder_last_stage_; }

  bool HasLayersOf(int64_t stage, ModelPart part) const;
  // The lowest stage with layers of `part`; stage_count() where none has any.
  int64_t LowestStageOf(ModelPart part) const {
    return part == ModelPart::kEncoder ? lowest_encoder_stage_ : lowest_decoder_stage_;
  }

 private:
  // The elements from firsts[i] to firsts[i + 1].
  template <typename T>
  static absl::Span<const T> Part(const std::vector<T>& all, const std::vector<uint32_t>& firsts,
                                  int64_t i) {
    const uint32_t first = firsts[static_cast<size_t>(i)];
    return absl::MakeConstSpan(all).subspan(first, firsts[static_cast<size_t>(i) + 1] - first);
  }
  int64_t StageOfLayer(int64_t layer) const;
  void FillChunks(const ParallelLayout& layout, int64_t layer_count);
  void FillPieces(const ArchitectureSpec& spec);
  void AddPiece(const LayerPiece& piece);
  void FillKinds(size_t kind_count);
  int64_t FindLowestStageOf(ModelPart part) const;

  int64_t stage_count_;
  int64_t encoder_layers_;
  int64_t decoder_first_stage_ = 0;
  int64_t encoder_last_stage_;
  int64_t lowest_encoder_stage_ = 0;
  int64_t lowest_decoder_stage_ = 0;
  std::vector<LayerRange> chunks_;      // in the order of the forward pass
  std::vector<LayerPiece> pieces_;      // likewise
  std::vector<uint32_t> first_pieces_;  // by chunk, and the end
  std::vector<StageKind> stage_kinds_;  // by stage
  std::vector<uint32_t> first_kinds_;   // by stage, and the end
};

// Layers of a stack, summed over runs.
int64_t LayerCountOf(const StackSpec& stack);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_LAYER_PLACEMENT_H_
