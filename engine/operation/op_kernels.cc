#include "engine/operation/op_kernels.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/text.h"
#include "engine/operation/op_kernels_parts.h"

namespace sextant {
OpKernels OpKernelsOf(const Operation& operation, const OpKernelsInput& input) {
  return std::visit([&input](const auto& op) { return KernelsOf(op, input); }, operation);
}

Array GradientOf(const Array& array) {
  return {.name = absl::StrCat("gradient of ", array.name),
          .role = ArrayRole::kGradient,
          .data_type = array.data_type,
          .shape = array.shape};
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

ArithmeticTerm Each::operator()(absl::string_view name, absl::string_view what, Work work,
                                OperandSet needed_by) const {
  const Flops each = FlopsOf(work, convention_);
  return {.name = std::string(name),
          .flops = each * count_,
          .matrix_product = false,
          .reason = absl::StrCat(NumberText(each.value()), " x ", NumberText(count_), ": ", what),
          .needed_by = needed_by};
}

OpKernels KernelsOf(std::vector<Array> operands, const Array& output, OperandSet differentiable) {
  OpKernels out;
  out.operands = std::move(operands);
  out.outputs = {output};
  out.differentiable = differentiable;
  return out;
}

}  // namespace sextant
