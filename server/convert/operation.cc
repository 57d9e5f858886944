#include "server/convert/operation.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/convert/tensor.h"

namespace sextant::server {
namespace {

using ElementwiseFunctionPair = OneLater<ElementwiseFunction::kExp, v1::ElementwiseFunction_MAX>;
using ActivationFunctionPair = OneLater<ActivationFunction::kGeluErf, v1::ActivationFunction_MAX>;
using CausalConventionPair = OneLater<CausalConvention::kPublished, v1::CausalConvention_MAX>;
using MatmulScalingPair = SameNumbers<MatmulScaling::kBlock, v1::MatmulScaling_MAX>;

// Reads the operation's message at `path`; one overload each.
class Reader {
 public:
  Reader(absl::string_view path, FieldViolations& violations)
      : path_(path), violations_(violations) {}

  Matmul Read(const v1::Operation::Matmul& w) const { return {.m = w.m(), .n = w.n(), .k = w.k()}; }
  BatchedMatmul Read(const v1::Operation::BatchedMatmul& w) const {
    return {.batch = w.batch(), .m = w.m(), .n = w.n(), .k = w.k()};
  }
  Linear Read(const v1::Operation::Linear& w) const {
    return {.rows = w.rows(),
            .input_size = w.input_size(),
            .output_size = w.output_size(),
            .bias = w.bias()};
  }
  Elementwise Read(const v1::Operation::Elementwise& w) const {
    Elementwise out = {
        .count = w.count(), .input_count = w.input_count(), .function = Function(w.function(), "")};
    if (w.has_flops_per_element()) {
      out.flops_per_element = FlopsPerElement(out.function, w.flops_per_element(), "");
    }
    return out;
  }
  Reduction Read(const v1::Operation::Reduction& w) const {
    return {.outer = w.outer(),
            .reduced = w.reduced(),
            .function = ReductionKindPair::From(w.function(), {path_, "function"}, violations_)};
  }
  template <typename Rows>
  Rows ReadRows(const v1::Operation::Rows& w) const {
    return {.rows = w.rows(), .columns = w.columns()};
  }
  Activation Read(const v1::Operation::Activation& w) const {
    return {
        .function = ActivationFunctionPair::From(w.function(), {path_, "function"}, violations_),
        .count = w.count()};
  }
  Rotary Read(const v1::Operation::Rotary& w) const {
    return {.tokens = w.tokens(), .heads = w.heads(), .head_size = w.head_size()};
  }
  Dropout Read(const v1::Operation::Dropout& w) const { return {.count = w.count()}; }
  EmbeddingLookup Read(const v1::Operation::Embedding& w) const {
    return {.tokens = w.tokens(), .vocabulary = w.vocabulary(), .width = w.width()};
  }
  CrossEntropy Read(const v1::Operation::CrossEntropy& w) const {
    return {.tokens = w.tokens(), .vocabulary = w.vocabulary()};
  }
  Attention Read(const v1::Operation::Attention& w) const;
  OptimizerUpdate Read(const v1::Operation::OptimizerUpdate& w) const {
    return {
        .parameters = w.parameters(),
        .rule = UpdateRulePair::From(w.rule(), {path_, "rule"}, violations_, UpdateRule::kAdamw),
        .master_weights = w.master_weights()};
  }
  HostCopy Read(const v1::Operation::HostCopy& w) const {
    return {.bytes = w.bytes(),
            .pinned = !w.pageable(),
            .link = BytesPerSecond(w.link_bytes_per_second()),
            .staging = BytesPerSecond(w.staging_bytes_per_second())};
  }
  FusedChain Read(const v1::Operation::FusedChain& w) const;
  Einsum Read(const v1::Operation::Einsum& w) const;
  Experts Read(const v1::Operation::Experts& w) const {
    return {.tokens = w.tokens(),
            .hidden_size = w.hidden_size(),
            .feed_forward_size = w.feed_forward_size(),
            .expert_count = w.expert_count(),
            .experts_per_token = w.experts_per_token(),
            .expert_parallel_size = w.expert_parallel_size(),
            .gated = !w.ungated()};
  }

 private:
  ElementwiseFunction Function(v1::ElementwiseFunction wire, absl::string_view below) const {
    return ElementwiseFunctionPair::From(wire, FieldPath(path_, FieldPath(below, "function")),
                                         violations_);
  }
  double FlopsPerElement(ElementwiseFunction function, double flops,
                         absl::string_view below) const {
    if (function != ElementwiseFunction::kGeneral) {
      violations_.Add(FieldPath(path_, FieldPath(below, "flops_per_element")),
                      "is known of a named function: leave it out, or leave function out");
    }
    return flops;
  }

  absl::string_view path_;
  FieldViolations& violations_;
};

Attention Reader::Read(const v1::Operation::Attention& w) const {
  if (!w.causal() && w.convention() != v1::CAUSAL_CONVENTION_UNSPECIFIED) {
    violations_.Add(FieldPath(path_, "convention"), "is of causal attention alone: set causal too");
  }
  return {
      .batch = w.batch(),
      .heads = w.heads(),
      .kv_heads = w.kv_heads(),
      .query_length = w.query_length(),
      .key_length = w.key_length(),
      .head_size = w.head_size(),
      .value_head_size = w.value_head_size(),
      .causal = w.causal(),
      .convention = CausalConventionPair::From(w.convention(), {path_, "convention"}, violations_),
      .window = w.window(),
      .fused = !w.unfused()};
}

FusedChain Reader::Read(const v1::Operation::FusedChain& w) const {
  FusedChain out = {.count = w.count(), .steps = {}};
  if (w.steps_size() > kMaxOperands) {  // that many are not read
    violations_.Add(FieldPath(path_, "steps"),
                    absl::StrCat("must be at most ", kMaxOperands, ", not ", w.steps_size()));
    return out;
  }
  for (int i = 0; i < w.steps_size(); ++i) {
    const v1::Operation::FusedChain::Step& step = w.steps(i);
    const std::string below = absl::StrCat("steps[", i, "]");
    ChainStep read = {.function = Function(step.function(), below),
                      .extra_input_count = step.extra_input_count()};
    if (step.has_flops_per_element()) {
      read.flops_per_element = FlopsPerElement(read.function, step.flops_per_element(), below);
    }
    out.steps.push_back(read);
  }
  return out;
}

Einsum Reader::Read(const v1::Operation::Einsum& w) const {
  Einsum out = {.expression = w.expression(), .left_to_right = w.left_to_right()};
  for (const v1::Operation::Einsum::Operand& operand : w.operands()) {
    out.operands.push_back(ShapeFrom(operand.shape()));
  }
  return out;
}

// Reads the only field of `w` by `r`.
Operation ReadWith(const Reader& r, const v1::Operation& w) {
  if (w.has_matmul()) return r.Read(w.matmul());
  if (w.has_batched_matmul()) return r.Read(w.batched_matmul());
  if (w.has_linear()) return r.Read(w.linear());
  if (w.has_elementwise()) return r.Read(w.elementwise());
  if (w.has_reduction()) return r.Read(w.reduction());
  if (w.has_softmax()) return r.ReadRows<Softmax>(w.softmax());
  if (w.has_layer_norm()) return r.ReadRows<LayerNorm>(w.layer_norm());
  if (w.has_rms_norm()) return r.ReadRows<RmsNorm>(w.rms_norm());
  if (w.has_activation()) return r.Read(w.activation());
  if (w.has_swiglu()) return r.ReadRows<SwiGlu>(w.swiglu());
  if (w.has_rotary()) return r.Read(w.rotary());
  if (w.has_dropout()) return r.Read(w.dropout());
  if (w.has_embedding()) return r.Read(w.embedding());
  if (w.has_cross_entropy()) return r.Read(w.cross_entropy());
  if (w.has_attention()) return r.Read(w.attention());
  if (w.has_optimizer_update()) return r.Read(w.optimizer_update());
  if (w.has_host_copy()) return r.Read(w.host_copy());
  if (w.has_fused_chain()) return r.Read(w.fused_chain());
  if (w.has_einsum()) return r.Read(w.einsum());
  return r.Read(w.experts());
}

}  // namespace

absl::optional<ReadOperation> OperationFrom(const v1::Operation& wire, absl::string_view path,
                                            FieldViolations& violations) {
  const absl::optional<std::string> field = OnlyFieldOf(wire, path, violations);
  if (!field.has_value()) return absl::nullopt;
  ReadOperation out;
  out.path = FieldPath(path, *field);
  out.operation = ReadWith(Reader(out.path, violations), wire);
  return out;
}

void FillSizeDefaults(Operation& operation) {
  if (auto* op = std::get_if<Elementwise>(&operation); op != nullptr && op->input_count == 0) {
    const bool takes_two =
        op->function == ElementwiseFunction::kAdd || op->function == ElementwiseFunction::kMultiply;
    op->input_count = takes_two ? 2 : 1;
  }
  if (auto* op = std::get_if<Attention>(&operation); op != nullptr) {
    if (op->kv_heads == 0) op->kv_heads = op->heads;
    if (op->key_length == 0) op->key_length = op->query_length;
  }
  if (auto* op = std::get_if<Experts>(&operation); op != nullptr && op->expert_parallel_size == 0) {
    op->expert_parallel_size = 1;
  }
}

OperationTypes OperationTypesFrom(const v1::OperationTypes& wire, absl::string_view path,
                                  FieldViolations& violations) {
  return {
      .input = DataTypePair::From(wire.input(), {path, "input"}, violations),
      .output = DataTypePair::From(wire.output(), {path, "output"}, violations),
      .accumulation = DataTypePair::From(wire.accumulation(), {path, "accumulation"}, violations),
      .scaling = MatmulScalingPair::Find(wire.scaling(), {path, "scaling"}, violations)};
}

void OperationTypesTo(const OperationTypes& types, v1::OperationTypes* out) {
  out->set_input(DataTypePair::To(types.input));
  out->set_output(DataTypePair::To(types.output));
  out->set_accumulation(DataTypePair::To(types.accumulation));
  if (types.scaling.has_value()) {
    out->set_scaling(MatmulScalingPair::To(*types.scaling));
  }
}

}  // namespace sextant::server
