#include "engine/memory/transients/end_transients.h"

#include "engine/memory/activations/end_rows.h"

namespace sextant {
namespace {

constexpr int64_t kLossBytes = 4;

bool HasHead(const TransientContext& context) {
  return context.activations.spec.output.head != OutputHeadKind::kNone;
}

LossKind LossOf(const TransientContext& context) { return context.activations.batch.loss; }

bool ComputesInFp32(const TransientContext& context) {
  return ComputeBytesOf(context.activations.batch) >= kLossBytes;
}

// The number of logits on this GPU.
CheckedInt LogitsOn(const TransientContext& context) {
  return CheckedInt(TokensOf(context.activations, ModelPart::kOutput)) *
         LogitsOf(context.activations);
}

// Elements of a rank's part of the head's matrix.
CheckedInt HeadElements(const TransientContext& context) {
  const ActivationContext& a = context.activations;
  const int64_t parts = a.batch.whole_logits ? a.tensor_ranks() : 1;
  return CheckedInt(LogitsOf(a) / parts) * EmbeddingSizeOf(a.spec);
}

bool Gathers(const ActivationContext& context) {
  return SequenceRanks(context.batch, context.layout) > 1;
}

int64_t CutTokensOf(const ActivationContext& context, ModelPart part) {
  return TokensOf(context, part) / SequenceRanks(context.batch, context.layout);
}

void AddWeightGradient(const TransientContext& context, TransientList& out) {
  const GradientFlow* flow = context.activations.flow;
  if (context.buffers.fused_weight_gradient) return;
  if (flow != nullptr && !flow->ends().head.trained) return;
  out.Add({.name = "weight_gradient",
           .shape = "V h",
           .elements = HeadElements(context),
           .element_bytes = StorageBytes(context.gradient_data_type),
           .why = "a tensor of its own before it is added to its buffer"});
}

// Megatron-LM's own matrices make one each time, as large as the weight. Where layers are
// Transformer Engine's, the head is the only such matrix. Source: NVIDIA/Megatron-LM,
// megatron/core/tensor_parallel/layers.py, the backward pass of
// LinearWithGradAccumulationAndAsyncCommunication, "dummy grad_weight".
void AddPlaceholder(const TransientContext& context, TransientList& out) {
  const GradientFlow* flow = context.activations.flow;
  if (!context.head_placeholder) return;
  if (flow != nullptr && !flow->ends().head.trained) return;
  out.Add({.name = "placeholder_gradient",
           .shape = "V h",
           .elements = HeadElements(context),
           .why = "empty, in place of the gradient that was added to its buffer"});
}

LogitCopies CopiesOf(const TransientContext& context) {
  return LogitCopiesOf(context.activations.batch);
}

// True where the loss reads an fp32 copy of the logits, which its gradient overwrites.
bool OverwritesCopy(const TransientContext& context) {
  return LossOf(context) == LossKind::kFused && CopiesOf(context) != LogitCopies::kNone;
}

struct Received {
  absl::string_view name;
  absl::string_view why;
  CheckedInt elements;
};

LedgerRow RowOf(const Received& received, const MicroBatchSpec& batch) {
  const int64_t bytes = ComputeBytesOf(batch);
  return {.kind = LedgerKind::kCommunicationBuffer,
          .module = "pipeline",
          .name = received.name,
          .shape = "b s h",
          .data_type = batch.compute_data_type,
          .element_bits = bytes * kBitsPerByte,
          .elements = received.elements.value(),
          .size = Bytes(received.elements.value() * bytes),
          .alive = "always",
          .why = received.why,
          .source = "derived in docs/memory_transients.md"};
}

// With logits divided among ranks, (grad_input + exp(x)) grad_output has three fp32 tensors at
// once. Source: pytorch/pytorch, torch/distributed/tensor/parallel/loss.py.
void AddPlainLoss(const TransientContext& context, TransientList& out) {
  const auto add = [&](absl::string_view name, absl::string_view why) {
    out.Add({.name = name,
             .shape = "b s V",
             .elements = LogitsOn(context),
             .element_bytes = kLossBytes,
             .why = why});
  };
  add("log_softmax_gradient", "made by the loss's backward pass");
  add("logits_gradient", "made by the softmax's backward pass");
  if (context.activations.tensor_ranks() == 1 || context.activations.batch.whole_logits) return;
  add("probabilities", "exponentiated apart from the sum with their targets");
}

}  // namespace

// Vocabulary-parallel: the 16-bit logits are alive until their fp32 copy has become the softmax.
// In the backward pass the gradient, which overwrites the softmax, is cast back: the same bytes.
// Compiled: the step that exponentiates also sums, so its output is a new tensor, copied back.
// Plain: the gradient of the log-softmax and that of its input, in fp32. Source: Megatron-LM,
// megatron/core/tensor_parallel/cross_entropy.py and, compiled,
// megatron/core/fusions/fused_cross_entropy.py, whose comment says so; docs/memory_transients.md.
void AddLossTransients(const TransientContext& context, TransientList& out) {
  if (!HasHead(context)) return;
  out.GoTo({.part = ModelPart::kOutput, .module = "loss", .alive = "while the loss is computed"});
  switch (LossOf(context)) {
    case LossKind::kVocabularyParallelCompiled:
      out.Add({.name = "exponentials",
               .shape = "b s V",
               .elements = LogitsOn(context),
               .element_bytes = kLossBytes,
               .why = "made before what they are copied over is freed"});
      [[fallthrough]];
    case LossKind::kVocabularyParallel:
      if (ComputesInFp32(context)) return;
      return out.Add({.name = "logits",
                      .shape = "b s V",
                      .elements = LogitsOn(context),
                      .why = "with their softmax; then the gradient, cast back to their type"});
    case LossKind::kPlain:
      return AddPlainLoss(context, out);
    case LossKind::kFused:
      if (!OverwritesCopy(context) || CopiesOf(context) == LogitCopies::kOne) return;
      return out.Add({.name = "wide_logits",
                      .shape = "b s V",
                      .elements = LogitsOn(context),
                      .element_bytes = kLossBytes,
                      .why = "copied once more, without each sequence's last"});
    case LossKind::kChunked:
      return AddWeightGradient(context, out);
  }
}

void AddHeadTransients(const TransientContext& context, TransientList& out) {
  if (!HasHead(context)) return;
  out.GoTo({.part = ModelPart::kOutput,
            .module = "output_head",
            .alive = "in the backward pass of the output head"});
  AddWeightGradient(context, out);
  const LossKind loss = LossOf(context);
  if (loss == LossKind::kChunked) return;
  AddPlaceholder(context, out);
  const bool softmax_is_gradient = SoftmaxTakesTheirPlace(loss) && ComputesInFp32(context);
  if (!OverwritesLogits(context.activations.batch) && !softmax_is_gradient) {
    out.Add({.name = "logits_gradient",
             .shape = "b s V",
             .elements = LogitsOn(context),
             .why = "read by the head's matrix"});
  }
  const ActivationContext& a = context.activations;
  const int64_t width = EmbeddingSizeOf(a.spec);
  out.Add({.name = "input_gradient",
           .shape = "b s h",
           .elements = CheckedInt(CutTokensOf(a, ModelPart::kOutput)) * width,
           .why = "made by the head's matrix"});
  if (!Gathers(a)) return;
  const CheckedInt whole = CheckedInt(TokensOf(a, ModelPart::kOutput)) * width;
  if (!context.head_input_is_gathered) {
    out.Add({.name = "gathered_input",
             .shape = "b s h",
             .elements = whole,
             .why = "a rank's weight gradient reads all tokens"});
  }
  out.Add({.name = "unreduced_input_gradient",
           .shape = "b s h",
           .elements = whole,
           .why = "a rank's part of the sum, of all tokens"});
}

CheckedInt FreedBehindLoss(const TransientContext& context) {
  if (!HasHead(context)) return 0;
  switch (LossOf(context)) {
    case LossKind::kVocabularyParallel:
    case LossKind::kVocabularyParallelCompiled:
      return ComputesInFp32(context) ? CheckedInt(0) : LogitsOn(context) * kLossBytes;
    case LossKind::kPlain:
      return LogitsOn(context) * kLossBytes;
    case LossKind::kFused: {
      const CheckedInt copy = OverwritesCopy(context) ? LogitsOn(context) : CheckedInt(0);
      return (copy + TokensOf(context.activations, ModelPart::kOutput)) * kLossBytes;
    }
    case LossKind::kChunked:
      return 0;
  }
  return 0;
}

CheckedInt OutputThatStays(const TransientContext& context) {
  const MicroBatchSpec& batch = context.activations.batch;
  if (!HasHead(context) || (batch.loss != LossKind::kPlain && !OverwritesCopy(context))) return 0;
  if (CopiesOf(context) == LogitCopies::kOutput) return 0;
  const bool wide = batch.loss == LossKind::kPlain && batch.wide_outputs;
  return LogitsOn(context) * (wide ? kLossBytes : ComputeBytesOf(batch));
}

CheckedInt AddReceiveBuffers(const TransientContext& context, int64_t stage, LedgerRows* rows) {
  const ActivationContext& a = context.activations;
  const int64_t stages = a.layout.pipeline_parallel_size;
  if (stages == 1) return 0;
  const bool two_stacks = !a.spec.encoder.layers.empty() && !a.spec.decoder.layers.empty();
  // Between decoder stages the encoder's output is passed along.
  const auto hidden = [&](bool behind) {
    const int64_t from = behind ? stage : stage - 1;
    const int64_t first = context.placement.decoder_first_stage();
    int64_t tokens = CutTokensOf(a, ModelPart::kDecoder);
    if (two_stacks && from + 1 > first) tokens += CutTokensOf(a, ModelPart::kEncoder);
    if (two_stacks && from + 1 <= first) tokens = CutTokensOf(a, ModelPart::kEncoder);
    return CheckedInt(tokens) * a.spec.hidden_size;
  };
  // With several chunks per stage, the first stage receives from the last, and sends to it.
  const bool round = a.layout.virtual_stage_count > 1;
  const Received both[] = {
      {.name = "received_input",
       .why = "of the next micro-batch, from the stage before",
       .elements = stage > 0 || round ? hidden(false) : CheckedInt(0)},
      {.name = "received_output_gradient",
       .why = "of the next micro-batch, from the next stage",
       .elements = stage < stages - 1 || round ? hidden(true) : CheckedInt(0)}};
  CheckedInt total = 0;
  const int64_t bytes = ComputeBytesOf(a.batch);
  const int64_t buffers = context.buffers.keeps_stage_inputs ? context.micro_batch_count : 1;
  for (Received received : both) {
    received.elements = received.elements * buffers;
    const CheckedInt size = received.elements * bytes;
    total = total + size;
    if (rows == nullptr || size.value() == 0) continue;
    rows->push_back(RowOf(received, a.batch));
  }
  return total;
}

}  // namespace sextant
