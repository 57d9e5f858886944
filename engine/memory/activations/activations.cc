#include "engine/memory/activations/activations.h"

#include <algorithm>
#include <tuple>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/memory/activations/end_rows.h"
#include "engine/memory/activations/layer_rows.h"

namespace sextant {
namespace {

absl::StatusOr<Bytes> SumOf(const ActivationList& list) {
  if (list.total().ok()) return Bytes(list.total().value());
  return InvalidField("layout.micro_batch_size",
                      "leaves more than 9.2e18 bytes of activations on a GPU");
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

  void ListForWeights() {
    for_weights_ = true;
    list_.ListForWeights();
  }

  void AddEmbeddings() {
    if (!HasFirstChunk()) return;
    if (where_.stage == 0 && has_encoder()) AddEmbedding(ModelPart::kEncoder, spec_.encoder);
    if (where_.stage == placement_.decoder_first_stage() && has_decoder()) {
      AddEmbedding(ModelPart::kDecoder, spec_.decoder);
    }
  }

  void AddLayers() {
    if (context_.batch.recomputation.policy == RecomputePolicy::kFull) return AddBlocks();
    layers_.ForEachAlike([this](const ActivationPlace& place) { AddLayersAt(place); });
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
      place.state = {.input_needs_gradient = context_.flow->modules().layer_input};
      place.gradients = &context_.flow->Of(place.part, place.layer_kind, place.state);
    }
    AddLayersAt(place);
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

  void AddLayersAt(const ActivationPlace& place) {
    if (walks_ != nullptr) {
      const CheckedInt kept =
          for_weights_ ? walks_->AwaitingOf(context_, place) : walks_->Of(context_, place).kept;
      list_.AddSum(kept * place.layers);
      return;
    }
    list_.GoTo(place);
    AddLayerRows(spec_.layer_kinds[static_cast<size_t>(place.layer_kind)], list_);
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
    for (const StageKind& kind : placement_.KindsOn(where_.stage)) {
      const LayerSpec& layer = spec_.layer_kinds[static_cast<size_t>(kind.layer_kind)];
      if (kind.part == ModelPart::kDecoder && layer.cross_attention.has_value()) return true;
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
  bool for_weights_ = false;
};

// Tensors recomputed in the first half stay for the second.
absl::StatusOr<StageParts> Awaiting(const ActivationContext& context,
                                    const LayerPlacement& placement, const StageChunk& where,
                                    ActivationTensors* rows, LayerWalks* walks) {
  MicroBatchSpec keeps_all = context.batch;
  keeps_all.recomputation = {};
  const ActivationContext all = {context.spec, context.layout, keeps_all, context.flow};
  StageRows stage(all, placement, where, rows, walks);
  stage.ListForWeights();
  return stage.Add();
}

}  // namespace

LayerRange ChunkLayers::RangeOf(ModelPart part, int64_t chunk) const {
  const LayerRange both = placement_.ChunkOf(where_.stage, chunk);
  const int64_t encoder = placement_.encoder_layers();
  if (part == ModelPart::kEncoder) {
    return {.first = both.first, .count = std::clamp<int64_t>(encoder - both.first, 0, both.count)};
  }
  const int64_t first = std::max<int64_t>(both.first - encoder, 0);
  return {.first = first, .count = std::max<int64_t>(both.first + both.count - encoder - first, 0)};
}

ChunkLayers::Groups ChunkLayers::SortedGroups() const {
  Groups out;
  for (int64_t chunk = first_chunk(); chunk < end_chunk(); ++chunk) {
    for (const LayerPiece& piece : placement_.PiecesOf(where_.stage, chunk)) AddGroups(piece, out);
  }
  if (out.size() == 1) return out;
  const auto key = [](const Group& group) {
    return std::make_tuple(group.part == ModelPart::kDecoder, group.layer_kind, group.state.frozen,
                           group.state.input_needs_gradient);
  };
  std::sort(out.begin(), out.end(),
            [&key](const Group& a, const Group& b) { return key(a) < key(b); });
  return out;
}

// Layers after the first one whose output needs a gradient have an input that needs one. The first
// one's input needs one where the embeddings do.
void ChunkLayers::AddGroups(const LayerPiece& piece, Groups& out) const {
  Group group = {.part = piece.part, .layer_kind = piece.layer_kind, .count = piece.layers.count};
  if (context_.flow == nullptr) {
    out.push_back(group);
    return;
  }
  const StackGradients& gradients = context_.flow->StackOf(piece.part);
  const int64_t first_of_stack =
      piece.part == ModelPart::kEncoder ? 0 : placement_.encoder_layers();
  const int64_t first_needing =
      first_of_stack + gradients.first_layer + (gradients.embedding_needs ? 0 : 1);
  const int64_t without =
      std::clamp<int64_t>(first_needing - piece.layers.first, 0, piece.layers.count);
  group.state = {.frozen = piece.frozen, .input_needs_gradient = false};
  group.count = without;
  if (without > 0) out.push_back(group);
  group.state.input_needs_gradient = true;
  group.count = piece.layers.count - without;
  if (group.count > 0) out.push_back(group);
}

ActivationPlace ChunkLayers::PlaceOf(const Group& group) const {
  ActivationPlace out = {.part = group.part,
                         .layer_kind = group.layer_kind,
                         .layers = group.count,
                         .state = group.state};
  if (context_.flow != nullptr) {
    out.gradients = &context_.flow->Of(group.part, group.layer_kind, group.state);
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
  if (const LayerWalk* known = known_.Find(place); known != nullptr) return *known;
  ++computed_;
  LayerWalk& out = known_.Add(place);
  ActivationPlace one = place;
  one.layers = 1;
  ActivationList list(context, nullptr, &out.steps);
  list.GoTo(one);
  AddLayerRows(context.spec.layer_kinds[static_cast<size_t>(place.layer_kind)], list);
  out.kept = list.total();
  return out;
}

CheckedInt LayerWalks::AwaitingOf(const ActivationContext& context, const ActivationPlace& place) {
  if (const Awaiting* known = awaiting_.Find(place); known != nullptr) return known->bytes;
  ++computed_;
  ActivationPlace one = place;
  one.layers = 1;
  ActivationList list(context);
  list.ListForWeights();
  list.GoTo(one);
  AddLayerRows(context.spec.layer_kinds[static_cast<size_t>(place.layer_kind)], list);
  awaiting_.Add(place).bytes = list.total();
  return list.total();
}

absl::StatusOr<StageParts> ChunkActivations(const ActivationContext& context,
                                            const LayerPlacement& placement,
                                            const StageChunk& where, ActivationTensors* rows) {
  return StageRows(context, placement, where, rows).Add();
}

absl::StatusOr<StageParts> AwaitingActivations(const ActivationContext& context,
                                               const LayerPlacement& placement,
                                               const StageChunk& where, ActivationTensors* rows) {
  return Awaiting(context, placement, where, rows, nullptr);
}

absl::StatusOr<StageParts> AwaitingActivations(const ActivationContext& context,
                                               const LayerPlacement& placement,
                                               const StageChunk& where, LayerWalks& walks) {
  return Awaiting(context, placement, where, nullptr, &walks);
}

absl::StatusOr<StageParts> ChunkActivations(const ActivationContext& context,
                                            const LayerPlacement& placement,
                                            const StageChunk& where, LayerWalks& walks) {
  return StageRows(context, placement, where, nullptr, &walks).Add();
}

}  // namespace sextant
