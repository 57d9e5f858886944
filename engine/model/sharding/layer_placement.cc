#include "engine/model/sharding/layer_placement.h"

#include <algorithm>

namespace sextant {
namespace {

// Adds up the layers of one stage, kind by kind.
class KindSums {
 public:
  explicit KindSums(size_t kind_count) : kind_count_(kind_count), layers_(2 * kind_count) {}

  void Add(const LayerPiece& piece) {
    const size_t stack = piece.part == ModelPart::kEncoder ? 0 : 1;
    const size_t at = stack * kind_count_ + static_cast<size_t>(piece.layer_kind);
    KindLayers& layers = layers_[at];
    if (layers.count == 0) seen_.push_back(at);
    layers.count += piece.layers.count;
    if (!piece.frozen) layers.not_frozen += piece.layers.count;
  }

  // Appends the sums to `out`, and starts again.
  void Take(std::vector<StageKind>& out) {
    std::sort(seen_.begin(), seen_.end());
    for (const size_t at : seen_) {
      const bool encoder = at < kind_count_;
      out.push_back({.part = encoder ? ModelPart::kEncoder : ModelPart::kDecoder,
                     .layer_kind = static_cast<int>(at - (encoder ? 0 : kind_count_)),
                     .layers = layers_[at]});
      layers_[at] = {};
    }
    seen_.clear();
  }

 private:
  const size_t kind_count_;
  std::vector<KindLayers> layers_;  // by part and kind
  std::vector<size_t> seen_;        // indices of layers_ that are not empty
};

}  // namespace

int64_t LayerCountOf(const StackSpec& stack) {
  int64_t layers = 0;
  for (const LayerRun& run : stack.layers) layers += run.count;
  return layers;
}

LayerPlacement::LayerPlacement(const ArchitectureSpec& spec, const ParallelLayout& layout)
    : stage_count_(layout.pipeline_parallel_size),
      encoder_layers_(LayerCountOf(spec.encoder)),
      encoder_last_stage_(layout.pipeline_parallel_size - 1) {
  const int64_t decoder_layers = LayerCountOf(spec.decoder);
  FillChunks(layout, encoder_layers_ + decoder_layers);
  FillPieces(spec);
  FillKinds(spec.layer_kinds.size());
  lowest_encoder_stage_ = FindLowestStageOf(ModelPart::kEncoder);
  lowest_decoder_stage_ = FindLowestStageOf(ModelPart::kDecoder);
  if (encoder_layers_ == 0 || decoder_layers == 0) return;
  decoder_first_stage_ = StageOfLayer(encoder_layers_);
  encoder_last_stage_ = StageOfLayer(encoder_layers_ - 1);
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
void LayerPlacement::FillPieces(const ArchitectureSpec& spec) {
  first_pieces_.reserve(chunks_.size() + 1);
  pieces_.reserve(chunks_.size() + spec.encoder.layers.size() + spec.decoder.layers.size());
  first_pieces_.push_back(0);
  int64_t placed = 0;
  const auto end_chunks = [&] {
    while (first_pieces_.size() <= chunks_.size()) {
      const LayerRange& chunk = chunks_[first_pieces_.size() - 1];
      if (placed < chunk.first + chunk.count) return;
      first_pieces_.push_back(static_cast<uint32_t>(pieces_.size()));
    }
  };
  const auto place = [&](ModelPart part, const LayerRun& run) {
    for (int64_t left = run.count; left > 0;) {
      end_chunks();
      const LayerRange& chunk = chunks_[first_pieces_.size() - 1];
      const int64_t here = std::min(left, chunk.first + chunk.count - placed);
      AddPiece({.part = part,
                .frozen = run.frozen,
                .layer_kind = run.layer_kind,
                .layers = {.first = placed, .count = here}});
      placed += here;
      left -= here;
    }
  };
  for (const LayerRun& run : spec.encoder.layers) place(ModelPart::kEncoder, run);
  for (const LayerRun& run : spec.decoder.layers) place(ModelPart::kDecoder, run);
  end_chunks();
}

// Neighbours of one kind are one piece, however many runs they were given as.
void LayerPlacement::AddPiece(const LayerPiece& piece) {
  if (pieces_.size() > first_pieces_.back()) {
    LayerPiece& last = pieces_.back();
    if (last.part == piece.part && last.layer_kind == piece.layer_kind &&
        last.frozen == piece.frozen) {
      last.layers.count += piece.layers.count;
      return;
    }
  }
  pieces_.push_back(piece);
}

void LayerPlacement::FillKinds(size_t kind_count) {
  KindSums sums(kind_count);
  first_kinds_.reserve(static_cast<size_t>(stage_count_) + 1);
  stage_kinds_.reserve(pieces_.size());
  first_kinds_.push_back(0);
  for (int64_t stage = 0; stage < stage_count_; ++stage) {
    for (int64_t chunk = 0; chunk < chunk_count(); ++chunk) {
      for (const LayerPiece& piece : PiecesOf(stage, chunk)) sums.Add(piece);
    }
    sums.Take(stage_kinds_);
    first_kinds_.push_back(static_cast<uint32_t>(stage_kinds_.size()));
  }
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
  const absl::Span<const StageKind> kinds = KindsOn(stage);
  if (kinds.empty()) return false;
  return (part == ModelPart::kEncoder ? kinds.front() : kinds.back()).part == part;
}

int64_t LayerPlacement::FindLowestStageOf(ModelPart part) const {
  int64_t stage = 0;
  while (stage < stage_count_ && !HasLayersOf(stage, part)) ++stage;
  return stage;
}

}  // namespace sextant
