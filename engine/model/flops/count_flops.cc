#include "engine/model/flops/count_flops.h"

#include "absl/types/span.h"
#include "engine/model/flops/model_flops_context.h"
#include "engine/model/flops/stack_flops.h"

namespace sextant {
namespace {

using Tensors = absl::Span<const WeightTensor>;

class ModelCount {
 public:
  ModelCount(const ModelFlopsContext& context, Tensors tensors)
      : context_(context), rest_(tensors) {}

  void Add() {
    AddInput();
    const ArchitectureSpec& spec = context_.spec;
    bool needs = false;
    if (!spec.encoder.layers.empty()) {
      needs = AddStackFlops(context_, {ModelPart::kEncoder, embedding_needs_gradient_}, rest_);
    }
    if (!spec.decoder.layers.empty()) {
      needs =
          AddStackFlops(context_, {ModelPart::kDecoder, embedding_needs_gradient_, needs}, rest_);
    }
    output_ = TakeGroup(ModelPart::kOutput, false, rest_);
    AddPooler(needs);
    AddHead({ModelPart::kOutput, 1, needs});
    if (spec.multi_token_prediction.has_value()) AddMultiTokenPrediction(needs);
  }

 private:
  void AddInput() {
    input_ = TakeGroup(ModelPart::kInput, false, rest_);
    const bool looked_up =
        Trains(input_, "token_embedding", "") || Trains(input_, "token_type_embedding", "");
    embedding_needs_gradient_ = looked_up || Trains(input_, "embedding_projection", "into");
    const double uses = 1 + context_.shares.encoder_tokens();
    context_.tally.GoTo(ModelPart::kInput, -1);
    for (const WeightTensor& tensor : input_) {
      if (tensor.module == "embedding_projection") {
        AddMatrix(tensor, FlopsComponent::kEmbeddingProjection, {uses, looked_up}, context_.tally);
      } else {
        AddLookup(tensor, uses, context_.tally);
      }
    }
  }

  // The first token of each sequence passes the pooler, and a classifier behind it.
  void AddPooler(bool needs) {
    context_.tally.GoTo(ModelPart::kOutput, -1);
    const bool pooled_needs = needs || Trains(output_, "pooler", "");
    for (const WeightTensor& tensor : output_) {
      if (tensor.module != "pooler" || !IsMatrix(tensor)) continue;
      AddMatrix(tensor, FlopsComponent::kPooler,
                {context_.shares.sequences(), tensor.name.empty() ? needs : pooled_needs},
                context_.tally);
    }
  }

  // Passes of all that turns hidden states into logits. Of a main model there is one; each module
  // of multi-token prediction makes its own.
  struct HeadPasses {
    ModelPart part;
    double count;
    bool input_needs_gradient;
  };

  void AddHead(const HeadPasses& passes) {
    if (context_.spec.output.head == OutputHeadKind::kNone) return;
    const bool projected_needs = passes.input_needs_gradient ||
                                 Trains(output_, "output_transform", "") ||
                                 Trains(output_, "output_transform", "norm");
    const bool head_needs = projected_needs || Trains(output_, "embedding_projection", "out_of");
    context_.tally.GoTo(passes.part, -1);
    for (const WeightTensor& tensor : output_) {
      if (!IsMatrix(tensor)) continue;
      if (tensor.module == "output_transform") {
        AddMatrix(tensor, FlopsComponent::kOutputTransform,
                  {passes.count, passes.input_needs_gradient}, context_.tally);
      } else if (tensor.module == "embedding_projection") {
        AddMatrix(tensor, FlopsComponent::kEmbeddingProjection, {passes.count, projected_needs},
                  context_.tally);
      } else if (tensor.module == "output_head") {
        AddMatrix(tensor, FlopsComponent::kOutputHead, {passes.count, head_needs}, context_.tally);
      }
    }
    // A tied head has no matrix of its own: it multiplies by the token embedding's, the first.
    if (context_.spec.output.head == OutputHeadKind::kTied) {
      AddMatrix(input_[0], FlopsComponent::kOutputHead, {passes.count, head_needs}, context_.tally);
    }
  }

  // `count` modules of multi-token prediction, and what needs a gradient in each.
  struct Modules {
    double count;
    bool joined;  // the hidden state and the embedding, which the projection reads
    LayerState layer;
    bool head_input;
  };

  // Source: DeepSeek-V3, arXiv 2412.19437, section 2.2. Each module joins the hidden state of the
  // one before it (of the main model: what its head reads) with the embedding of a later token,
  // both normalised, and passes the projection of the two through a layer and the head.
  void AddMultiTokenPrediction(bool needs) {
    const MultiTokenPredictionSpec& spec = *context_.spec.multi_token_prediction;
    const Tensors ends = TakeGroup(ModelPart::kMultiTokenPrediction, false, rest_);
    const Tensors layer = TakeGroup(ModelPart::kMultiTokenPrediction, true, rest_);
    const LayerGroup group =
        LayerGroupOf(context_, ModelPart::kMultiTokenPrediction, spec.layer_kind, layer);
    const Modules first = ModulesAfter(group, ends, {1, needs});
    const Modules others =
        ModulesAfter(group, ends, {spec.module_count - 1, OutputNeedsGradient(group, first.layer)});
    for (const Modules& modules : {first, others}) AddModuleEnds(ends, modules);
    context_.tally.GoTo(ModelPart::kMultiTokenPrediction, spec.layer_kind);
    for (const Modules& modules : {first, others}) {
      AddLayerFlops(group, modules.layer, context_.tally);
    }
  }

  struct Chain {
    int64_t modules;
    bool hidden_needs_gradient;  // what the first of them reads
  };

  Modules ModulesAfter(const LayerGroup& group, Tensors ends, const Chain& chain) const {
    Modules out = {.count = static_cast<double>(chain.modules),
                   .joined = chain.hidden_needs_gradient || embedding_needs_gradient_ ||
                             Trains(ends, "norm", "hidden") || Trains(ends, "norm", "token"),
                   .layer = {.layers = chain.modules},
                   .head_input = false};
    out.layer.input_needs_gradient = out.joined || Trains(ends, "projection", "");
    out.head_input = OutputNeedsGradient(group, out.layer) || Trains(ends, "norm", "final");
    return out;
  }

  void AddModuleEnds(Tensors ends, const Modules& modules) {
    context_.tally.GoTo(ModelPart::kMultiTokenPrediction, -1);
    for (const WeightTensor& tensor : ends) {
      if (!IsMatrix(tensor)) continue;
      AddMatrix(tensor, FlopsComponent::kMultiTokenProjection, {modules.count, modules.joined},
                context_.tally);
    }
    AddHead({ModelPart::kMultiTokenPrediction, modules.count, modules.head_input});
  }

  const ModelFlopsContext& context_;
  Tensors rest_;
  Tensors input_;
  Tensors output_;
  bool embedding_needs_gradient_ = false;
};

}  // namespace

StepFlops CountFlops(const ArchitectureSpec& spec, const WeightTensors& tensors,
                     const TrainingStepSpec& step, FlopsDetail detail) {
  const TokenShares shares(step);
  FlopsTally tally(detail == FlopsDetail::kComponents);
  ModelCount({spec, step, shares, tally}, tensors).Add();
  return tally.Take(shares.tokens());
}

}  // namespace sextant
