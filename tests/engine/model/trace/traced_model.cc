#include "tests/engine/model/trace/traced_model.h"

#include <algorithm>

#include "engine/model/architecture/model_weights.h"
#include "engine/model/trace/end_trace.h"

namespace sextant {

double KeptBytes(const Trace& trace) {
  std::vector<bool> recomputed(trace.tensors.size());
  std::vector<bool> read(trace.tensors.size());
  for (const TraceOp& op : trace.ops) {
    if (op.pass == TracePass::kForward) continue;
    for (const TraceOperand& operand : op.reads) {
      if (!operand.gradient) read[operand.tensor] = true;
    }
    if (op.pass != TracePass::kRecompute) continue;
    for (const TraceOperand& operand : op.writes) {
      const bool in_place = std::any_of(
          op.reads.begin(), op.reads.end(),
          [&operand](const TraceOperand& other) { return other.tensor == operand.tensor; });
      if (!in_place) recomputed[operand.tensor] = true;
    }
  }
  double bytes = 0;
  for (size_t i = 0; i < trace.tensors.size(); ++i) {
    const TraceTensor& tensor = trace.tensors[i];
    if (read[i] && !recomputed[i] && !tensor.kept_elsewhere) bytes += tensor.bytes();
  }
  return bytes;
}

TracedModel::TracedModel(const TraceContext& context)
    : context_(context), tensors_(WeightsOf(context.spec)) {
  for (const WeightTensor& tensor : tensors_) {
    shards_.push_back(ShardOf(context.spec, tensor, context.layout));
  }
  const TraceWeights all = {tensors_, shards_};
  if (!context.spec.encoder.layers.empty()) AddStack(ModelPart::kEncoder, context.spec.encoder);
  if (!context.spec.decoder.layers.empty()) AddStack(ModelPart::kDecoder, context.spec.decoder);
  Piece output = {.part = ModelPart::kOutput};
  AppendOutputTrace(context, all, output.trace);
  pieces_.push_back(output);
  if (!context.spec.multi_token_prediction.has_value()) return;
  const MultiTokenPredictionSpec& modules = *context.spec.multi_token_prediction;
  for (int64_t i = 0; i < modules.module_count; ++i) {
    Piece piece = {.part = ModelPart::kMultiTokenPrediction};
    AppendModuleTrace(context, all, piece.trace);
    pieces_.push_back(piece);
    AddLayer(piece.part, modules.layer_kind, {false, context.flow->modules().layer_input});
  }
}

void TracedModel::AddLayer(ModelPart part, int kind, LayerGradientState state) {
  std::vector<WeightTensor> tensors;
  std::vector<TensorShard> shards;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].part != part || tensors_[i].layer_kind != kind) continue;
    tensors.push_back(tensors_[i]);
    shards.push_back(shards_[i]);
  }
  Piece piece = {.part = part, .layer_kind = kind, .state = state};
  AppendLayerTrace(context_, {tensors, shards, state.frozen}, {part, kind, state}, piece.trace);
  pieces_.push_back(piece);
}

void TracedModel::AddStack(ModelPart part, const StackSpec& stack) {
  Piece ends = {.part = part};
  AppendEmbeddingTrace(context_, {tensors_, shards_}, part, ends.trace);
  if (stack.final_norm) AppendFinalNormTrace(context_, {tensors_, shards_}, part, ends.trace);
  pieces_.push_back(ends);
  bool needs = context_.flow->StackOf(part).embedding_needs;
  for (const LayerRun& run : stack.layers) {
    for (int64_t i = 0; i < run.count; ++i) {
      const LayerGradientState state = {run.frozen, needs};
      AddLayer(part, run.layer_kind, state);
      needs =
          needs ||
          context_.flow->Of(part, run.layer_kind, state).needs.Has(ActivationSite::kLayerOutput);
    }
  }
}

}  // namespace sextant
