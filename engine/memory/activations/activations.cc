#include "engine/memory/activations/activations.h"

#include <algorithm>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/memory/activations/end_rows.h"
#include "engine/memory/activations/layer_rows.h"

namespace sextant {
namespace {

const StackSpec& StackOf(const ArchitectureSpec& spec, ModelPart part) {
  return part == ModelPart::kEncoder ? spec.encoder : spec.decoder;
}

// Counts the layers of [first, first + count) that lie in `range`.
int64_t Overlap(const LayerRange& range, int64_t first, int64_t count) {
  const int64_t begin = std::max(range.first, first);
  return std::max<int64_t>(std::min(range.first + range.count, first + count) - begin, 0);
}

absl::StatusOr<Bytes> SumOf(const ActivationList& list) {
  if (list.total().ok()) return Bytes(list.total().value());
  return InvalidField("micro_batch", "leaves more than 9.2e18 bytes of activations on a GPU");
}

// Adds up a stage or one of its chunks; holds the data that all parts share.
class StageRows {
 public:
  StageRows(const ActivationContext& context, const LayerPlacement& placement,
            const StageChunk& where, ActivationTensors* rows, LayerWalks* walks = nullptr)
      : spec_(context.spec),
        context_(context),
        placement_(placement),
        where_(where),
        layers_(context, placement, where),
        list_(context, rows),
        walks_(walks) {}

  void ListForWeights() { list_.ListForWeights(); }

  void AddEmbeddings() {
    if (!HasFirstChunk()) return;
    if (where_.stage == 0 && has_encoder()) AddEmbedding(ModelPart::kEncoder, spec_.encoder);
    if (where_.stage == placement_.decoder_first_stage() && has_decoder()) {
      AddEmbedding(ModelPart::kDecoder, spec_.decoder);
    }
  }

  void AddLayers() {
    if (context_.batch.recomputation.policy == RecomputePolicy::kFull) return AddBlocks();
    for (const ModelPart part : {ModelPart::kEncoder, ModelPart::kDecoder}) {
      if (part == ModelPart::kEncoder ? !has_encoder() : !has_decoder()) continue;
      for (size_t kind = 0; kind < spec_.layer_kinds.size(); ++kind) {
        AddLayersOf(part, static_cast<int>(kind));
      }
    }
  }

  // All cross attentions of the stage read one encoder output. Such a model has one chunk per
  // stage.
  void AddEncoderEnd() {
    if (!has_encoder() || !HasFirstChunk()) return;
    list_.GoTo({.part = ModelPart::kEncoder});
    if (has_decoder() && where_.stage == placement_.encoder_last_stage()) {
      AddFinalNormRow(spec_.encoder, ModelPart::kEncoder, list_);
    }
    if (ReadsEncoder()) AddEncoderOutputRow(list_);
  }

  // Source: pytorch/pytorch, torch/distributed/pipelining/stage.py, fwd_cache of
  // forward_one_chunk().
  void AddStageOutputs() {
    if (!context_.batch.keeps_stage_outputs || placement_.stage_count() == 1) return;
    const bool last = where_.stage == placement_.stage_count() - 1 && HasLastChunk();
    const int64_t chunks = where_.chunk == kAllChunks ? context_.layout.virtual_stage_count : 1;
    const int64_t outputs = last ? chunks - 1 : chunks;
    list_.GoTo(
        {.part = has_decoder() ? ModelPart::kDecoder : ModelPart::kEncoder, .layers = outputs});
    if (outputs > 0) AddStageOutputRow(list_);
  }

  void AddOutput() {
    if (where_.stage != placement_.stage_count() - 1 || !HasLastChunk()) return;
    const ModelPart last = has_decoder() ? ModelPart::kDecoder : ModelPart::kEncoder;
    list_.GoTo({.part = last});
    AddFinalNormRow(has_decoder() ? spec_.decoder : spec_.encoder, last, list_);
    list_.GoTo({.part = ModelPart::kOutput});
    AddOutputRows(list_);
    if (!spec_.multi_token_prediction.has_value()) return;
    const MultiTokenPredictionSpec& modules = *spec_.multi_token_prediction;
    ActivationPlace place = {.part = ModelPart::kMultiTokenPrediction,
                             .layers = modules.module_count};
    list_.GoTo(place);
    AddMultiTokenPredictionRows(list_);
    place.layer_kind = modules.layer_kind;
    if (context_.flow != nullptr) {
      place.gradients =
          &context_.flow->Of(place.part, place.layer_kind,
                             {.input_needs_gradient = context_.flow->modules().layer_input});
    }
    list_.GoTo(place);
    AddLayerRows(spec_.layer_kinds[static_cast<size_t>(modules.layer_kind)], list_);
  }

  absl::StatusOr<StageParts> Add() {
    AddEmbeddings();
    const CheckedInt embedding = list_.total();
    AddLayers();
    AddEncoderEnd();
    AddStageOutputs();
    const CheckedInt layers = list_.total();
    AddOutput();
    if (!list_.total().ok()) return SumOf(list_).status();
    return StageParts{.embedding = Bytes(embedding.value()),
                      .layers = Bytes(layers.value() - embedding.value()),
                      .output = Bytes(list_.total().value() - layers.value())};
  }

 private:
  bool has_encoder() const { return !spec_.encoder.layers.empty(); }
  bool has_decoder() const { return !spec_.decoder.layers.empty(); }
  bool HasFirstChunk() const { return where_.chunk == kAllChunks || where_.chunk == 0; }
  bool HasLastChunk() const {
    return where_.chunk == kAllChunks || where_.chunk == context_.layout.virtual_stage_count - 1;
  }

  void AddEmbedding(ModelPart part, const StackSpec& stack) {
    list_.GoTo({.part = part});
    AddEmbeddingRows(stack, part, list_);
  }

  void AddLayersOf(ModelPart part, int kind) {
    for (const LayersAlike& alike : layers_.AlikeOf(part, kind)) {
      if (alike.count == 0) continue;
      ActivationPlace place = {.part = part, .layer_kind = kind, .layers = alike.count};
      if (context_.flow != nullptr) place.gradients = &context_.flow->Of(part, kind, alike.state);
      if (walks_ != nullptr) {
        list_.AddSum(walks_->Of(context_, place).kept * alike.count);
        continue;
      }
      list_.GoTo(place);
      AddLayerRows(spec_.layer_kinds[static_cast<size_t>(kind)], list_);
    }
  }

  void AddBlocks() {
    const int64_t block = context_.batch.recomputation.layers_per_block;
    for (const ModelPart part : {ModelPart::kEncoder, ModelPart::kDecoder}) {
      const int64_t blocks = layers_.BlocksOf(part, block);
      list_.GoTo({.part = part, .layers = blocks});
      if (blocks > 0) AddLayerInputRow(list_);
    }
  }

  bool ReadsEncoder() const {
    for (size_t kind = 0; kind < spec_.layer_kinds.size(); ++kind) {
      if (spec_.layer_kinds[kind].cross_attention.has_value() &&
          layers_.CountOf(ModelPart::kDecoder, static_cast<int>(kind)) > 0) {
        return true;
      }
    }
    return false;
  }

  const ArchitectureSpec& spec_;
  const ActivationContext& context_;
  const LayerPlacement& placement_;
  const StageChunk where_;
  const ChunkLayers layers_;
  ActivationList list_;
  LayerWalks* const walks_;  // null where there are rows
};

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

// Layers after the first one whose output needs a gradient have an input that needs one. The first
// one's input needs one where the embeddings do.
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

const LayerWalk& LayerWalks::Of(const ActivationContext& context, const ActivationPlace& place) {
  for (const LayerWalk& known : known_) {
    if (known.place.part == place.part && known.place.layer_kind == place.layer_kind &&
        known.place.gradients == place.gradients) {
      return known;
    }
  }
  LayerWalk& out = known_.size() < kMost ? known_.emplace_back() : beyond_;
  out = {.place = place, .kept = 0, .steps = {}};
  out.place.layers = 1;
  ActivationList list(context, nullptr, &out.steps);
  list.GoTo(out.place);
  AddLayerRows(context.spec.layer_kinds[static_cast<size_t>(place.layer_kind)], list);
  out.kept = list.total();
  return out;
}

absl::StatusOr<Bytes> LayerActivations(const ActivationContext& context, ModelPart part,
                                       int layer_kind, ActivationTensors* rows) {
  ActivationList list(context, rows);
  list.GoTo({.part = part, .layer_kind = layer_kind});
  AddLayerRows(context.spec.layer_kinds[static_cast<size_t>(layer_kind)], list);
  return SumOf(list);
}

absl::StatusOr<Bytes> RecomputedByLayer(const ActivationContext& context, ModelPart part,
                                        int layer_kind) {
  MicroBatchSpec keeps_all = context.batch;
  keeps_all.recomputation = {};
  const ActivationContext all = {context.spec, context.layout, keeps_all};
  SEXTANT_ASSIGN_OR_RETURN(const Bytes held, LayerActivations(all, part, layer_kind));
  SEXTANT_ASSIGN_OR_RETURN(const Bytes kept, LayerActivations(context, part, layer_kind));
  return std::max(held - kept, Bytes(0));
}

absl::StatusOr<Bytes> StageActivations(const ActivationContext& context,
                                       const LayerPlacement& placement, int64_t stage,
                                       ActivationTensors* rows) {
  SEXTANT_ASSIGN_OR_RETURN(const StageParts parts,
                           ChunkActivations(context, placement, {.stage = stage}, rows));
  return parts.total();
}

absl::StatusOr<StageParts> ChunkActivations(const ActivationContext& context,
                                            const LayerPlacement& placement,
                                            const StageChunk& where, ActivationTensors* rows) {
  return StageRows(context, placement, where, rows).Add();
}

// Tensors recomputed in the first half stay for the second.
absl::StatusOr<StageParts> AwaitingActivations(const ActivationContext& context,
                                               const LayerPlacement& placement,
                                               const StageChunk& where, ActivationTensors* rows) {
  MicroBatchSpec keeps_all = context.batch;
  keeps_all.recomputation = {};
  const ActivationContext all = {context.spec, context.layout, keeps_all, context.flow};
  StageRows stage(all, placement, where, rows);
  stage.ListForWeights();
  return stage.Add();
}

absl::StatusOr<StageParts> ChunkActivations(const ActivationContext& context,
                                            const LayerPlacement& placement,
                                            const StageChunk& where, LayerWalks& walks) {
  return StageRows(context, placement, where, nullptr, &walks).Add();
}

}  // namespace sextant
