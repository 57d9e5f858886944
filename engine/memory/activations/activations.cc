#include "engine/memory/activations/activations.h"

#include <algorithm>

#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/memory/activations/end_rows.h"
#include "engine/memory/activations/layer_rows.h"

namespace sextant {
namespace {

absl::StatusOr<Bytes> SumOf(const ActivationList& list) {
  if (list.total().ok()) return Bytes(list.total().value());
  return InvalidField("micro_batch", "leaves more than 9.2e18 bytes of activations on a GPU");
}

// Adds up one stage; keeps what all of its parts need.
class StageRows {
 public:
  StageRows(const ActivationContext& context, const LayerPlacement& placement, int64_t stage,
            ActivationTensors* rows)
      : spec_(context.spec),
        context_(context),
        placement_(placement),
        stage_(stage),
        list_(context, rows) {}

  void AddEmbeddings() {
    if (stage_ == 0 && has_encoder()) AddEmbedding(ModelPart::kEncoder, spec_.encoder);
    if (stage_ == placement_.decoder_first_stage() && has_decoder()) {
      AddEmbedding(ModelPart::kDecoder, spec_.decoder);
    }
  }

  void AddLayers() {
    if (context_.batch.recomputation.policy == RecomputePolicy::kFull) return AddBlocks();
    for (const ModelPart part : {ModelPart::kEncoder, ModelPart::kDecoder}) {
      for (size_t kind = 0; kind < spec_.layer_kinds.size(); ++kind) {
        const auto layer_kind = static_cast<int>(kind);
        const int64_t layers = placement_.On(stage_, part, layer_kind).count;
        if (layers == 0) continue;
        list_.GoTo({.part = part, .layer_kind = layer_kind, .layers = layers});
        AddLayerRows(spec_.layer_kinds[kind], list_);
      }
    }
  }

  void AddEncoderEnd() {
    if (!has_encoder()) return;
    list_.GoTo({.part = ModelPart::kEncoder});
    if (stage_ == placement_.encoder_last_stage()) AddFinalNormRow(spec_.encoder, list_);
    if (ReadsEncoder()) AddEncoderOutputRow(list_);
  }

  void AddOutput() {
    if (stage_ != placement_.stage_count() - 1) return;
    if (has_decoder()) {
      list_.GoTo({.part = ModelPart::kDecoder});
      AddFinalNormRow(spec_.decoder, list_);
    }
    list_.GoTo({.part = ModelPart::kOutput});
    AddOutputRows(list_);
    if (!spec_.multi_token_prediction.has_value()) return;
    const MultiTokenPredictionSpec& modules = *spec_.multi_token_prediction;
    ActivationPlace place = {.part = ModelPart::kMultiTokenPrediction,
                             .layers = modules.module_count};
    list_.GoTo(place);
    AddMultiTokenPredictionRows(list_);
    place.layer_kind = modules.layer_kind;
    list_.GoTo(place);
    AddLayerRows(spec_.layer_kinds[static_cast<size_t>(modules.layer_kind)], list_);
  }

  absl::StatusOr<Bytes> Sum() const { return SumOf(list_); }

 private:
  bool has_encoder() const { return !spec_.encoder.layers.empty(); }
  bool has_decoder() const { return !spec_.decoder.layers.empty(); }

  void AddEmbedding(ModelPart part, const StackSpec& stack) {
    list_.GoTo({.part = part});
    AddEmbeddingRows(stack, list_);
  }

  // The inputs of blocks of layers, which end where a chunk or the encoder does.
  void AddBlocks() {
    const int64_t encoder_layers = LayerCountOf(spec_.encoder);
    const int64_t block = context_.batch.recomputation.layers_per_block;
    int64_t encoder_blocks = 0;
    int64_t decoder_blocks = 0;
    for (int64_t i = 0; i < context_.layout.virtual_stage_count; ++i) {
      const LayerRange chunk = placement_.ChunkOf(stage_, i);
      const int64_t encoder = std::clamp<int64_t>(encoder_layers - chunk.first, 0, chunk.count);
      encoder_blocks += CeilDivide(encoder, block);
      decoder_blocks += CeilDivide(chunk.count - encoder, block);
    }
    list_.GoTo({.part = ModelPart::kEncoder, .layers = encoder_blocks});
    if (encoder_blocks > 0) AddLayerInputRow(list_);
    list_.GoTo({.part = ModelPart::kDecoder, .layers = decoder_blocks});
    if (decoder_blocks > 0) AddLayerInputRow(list_);
  }

  bool ReadsEncoder() const {
    for (size_t kind = 0; kind < spec_.layer_kinds.size(); ++kind) {
      if (spec_.layer_kinds[kind].cross_attention.has_value() &&
          placement_.On(stage_, ModelPart::kDecoder, static_cast<int>(kind)).count > 0) {
        return true;
      }
    }
    return false;
  }

  const ArchitectureSpec& spec_;
  const ActivationContext& context_;
  const LayerPlacement& placement_;
  const int64_t stage_;
  ActivationList list_;
};

}  // namespace

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
  StageRows stage_rows(context, placement, stage, rows);
  stage_rows.AddEmbeddings();
  stage_rows.AddLayers();
  stage_rows.AddEncoderEnd();
  stage_rows.AddOutput();
  return stage_rows.Sum();
}

}  // namespace sextant
