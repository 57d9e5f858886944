#include "engine/memory/activations/end_rows.h"

#include <algorithm>

#include "engine/memory/activations/sources.h"

namespace sextant {
namespace {

using Cut = ActivationCut;
using Kind = ElementKind;
namespace source = activation_source;

constexpr char kNormGradient[] = "gradient of the norm";

int64_t HiddenOf(const ActivationList& out) { return out.context().spec.hidden_size; }

int64_t EmbeddingSizeOf(const ActivationList& out) {
  const EmbeddingSpec& embedding = out.context().spec.embedding;
  return embedding.embedding_size == 0 ? HiddenOf(out) : embedding.embedding_size;
}

// The vocabulary's share of a rank of tensor parallelism.
int64_t LogitsOf(const ActivationList& out) {
  const EmbeddingSpec& embedding = out.context().spec.embedding;
  const int64_t rows = embedding.padded_vocabulary_size == 0 ? embedding.vocabulary_size
                                                             : embedding.padded_vocabulary_size;
  return rows / out.tensor_ranks();
}

void AddNorm(absl::string_view name, ActivationList& out) {
  out.Enter("norm");
  out.Add({.name = name,
           .shape = "b s h",
           .width = HiddenOf(out),
           .kept_for = kNormGradient,
           .source = source::kEnds});
}

void AddMatmulInput(absl::string_view module, int64_t width, Cut cut, ActivationList& out) {
  out.Enter(module);
  out.Add({.name = "input",
           .shape = width == HiddenOf(out) ? "b s h" : "b s e",
           .kind = Kind::kMatmulInput,
           .cut = cut,
           .width = width,
           .kept_for = "weight gradient",
           .source = source::kEnds});
}

void AddTokenIds(ActivationList& out) {
  out.Enter("token_embedding");
  out.Add({.name = "ids",
           .shape = "b s",
           .kind = Kind::kIndex,
           .cut = Cut::kContext,
           .width = 1,
           .kept_for = "rows of the embedding's gradient",
           .source = source::kChainRule});
}

void AddPooler(ActivationList& out) {
  const CheckedInt elements = CheckedInt(out.batch().sequence_count) * HiddenOf(out);
  out.Enter("pooler");
  ActivationRow row = {.name = "input",
                       .shape = "b h",
                       .kind = Kind::kMatmulInput,
                       .cut = Cut::kContext,
                       .width = elements,
                       .kept_for = "weight gradient",
                       .source = source::kChainRule};
  out.AddWhole(row);
  row.name = "output";
  row.kind = Kind::kCompute;
  row.kept_for = "gradient of its tanh, weight gradient of the classifier";
  out.AddWhole(row);
}

void AddTransform(ActivationList& out) {
  AddMatmulInput("output_transform", HiddenOf(out), Cut::kSequence, out);
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

// Gradients of a chunk's logits are worked out while they are there, so that the gradient of the
// head's input takes the place of the input, and one chunk's logits are all that there ever are.
void AddChunkedLoss(ActivationList& out) {
  out.Enter("output_head");
  out.Add({.name = "input_gradient",
           .shape = "b s h",
           .width = EmbeddingSizeOf(out),
           .kept_for = "the backward pass behind the head",
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

void AddLoss(ActivationList& out) {
  const LossKind loss = out.batch().loss;
  if (loss == LossKind::kChunked) return AddChunkedLoss(out);
  AddMatmulInput("output_head", EmbeddingSizeOf(out), Cut::kSequence, out);
  out.Enter("loss");
  ActivationRow row = {.name = "logits",
                       .shape = "b s V",
                       .cut = Cut::kTensor,
                       .width = LogitsOf(out),
                       .kept_for = loss == LossKind::kFused ? "gradient of the loss"
                                                            : "nothing: they are the output",
                       .source = source::kChainRule};
  if (loss != LossKind::kVocabularyParallel) out.Add(row);
  row.kind = Kind::kFp32;
  row.kept_for = "gradient of the loss";
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

void AddEmbeddingRows(const StackSpec& stack, ActivationList& out) {
  AddTokenIds(out);
  if (EmbeddingSizeOf(out) != HiddenOf(out)) {
    AddMatmulInput("embedding_projection", EmbeddingSizeOf(out), Cut::kContext, out);
  }
  if (stack.embedding_norm) AddNorm("embedding", out);
  if (!out.batch().dropout) return;
  out.Enter("token_embedding");
  out.Add({.name = "dropout_mask",
           .shape = "b s h",
           .kind = Kind::kMask,
           .width = HiddenOf(out),
           .kept_for = "gradient of dropout",
           .source = source::kEnds});
}

void AddFinalNormRow(const StackSpec& stack, ActivationList& out) {
  if (stack.final_norm) AddNorm("final", out);
}

void AddEncoderOutputRow(ActivationList& out) {
  AddMatmulInput("encoder_output", HiddenOf(out), Cut::kSequence, out);
}

void AddOutputRows(ActivationList& out) {
  const OutputSpec& output = out.context().spec.output;
  if (output.pooler) AddPooler(out);
  if (output.head == OutputHeadKind::kNone) return;
  if (output.transform) AddTransform(out);
  if (EmbeddingSizeOf(out) != HiddenOf(out)) {
    AddMatmulInput("embedding_projection", HiddenOf(out), Cut::kSequence, out);
  }
  AddLoss(out);
}

// Source: DeepSeek-V3 (arXiv 2412.19437) section 2.2.
void AddMultiTokenPredictionRows(ActivationList& out) {
  const MultiTokenPredictionSpec& modules = *out.context().spec.multi_token_prediction;
  AddTokenIds(out);
  AddNorm("token", out);
  AddNorm("hidden", out);
  AddMatmulInput("projection", 2 * HiddenOf(out), Cut::kSequence, out);
  if (modules.final_norm) AddNorm("final", out);
  if (out.context().spec.output.head != OutputHeadKind::kNone) AddLoss(out);
}

}  // namespace sextant
