#include "engine/model/trace/end_trace.h"

#include <algorithm>

namespace sextant {
namespace {

using Element = TraceElement;

constexpr absl::string_view kUnnamed[] = {""};
constexpr absl::string_view kInto[] = {"into"};
constexpr absl::string_view kOutOf[] = {"out_of"};
constexpr absl::string_view kClassifier[] = {"classifier"};
constexpr double kLossBytes = 4;

int64_t EmbeddingWidth(const ArchitectureSpec& spec) {
  return spec.embedding.embedding_size == 0 ? spec.hidden_size : spec.embedding.embedding_size;
}

class EndTrace {
 public:
  EndTrace(const TraceContext& context, const TraceWeights& weights, ModelPart part, Trace& out)
      : context_(context),
        weights_(weights),
        spec_(context.spec),
        out_(context, weights, part, out) {}

  void AddEmbedding() {
    const ModelPart part = out_.part();
    const StackSpec& stack = part == ModelPart::kEncoder ? spec_.encoder : spec_.decoder;
    const StackGradients& gradients = StackOf(context_.flow, part);
    uint8_t embedded = AddLookup();
    const bool projects = EmbeddingWidth(spec_) != hidden();
    if (projects) {
      const uint8_t projected = out_.Make(TokenRows::kSequence, hidden());
      out_.AddProjection(
          {.module = "embedding_projection",
           .op = "into",
           .names = kInto,
           .component = FlopsComponent::kEmbeddingProjection,
           .input = embedded,
           .input_needs_gradient = EndsOf(context_.flow).projection_into.needs_gradient,
           .narrow = false,
           .outputs = {{projected}}});
      embedded = projected;
    }
    if (stack.learned_position_count > 0 || spec_.embedding.token_type_count > 0) {
      out_.Pass(TracePass::kForward, "add_positions", {{embedded}, {embedded}}, {{embedded}});
    }
    AddLookupAdapter("position_embedding", part);
    AddLookupAdapter("relative_position_bias", part);
    AddLookupAdapter("token_type_embedding", ModelPart::kInput);
    if (stack.embedding_norm)
      embedded = AddNorm("embedding", embedded, gradients.embedding_norm_needs);
    AddDropout(embedded, gradients.embedding_needs);
    out_.Finish(false);
  }

  void AddFinalNorm() {
    const ModelPart part = out_.part();
    AddNorm("final", out_.Make(TokenRows::kSequence, hidden()),
            StackOf(context_.flow, part).final_norm_needs);
    out_.Finish(false);
  }

  void AddOutput() {
    if (spec_.output.pooler) AddPooler();
    if (spec_.output.head != OutputHeadKind::kNone) {
      AddHead(out_.Make(TokenRows::kSequence, hidden()), EndsOf(context_.flow).head);
    }
    out_.Finish(false);
  }

  // Source: DeepSeek-V3 (arXiv 2412.19437) section 2.2.
  void AddModule() {
    const ModuleGradients& gradients = ModulesOf(context_.flow);
    const uint8_t token = AddNorm("token", AddLookup(), gradients.token_norm);
    const uint8_t hidden_state =
        AddNorm("hidden", out_.Make(TokenRows::kSequence, hidden()), gradients.hidden_norm);
    const uint8_t joined = out_.Make(TokenRows::kSequence, 2 * hidden());
    out_.Enter("projection");
    out_.Pass(TracePass::kForward, "join", {{token}, {hidden_state}}, {{joined}});
    const uint8_t projected = out_.Make(TokenRows::kSequence, hidden());
    out_.AddProjection({.module = "projection",
                        .op = "projection",
                        .names = kUnnamed,
                        .split = MatrixSplit::kRows,
                        .component = FlopsComponent::kMultiTokenProjection,
                        .input = joined,
                        .input_needs_gradient = gradients.projection.needs_gradient,
                        .narrow = false,
                        .outputs = {{projected}}});
    uint8_t last = out_.Make(TokenRows::kSequence, hidden());
    if (spec_.multi_token_prediction->final_norm) {
      last = AddNorm("final", last, gradients.final_norm);
    }
    if (spec_.output.head != OutputHeadKind::kNone) AddHead(last, gradients.head);
    out_.Finish(false);
  }

 private:
  int64_t hidden() const { return spec_.hidden_size; }

  uint8_t AddNorm(absl::string_view name, uint8_t input, bool needed) {
    const uint8_t output = out_.Make(TokenRows::kSequence, hidden());
    out_.Enter("norm");
    out_.AddNorm({.name = name, .input = input, .output = output, .needed = needed});
    return output;
  }

  void AddDropout(uint8_t embedded, bool needed) {
    if (!out_.batch().dropout) return;
    out_.Enter("token_embedding");
    const uint8_t mask = out_.Make(TokenRows::kSequence, hidden(), Element::kMask);
    out_.Pass(TracePass::kForward, "dropout", {{embedded}}, {{embedded}, {mask}});
    if (!needed) return;
    out_.Pass(TracePass::kInputGradient, "dropout", {{mask}, {embedded, true}}, {{embedded, true}});
  }

  // Rows of a table. Its gradient is a whole table, which is cleared and receives the tokens' rows
  // (torch.nn.functional.embedding). Tensor parallel ranks hold parts of the vocabulary and sum
  // their rows.
  uint8_t AddLookup() {
    const int64_t width = EmbeddingWidth(spec_);
    out_.Enter("token_embedding");
    const uint8_t ids = out_.Make(TokenRows::kAll, 1, Element::kIndex);
    const bool divided = width == hidden();
    const uint8_t rows = out_.Make(divided ? TokenRows::kSequence : TokenRows::kAll, width);
    const double all = static_cast<double>(out_.rows(TokenRows::kAll)) *
                       static_cast<double>(width * out_.element_bytes(Element::kCompute));
    TraceOp& lookup = out_.RowPass(TracePass::kForward, "lookup", {{ids}}, {{rows}});
    std::get<PassWork>(lookup.work).read_bytes += all;
    const bool scatters = out_.batch().sequence_parallel && divided;
    out_.Collective(TracePass::kForward, "sum_output",
                    {scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                     TraceGroup::kTensor, all});
    if (EndsOf(context_.flow).ids_kept) AddLookupGradient(ids, rows, all);
    AddLookupAdapter("token_embedding", ModelPart::kInput);
    return rows;
  }

  void AddLookupGradient(uint8_t ids, uint8_t rows, double all) {
    const double table =
        static_cast<double>(LogitsWidth()) * static_cast<double>(EmbeddingWidth(spec_));
    TraceOp& op = out_.RowPass(TracePass::kWeightGradient, "lookup", {{ids}, {rows, true}}, {});
    auto& work = std::get<PassWork>(op.work);
    const double bytes = table * static_cast<double>(out_.element_bytes(Element::kCompute));
    work.read_bytes += all;
    work.written_bytes += all + bytes;
    op.gradient_elements = table;
  }

  // The looked-up rows of a table's second matrix are multiplied by its first.
  void AddLookupAdapter(absl::string_view module, ModelPart part) {
    for (size_t i = 0; i < weights_.tensors.size(); ++i) {
      const WeightTensor& tensor = weights_.tensors[i];
      if (tensor.module != module || tensor.part != part ||
          tensor.role != WeightRole::kAdapterDown) {
        continue;
      }
      const uint8_t inner = out_.Make(TokenRows::kSequence, tensor.rows);
      for (const TracePass pass :
           {TracePass::kForward, TracePass::kWeightGradient, TracePass::kInputGradient}) {
        TraceOp& op = out_.Add(pass, "adapter");
        const int64_t tokens = out_.rows(TokenRows::kSequence);
        op.work = MatmulWork{.m = tokens, .n = tensor.columns, .k = tensor.rows};
        op.flops = 2 * static_cast<double>(tokens) * static_cast<double>(tensor.columns) *
                   static_cast<double>(tensor.rows);
        const bool repeats = !out_.batch().sequence_parallel;
        op.model_flops = repeats ? op.flops / static_cast<double>(out_.tensor_ranks()) : op.flops;
        // A module's tokens are those of the model, one place on: looking them up again adds none.
        if (out_.part() == ModelPart::kMultiTokenPrediction) op.model_flops = 0;
        op.component = FlopsComponent::kAdapter;
        if (pass == TracePass::kForward) op.writes = {{inner}};
        if (pass == TracePass::kWeightGradient) op.reads = {{inner}};
      }
    }
  }

  // One tensor parallel rank's share of the vocabulary.
  int64_t LogitsWidth() const {
    const EmbeddingSpec& embedding = spec_.embedding;
    const int64_t rows = embedding.padded_vocabulary_size == 0 ? embedding.vocabulary_size
                                                               : embedding.padded_vocabulary_size;
    return rows / out_.tensor_ranks();
  }

  // The first token of each sequence.
  void AddPooler() {
    const EndGradients& ends = EndsOf(context_.flow);
    out_.Enter("pooler");
    const int64_t sequences = out_.batch().sequence_count;
    const uint8_t input = out_.MakeWhole(sequences * hidden());
    const uint8_t output = out_.MakeWhole(sequences * hidden());
    AddPooled("pooled", kUnnamed, ends.pooler, input, output);
    out_.Pass(TracePass::kForward, "tanh", {{output}}, {{output}});
    const bool classifier = ends.classifier.trained || ends.classifier.adapters > 0;
    if (classifier || ends.classifier.needs_gradient) {
      out_.Pass(TracePass::kInputGradient, "tanh", {{output}, {output, true}}, {{output, true}});
    }
    if (spec_.output.pooled_class_count == 0) return;
    AddPooled("classifier", kClassifier, ends.classifier, output,
              out_.MakeWhole(sequences * spec_.output.pooled_class_count));
  }

  void AddPooled(absl::string_view op, absl::Span<const absl::string_view> names,
                 const MatmulUse& use, uint8_t input, uint8_t output) {
    const int64_t tokens = out_.rows(TokenRows::kSequence);
    out_.SetRows(TokenRows::kSequence, out_.batch().sequence_count);
    out_.AddProjection({.module = "pooler",
                        .op = op,
                        .names = names,
                        .component = FlopsComponent::kPooler,
                        .input = input,
                        .input_needs_gradient = use.needs_gradient,
                        .narrow = false,
                        .repeated = true,
                        .outputs = {{output}}});
    out_.SetRows(TokenRows::kSequence, tokens);
  }

  void AddHead(uint8_t input, const MatmulUse& head) {
    const EndGradients& ends = EndsOf(context_.flow);
    if (spec_.output.transform) input = AddTransform(input, ends);
    if (EmbeddingWidth(spec_) != hidden()) {
      const uint8_t narrow = out_.Make(TokenRows::kSequence, EmbeddingWidth(spec_));
      out_.Enter("embedding_projection");
      out_.AddProjection({.module = "embedding_projection",
                          .op = "out_of",
                          .names = kOutOf,
                          .component = FlopsComponent::kEmbeddingProjection,
                          .input = input,
                          .input_needs_gradient = ends.projection_out.needs_gradient,
                          .narrow = false,
                          .outputs = {{narrow}}});
      input = narrow;
    }
    const bool tied = spec_.output.head == OutputHeadKind::kTied;
    const uint8_t logits = out_.Make(TokenRows::kAll, LogitsWidth());
    out_.Enter("output_head");
    out_.AddProjection({.module = tied ? "token_embedding" : "output_head",
                        .op = "logits",
                        .names = kUnnamed,
                        .split = MatrixSplit::kRows,
                        .component = FlopsComponent::kOutputHead,
                        .input = input,
                        .input_needs_gradient = head.needs_gradient,
                        .narrow = false,
                        .adapted = !tied,
                        .outputs = {{logits}}});
    AddLoss(out_.batch().whole_logits && out_.tensor_ranks() > 1 ? GatheredLogits(logits) : logits);
  }

  // The logits of all ranks, of whose gradient each takes its part.
  uint8_t GatheredLogits(uint8_t part) {
    const int64_t width = LogitsWidth() * out_.tensor_ranks();
    const uint8_t whole = out_.Make(TokenRows::kAll, width);
    const double bytes = static_cast<double>(out_.rows(TokenRows::kAll)) *
                         static_cast<double>(width) *
                         static_cast<double>(out_.element_bytes(Element::kCompute));
    out_.Pass(TracePass::kInputGradient, "take_part", {{whole, true}}, {{part, true}});
    out_.Collective(TracePass::kForward, "gather_logits",
                    {CollectiveKind::kAllGather, TraceGroup::kTensor, bytes}, {{part}}, {{whole}});
    return whole;
  }

  uint8_t AddTransform(uint8_t input, const EndGradients& ends) {
    const uint8_t multiplied = out_.Make(TokenRows::kSequence, hidden());
    const uint8_t activated = out_.Make(TokenRows::kSequence, hidden());
    out_.Enter("output_transform");
    out_.AddProjection({.module = "output_transform",
                        .op = "transform",
                        .names = kUnnamed,
                        .component = FlopsComponent::kOutputTransform,
                        .input = input,
                        .input_needs_gradient = ends.transform.needs_gradient,
                        .narrow = false,
                        .outputs = {{multiplied}}});
    out_.Pass(TracePass::kForward, "activation", {{multiplied}}, {{activated}});
    if (ends.transform_output_needs) {
      out_.Pass(TracePass::kInputGradient, "activation", {{multiplied}, {activated, true}},
                {{multiplied, true}});
    }
    return AddNorm("transform", activated, ends.transform_output_needs);
  }

  // The kernels of each loss. Source: docs/step_time.md, "Loss".
  void AddLoss(uint8_t logits) {
    out_.Enter("loss");
    const LossKind kind = out_.batch().loss;
    if (kind == LossKind::kFused || kind == LossKind::kChunked) return AddFusedLoss(logits);
    const bool whole = out_.batch().whole_logits;
    const int64_t width = whole ? LogitsWidth() * out_.tensor_ranks() : LogitsWidth();
    const uint8_t wide = out_.Make(TokenRows::kAll, width, Element::kFp32);
    const TracePass forward = TracePass::kForward;
    const TracePass backward = TracePass::kInputGradient;
    if (kind == LossKind::kVocabularyParallelCompiled) {
      out_.RowPass(forward, "maximum", {{logits}}, {{wide}});
      out_.RowPass(forward, "exponentials", {{wide}}, {{wide}});
      AddSums();
      out_.Pass(forward, "divide", {{wide}}, {{wide}});
      out_.Pass(backward, "softmax", {{wide}}, {{logits, true}});
      return;
    }
    out_.Pass(backward, "to_compute_type", {{wide}}, {{logits, true}}).reads = {};
    out_.Pass(backward, "softmax", {{wide}}, {{wide}}).writes = {};
    out_.Pass(forward, "to_fp32", {{logits}}, {{wide}});
    if (kind == LossKind::kPlain) {
      out_.RowPass(forward, "log_softmax", {{wide}}, {{wide}});
      return;
    }
    out_.RowPass(forward, "maximum", {{wide}}, {});
    out_.Pass(forward, "subtract", {{wide}}, {{wide}});
    out_.Pass(forward, "exponentials", {{wide}}, {{wide}});
    out_.RowPass(forward, "sums", {{wide}}, {});
    AddSums();
    out_.Pass(forward, "divide", {{wide}}, {{wide}});
  }

  // One pass finds the sums of rows, one overwrites the logits with their gradient.
  void AddFusedLoss(uint8_t logits) {
    const uint8_t statistics = out_.Make(TokenRows::kAll, 1, Element::kFp32);
    out_.RowPass(TracePass::kInputGradient, "softmax", {{logits}, {statistics}}, {{logits, true}});
    out_.RowPass(TracePass::kForward, "statistics", {{logits}}, {{statistics}});
    AddSums();
  }

  // Maxima, predicted logits and sums of exponentials, one number a token each.
  void AddSums() {
    if (out_.batch().whole_logits) return;
    const double bytes = static_cast<double>(out_.rows(TokenRows::kAll)) * kLossBytes;
    TraceOp* const op = out_.Collective(TracePass::kForward, "sum_rows",
                                        {CollectiveKind::kAllReduce, TraceGroup::kTensor, bytes});
    if (op != nullptr) op->launches = 3;
  }

  const TraceContext& context_;
  const TraceWeights& weights_;
  const ArchitectureSpec& spec_;
  TraceBuilder out_;
};

}  // namespace

void AppendEmbeddingTrace(const TraceContext& context, const TraceWeights& weights, ModelPart part,
                          Trace& out) {
  EndTrace(context, weights, part, out).AddEmbedding();
}

void AppendFinalNormTrace(const TraceContext& context, const TraceWeights& weights, ModelPart part,
                          Trace& out) {
  EndTrace(context, weights, part, out).AddFinalNorm();
}

void AppendOutputTrace(const TraceContext& context, const TraceWeights& weights, Trace& out) {
  EndTrace(context, weights, ModelPart::kOutput, out).AddOutput();
}

void AppendModuleTrace(const TraceContext& context, const TraceWeights& weights, Trace& out) {
  EndTrace(context, weights, ModelPart::kMultiTokenPrediction, out).AddModule();
}

}  // namespace sextant
