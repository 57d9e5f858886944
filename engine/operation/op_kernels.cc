#include "engine/operation/op_kernels.h"

#include "absl/strings/str_cat.h"
#include "engine/base/text.h"
#include "engine/operation/op_kernels_parts.h"

namespace sextant {
namespace {

// One overload per operation.
struct Visitor {
  const OpKernelsInput& in;

  OpKernels operator()(const Matmul& op) const { return MatmulKernels(op, in); }
  OpKernels operator()(const BatchedMatmul& op) const { return BatchedMatmulKernels(op, in); }
  OpKernels operator()(const Linear& op) const { return LinearKernels(op, in); }
  OpKernels operator()(const Elementwise& op) const { return ElementwiseKernels(op, in); }
  OpKernels operator()(const FusedChain& op) const { return FusedChainKernels(op, in); }
  OpKernels operator()(const Reduction& op) const { return ReductionKernels(op, in); }
  OpKernels operator()(const Softmax& op) const { return SoftmaxKernels(op, in); }
  OpKernels operator()(const LayerNorm& op) const { return LayerNormKernels(op, in); }
  OpKernels operator()(const RmsNorm& op) const { return RmsNormKernels(op, in); }
  OpKernels operator()(const Activation& op) const { return ActivationKernels(op, in); }
  OpKernels operator()(const SwiGlu& op) const { return SwiGluKernels(op, in); }
  OpKernels operator()(const Rotary& op) const { return RotaryKernels(op, in); }
  OpKernels operator()(const Dropout& op) const { return DropoutKernels(op, in); }
  OpKernels operator()(const EmbeddingLookup& op) const { return EmbeddingKernels(op, in); }
  OpKernels operator()(const CrossEntropy& op) const { return CrossEntropyKernels(op, in); }
  OpKernels operator()(const Attention& op) const { return AttentionKernels(op, in); }
  OpKernels operator()(const OptimizerUpdate& op) const { return OptimizerKernels(op, in); }
  OpKernels operator()(const HostCopy& op) const { return HostCopyKernels(op, in); }
  OpKernels operator()(const Einsum& op) const { return EinsumKernels(op, in); }
  OpKernels operator()(const Experts& op) const { return ExpertsKernels(op, in); }
};

Array MakeArray(absl::string_view name, ArrayRole role, DataType type, const Shape& shape) {
  return {.name = std::string(name), .role = role, .data_type = type, .shape = shape};
}

}  // namespace

OpKernels OpKernelsOf(const Operation& operation, const OpKernelsInput& input) {
  return std::visit(Visitor{input}, operation);
}

Array Input(absl::string_view name, DataType type, const Shape& shape) {
  return MakeArray(name, ArrayRole::kInput, type, shape);
}
Array Parameter(absl::string_view name, DataType type, const Shape& shape) {
  return MakeArray(name, ArrayRole::kParameter, type, shape);
}
Array Output(absl::string_view name, DataType type, const Shape& shape) {
  return MakeArray(name, ArrayRole::kOutput, type, shape);
}
Array Statistic(absl::string_view name, DataType type, const Shape& shape) {
  return MakeArray(name, ArrayRole::kStatistic, type, shape);
}
Array Scratch(absl::string_view name, DataType type, const Shape& shape) {
  return MakeArray(name, ArrayRole::kScratch, type, shape);
}
Array Indices(absl::string_view name, int64_t index_bytes, const Shape& shape) {
  Array out = Input(name, DataType::kUnspecified, shape);
  out.index_bytes = index_bytes;
  return out;
}
Array GradientOf(const Array& array) {
  return MakeArray(absl::StrCat("gradient of ", array.name), ArrayRole::kGradient, array.data_type,
                   array.shape);
}

Movement Read(const Array& array, OperandSet needed_by) {
  return {.array = array, .written = false, .needed_by = needed_by};
}
Movement Write(const Array& array, OperandSet needed_by) {
  return {.array = array, .written = true, .needed_by = needed_by};
}

ArithmeticTerm Product(absl::string_view name, const ProductSize& s, OperandSet needed_by) {
  const double outputs = Count(s.batch) * Count(s.m, s.n);
  std::string reason = absl::StrCat("2 x ", s.m, " x ", s.n, " x ", s.k, ": each of ", s.m, " x ",
                                    s.n, " outputs is ", s.k, " multiply-adds of 2 FLOPs");
  if (s.batch > 1) absl::StrAppend(&reason, ", in each of ", s.batch, " products");
  return {.name = std::string(name),
          .flops = Flops(kFlopsPerMultiplyAdd * outputs * Count(s.k)),
          .matrix_product = true,
          .reason = std::move(reason),
          .needed_by = needed_by};
}

ArithmeticTerm Term(const Repeated& r, FlopConvention convention) {
  const Flops each = FlopsOf(r.work, convention);
  return {
      .name = std::string(r.name),
      .flops = each * r.count,
      .matrix_product = false,
      .reason = absl::StrCat(NumberText(each.value()), " x ", NumberText(r.count), ": ", r.what),
      .needed_by = r.needed_by};
}

}  // namespace sextant
