#include "engine/memory/activations/end_rows.h"

#include <algorithm>

namespace sextant {
namespace {

using Cut = ActivationCut;
using Kind = ElementKind;
namespace source = activation_source;

constexpr char kNormGradient[] = "gradient of the norm";
constexpr int64_t kWideBytes = 4;

int64_t HiddenOf(const ActivationList& out) { return out.context().spec.hidden_size; }

int64_t EmbeddingSizeOf(const ActivationList& out) {
  return sextant::EmbeddingSizeOf(out.context().spec);
}

int64_t LogitsOf(const ActivationList& out) { return sextant::LogitsOf(out.context()); }

void AddNorm(absl::string_view name, ActivationList& out) {
  out.Enter("norm");
  const GradientFlow* flow = out.context().flow;
  out.AddNorm({.name = name, .shape = "b s h", .width = HiddenOf(out), .source = source::kEnds},
              {.variant = out.context().spec.norm,
               .trained = flow == nullptr || flow->adapter_rank() == 0});
}

void AddMatmulInput(absl::string_view module, int64_t width, Cut cut, const MatmulUse& use,
                    ActivationList& out) {
  out.Enter(module);
  out.AddMatmulInput({.name = "input",
                      .shape = width == HiddenOf(out) ? "b s h" : "b s e",
                      .kind = Kind::kMatmulInput,
                      .cut = cut,
                      .width = width,
                      .kept_for = "weight gradient",
                      .source = source::kEnds},
                     use);
}

// Adds the gradient of the output of a matrix outside the layers.
void AddOutputGradient(ActivationRow row, const MatmulUse& use, ActivationList& out) {
  row.name = "output_gradient";
  out.AddOutputGradient(row, use);
}

void AddTokenIds(ActivationList& out) {
  out.Enter("token_embedding");
  if (!EndsOf(out.context().flow).ids_kept) return;
  out.Add({.name = "ids",
           .shape = "b s",
           .kind = Kind::kIndex,
           .cut = Cut::kContext,
           .width = 1,
           .kept_for = "rows of the embedding's gradient",
           .source = source::kChainRule});
  // For an adapter of the table, the looked-up rows are its inner tensor.
  const int64_t adapters = EndsOf(out.context().flow).token_embedding_adapters;
  if (adapters > 0) out.AddAdapterInner({.adapters = adapters});
}

void AddPooler(ActivationList& out) {
  const EndGradients& ends = EndsOf(out.context().flow);
  const CheckedInt elements = CheckedInt(out.batch().sequence_count) * HiddenOf(out);
  out.Enter("pooler");
  ActivationRow row = {.name = "input",
                       .shape = "b h",
                       .kind = Kind::kMatmulInput,
                       .cut = Cut::kContext,
                       .width = elements,
                       .for_weights = true,
                       .kept_for = "weight gradient",
                       .source = source::kChainRule};
  if (ends.pooler.trained || ends.pooler.adapters > 0) out.AddWhole(row);
  row.name = "output";
  row.kind = Kind::kCompute;
  row.kept_for = "gradient of its tanh, weight gradient of the classifier";
  const bool classifier = ends.classifier.trained || ends.classifier.adapters > 0;
  if (classifier || ends.classifier.needs_gradient) out.AddWhole(row);
}

void AddTransform(ActivationList& out) {
  const EndGradients& ends = EndsOf(out.context().flow);
  AddMatmulInput("output_transform", HiddenOf(out), Cut::kSequence, ends.transform, out);
  AddOutputGradient({.shape = "b s h", .width = HiddenOf(out)}, ends.transform, out);
  if (!ends.transform_output_needs) return;
  ActivationRow row = {.name = "activation_input",
                       .shape = "b s h",
                       .width = HiddenOf(out),
                       .kept_for = "gradient of the activation function",
                       .source = source::kChainRule};
  out.Add(row);
  row.name = "norm_input";
  row.kept_for = kNormGradient;
  out.Add(row);
}

// The gradients of a chunk's logits are computed while the logits exist. The gradient of the
// head's input overwrites the input, and only one chunk's logits exist at a time.
void AddChunkedLoss(ActivationList& out) {
  out.Enter("output_head");
  out.Add({.name = "input_gradient",
           .shape = "b s h",
           .width = EmbeddingSizeOf(out),
           .kept_for = "the backward pass after the head",
           .source = source::kChainRule});
  const int64_t tokens = TokensOf(out.context(), ModelPart::kOutput);
  out.Enter("loss");
  out.AddWhole(
      {.name = "chunk_logits",
       .shape = "chunk V",
       .cut = Cut::kTensor,
       .width = CheckedInt(std::min(out.batch().loss_chunk_tokens, tokens)) * LogitsOf(out),
       .kept_for = "the loss and its gradient, in the forward pass",
       .source = source::kChainRule});
}

void AddLoss(const MatmulUse& head, ActivationList& out) {
  const LossKind loss = out.batch().loss;
  if (loss == LossKind::kChunked) return AddChunkedLoss(out);
  AddMatmulInput("output_head", EmbeddingSizeOf(out), Cut::kSequence, head, out);
  AddOutputGradient({.shape = "b s V", .cut = Cut::kTensor, .width = LogitsOf(out)}, head, out);
  out.Enter("loss");
  ActivationRow row = {.name = "logits",
                       .shape = "b s V",
                       .cut = Cut::kTensor,
                       .width = LogitsOf(out),
                       .kept_for = OverwritesLogits(out.batch()) ? "gradient of the loss"
                                                                 : "nothing: they are the output",
                       .source = source::kChainRule};
  if (loss == LossKind::kPlain && out.batch().wide_outputs) row.kind = Kind::kFp32;
  const bool copy_is_output = LogitCopiesOf(out.batch()) == LogitCopies::kOutput;
  if (!SoftmaxTakesTheirPlace(loss) && !copy_is_output) out.Add(row);
  row.kind = Kind::kFp32;
  row.kept_for = "gradient of the loss";
  if (loss == LossKind::kFused && !OverwritesLogits(out.batch())) {
    row.name = "wide_logits";
    out.Add(row);
  }
  if (loss == LossKind::kFused) {
    row.name = "softmax_statistics";
    row.shape = "b s";
    row.cut = Cut::kContext;
    row.width = 1;
  } else {
    row.name = "softmax";
    row.source = source::kEnds;
  }
  out.Add(row);
}

}  // namespace

int64_t EmbeddingSizeOf(const ArchitectureSpec& spec) {
  return spec.embedding.embedding_size == 0 ? spec.hidden_size : spec.embedding.embedding_size;
}

bool SoftmaxTakesTheirPlace(LossKind loss) {
  return loss == LossKind::kVocabularyParallel || loss == LossKind::kVocabularyParallelCompiled;
}

LogitCopies LogitCopiesOf(const MicroBatchSpec& batch) {
  return ComputeBytesOf(batch) < kWideBytes ? batch.logit_copies : LogitCopies::kNone;
}

bool OverwritesLogits(const MicroBatchSpec& batch) {
  return batch.loss == LossKind::kFused && LogitCopiesOf(batch) == LogitCopies::kNone;
}

// The part of the vocabulary whose logits a tensor parallel rank has.
int64_t LogitsOf(const ActivationContext& context) {
  const EmbeddingSpec& embedding = context.spec.embedding;
  const int64_t rows = embedding.padded_vocabulary_size == 0 ? embedding.vocabulary_size
                                                             : embedding.padded_vocabulary_size;
  return context.batch.whole_logits ? rows : rows / context.tensor_ranks();
}

void AddEmbeddingRows(const StackSpec& stack, ModelPart part, ActivationList& out) {
  const StackGradients& gradients = StackOf(out.context().flow, part);
  AddTokenIds(out);
  if (EmbeddingSizeOf(out) != HiddenOf(out)) {
    AddMatmulInput("embedding_projection", EmbeddingSizeOf(out), Cut::kContext,
                   EndsOf(out.context().flow).projection_into, out);
    AddOutputGradient({.shape = "b s h", .width = HiddenOf(out)},
                      EndsOf(out.context().flow).projection_into, out);
  }
  if (stack.embedding_norm && gradients.embedding_norm_needs) AddNorm("embedding", out);
  if (!out.batch().dropout || !gradients.embedding_needs) return;
  out.Enter("token_embedding");
  out.Add({.name = "dropout_mask",
           .shape = "b s h",
           .kind = Kind::kMask,
           .width = HiddenOf(out),
           .kept_for = "gradient of dropout",
           .source = source::kEnds});
}

void AddFinalNormRow(const StackSpec& stack, ModelPart part, ActivationList& out) {
  if (stack.final_norm && StackOf(out.context().flow, part).final_norm_needs) AddNorm("final", out);
}

void AddEncoderOutputRow(ActivationList& out) {
  AddMatmulInput("encoder_output", HiddenOf(out), Cut::kSequence, MatmulUse(), out);
}

void AddStageOutputRow(ActivationList& out) {
  out.Enter("pipeline");
  out.Add({.name = "stage_output",
           .shape = "b s h",
           .width = out.context().spec.hidden_size,
           .kept_for = "its backward pass, which starts from it",
           .source = source::kStageOutput});
}

void AddOutputRows(ActivationList& out) {
  const OutputSpec& output = out.context().spec.output;
  if (output.pooler) AddPooler(out);
  if (output.head == OutputHeadKind::kNone) return;
  if (output.transform) AddTransform(out);
  if (EmbeddingSizeOf(out) != HiddenOf(out)) {
    AddMatmulInput("embedding_projection", HiddenOf(out), Cut::kSequence,
                   EndsOf(out.context().flow).projection_out, out);
    AddOutputGradient({.shape = "b s e", .width = EmbeddingSizeOf(out)},
                      EndsOf(out.context().flow).projection_out, out);
  }
  AddLoss(EndsOf(out.context().flow).head, out);
}

// Source: DeepSeek-V3 (arXiv 2412.19437) section 2.2.
void AddMultiTokenPredictionRows(ActivationList& out) {
  const MultiTokenPredictionSpec& modules = *out.context().spec.multi_token_prediction;
  const ModuleGradients& gradients = ModulesOf(out.context().flow);
  AddTokenIds(out);
  if (gradients.token_norm) AddNorm("token", out);
  if (gradients.hidden_norm) AddNorm("hidden", out);
  AddMatmulInput("projection", 2 * HiddenOf(out), Cut::kSequence, gradients.projection, out);
  AddOutputGradient({.shape = "b s h", .width = HiddenOf(out)}, gradients.projection, out);
  if (modules.final_norm && gradients.final_norm) AddNorm("final", out);
  if (out.context().spec.output.head != OutputHeadKind::kNone) AddLoss(gradients.head, out);
}

}  // namespace sextant
