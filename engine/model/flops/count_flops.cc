#include "engine/model/flops/count_flops.h"

#include <array>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/model/flops/attended_length.h"
#include "engine/model/flops/layer_flops.h"
#include "engine/model/flops/step_flops.h"

namespace sextant {
namespace {

using Tensors = absl::Span<const WeightTensor>;

// Shared by the parts of a model while its FLOPs are counted.
struct ModelFlopsContext {
  const ArchitectureSpec& spec;
  const TrainingStepSpec& step;
  const TokenShares& shares;
  FlopsTally& tally;
};

// The number of tokens that a matrix outside layers processes, and whether its input needs a
// gradient.
struct MatrixUse {
  double uses;
  bool input_needs_gradient;
};

// The properties shared by all layers of `kind` in `part`; the caller sets gradients.
LayerGroup LayerGroupOf(const ModelFlopsContext& context, ModelPart part, int kind,
                        Tensors tensors) {
  const LayerSpec& layer = context.spec.layer_kinds[static_cast<size_t>(kind)];
  const bool encoder = part == ModelPart::kEncoder && HasTwoStacks(context.spec);
  LayerGroup group = {.layer = layer,
                      .hidden_size = context.spec.hidden_size,
                      .tensors = tensors,
                      .tokens = encoder ? context.shares.encoder_tokens() : 1,
                      .encoder_tokens = context.shares.encoder_tokens(),
                      .cross_pairs = context.shares.cross_pairs(),
                      .recompute = context.step.recompute,
                      .expert_capacity = context.step.expert_capacity_factor.value_or(1)};
  if (layer.attention.has_value()) {
    group.attended = context.shares.Attended(*layer.attention, encoder);
    AttentionSpec all = *layer.attention;
    if (all.latent.has_value() && all.latent->indexer.has_value()) {
      all.latent->indexer.reset();
      group.indexed = context.shares.Attended(all, encoder);
    }
  }
  return group;
}

// True where `tensors`, which are outside layers, include a trained one of that name.
bool Trains(Tensors tensors, absl::string_view module, absl::string_view name) {
  for (const WeightTensor& tensor : tensors) {
    if (tensor.module == module && tensor.name == name && IsTrained(tensor, false)) return true;
  }
  return false;
}

// Takes the next tensors of one part and kind of layer from the front of `rest`. Empty if these
// are not of `part`, or are inside a layer where `layers` is false, or outside where it is true.
Tensors TakeGroup(ModelPart part, bool layers, Tensors& rest) {
  size_t size = 0;
  while (size < rest.size() && rest[size].part == part && (rest[size].layer_kind >= 0) == layers &&
         rest[size].layer_kind == rest[0].layer_kind) {
    ++size;
  }
  const Tensors group = rest.first(size);
  rest.remove_prefix(size);
  return group;
}

// Adds a matrix outside layers: under `component`, or as an adapter.
void AddMatrix(const WeightTensor& tensor, FlopsComponent component, const MatrixUse& use,
               FlopsTally& tally) {
  const bool adapter = tensor.component == WeightComponent::kAdapter;
  // The input of an adapter's second matrix is the output of its first, which is trained.
  const bool inner = tensor.role == WeightRole::kAdapterUp;
  tally.Add(adapter ? FlopsComponent::kAdapter : component,
            PassesOf({.forward = ProductOf(tensor) * use.uses,
                      .input_needs_gradient = inner || use.input_needs_gradient,
                      .trained = IsTrained(tensor, false)}));
}

// A look-up in a table is not a product. Of its adapter, the second matrix is looked up and the
// first one multiplies the result.
void AddLookup(const WeightTensor& tensor, double uses, FlopsTally& tally) {
  if (tensor.role != WeightRole::kAdapterDown) return;
  AddMatrix(tensor, FlopsComponent::kAdapter, {.uses = uses, .input_needs_gradient = true}, tally);
}

// The input of an encoder or a decoder.
struct StackInput {
  ModelPart part;
  bool embedding_needs_gradient = false;
  bool encoder_output_needs_gradient = false;
};

// The layers of one kind, by whether they are frozen and whether their input needs a gradient.
struct KindLayers {
  Tensors tensors = {};
  std::array<bool, 2> train = {};  // true where gradients start in such a layer, by frozen
  std::array<std::array<int64_t, 2>, 2> layers = {};
};

class StackCount {
 public:
  StackCount(const ModelFlopsContext& context, const StackInput& input, Tensors& rest)
      : context_(context),
        input_(input),
        ends_(TakeGroup(input.part, false, rest)),
        scores_bias_trained_(Trains(ends_, "relative_position_bias", "")),
        kinds_(context.spec.layer_kinds.size()) {
    while (!rest.empty() && rest[0].part == input.part) {
      KindLayers& kind = kinds_[static_cast<size_t>(rest[0].layer_kind)];
      kind.tensors = TakeGroup(input.part, true, rest);
    }
  }

  bool Add() {
    const bool encoder = input_.part == ModelPart::kEncoder && HasTwoStacks(context_.spec);
    context_.tally.GoTo(input_.part, -1);
    for (const WeightTensor& tensor : ends_) {
      AddLookup(tensor, encoder ? context_.shares.encoder_tokens() : 1, context_.tally);
    }
    for (size_t kind = 0; kind < kinds_.size(); ++kind) SetWhatTrains(static_cast<int>(kind));
    const bool needs = SortLayers();
    for (size_t kind = 0; kind < kinds_.size(); ++kind) AddKind(static_cast<int>(kind));
    return needs || Trains(ends_, "norm", "final");
  }

 private:
  void SetWhatTrains(int kind) {
    KindLayers& layers = kinds_[static_cast<size_t>(kind)];
    if (layers.tensors.empty()) return;
    LayerGroup group = {.layer = context_.spec.layer_kinds[static_cast<size_t>(kind)],
                        .tensors = layers.tensors};
    SetGradients(group);
    for (const bool frozen : {false, true}) {
      layers.train[frozen] = OutputNeedsGradient(group, {.layers = 1, .frozen = frozen});
    }
  }

  void SetGradients(LayerGroup& group) const {
    group.scores_bias_trained = scores_bias_trained_;
    group.encoder_output_needs_gradient = input_.encoder_output_needs_gradient;
  }

  // Counts layers by state, run by run: once a gradient is needed, everything after it needs one.
  // Returns true where the output of the last layer does.
  bool SortLayers() {
    bool needs = input_.embedding_needs_gradient || Trains(ends_, "position_embedding", "") ||
                 Trains(ends_, "norm", "embedding");
    const StackSpec& stack =
        input_.part == ModelPart::kEncoder ? context_.spec.encoder : context_.spec.decoder;
    for (const LayerRun& run : stack.layers) {
      KindLayers& kind = kinds_[static_cast<size_t>(run.layer_kind)];
      const bool trains = kind.train[run.frozen];
      const int64_t without = needs ? 0 : trains ? 1 : run.count;
      kind.layers[run.frozen][false] += without;
      kind.layers[run.frozen][true] += run.count - without;
      needs = needs || trains;
    }
    return needs;
  }

  void AddKind(int kind) {
    const KindLayers& layers = kinds_[static_cast<size_t>(kind)];
    if (layers.tensors.empty()) return;
    LayerGroup group = LayerGroupOf(context_, input_.part, kind, layers.tensors);
    SetGradients(group);
    context_.tally.GoTo(input_.part, kind);
    for (const bool frozen : {false, true}) {
      for (const bool needs : {false, true}) {
        const int64_t count = layers.layers[frozen][needs];
        if (count > 0) AddLayerFlops(group, {count, frozen, needs}, context_.tally);
      }
    }
  }

  const ModelFlopsContext& context_;
  const StackInput& input_;
  const Tensors ends_;
  const bool scores_bias_trained_;
  absl::InlinedVector<KindLayers, 8> kinds_;
};

// Adds the stack whose tensors are at the front of `rest`, and removes them. Returns true where
// its output needs a gradient. Time is linear in its runs, not its layers.
bool AddStackFlops(const ModelFlopsContext& context, const StackInput& input, Tensors& rest) {
  return StackCount(context, input, rest).Add();
}

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

  // The first token of each sequence passes through the pooler, and a classifier after it.
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

  // Passes through the matrices that turn hidden states into logits. A main model makes one; each
  // multi-token prediction module makes its own.
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
    // A tied head has no matrix of its own: it uses the token embedding's, which is first.
    if (context_.spec.output.head == OutputHeadKind::kTied) {
      AddMatrix(input_[0], FlopsComponent::kOutputHead, {passes.count, head_needs}, context_.tally);
    }
  }

  // `count` multi-token prediction modules, and the gradients needed in each.
  struct Modules {
    double count;
    bool joined;  // of hidden state and embedding, the projection's input
    LayerState layer;
    bool head_input;
  };

  // Source: DeepSeek-V3, arXiv 2412.19437, section 2.2. Each module joins the previous module's
  // hidden state (first: the input of the main model's head) with the embedding of a later token,
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
    bool hidden_needs_gradient;  // of the first module's input
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
