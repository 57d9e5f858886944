#include "engine/operation/cost.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

absl::StatusOr<StepCost> CostOf(const Step& step, OperandSet needed) {
  StepCost cost = {.name = step.name, .arithmetic = {}, .traffic = {}, .sum = {}};
  for (const ArithmeticTerm& term : step.arithmetic) {
    if ((term.needed_by & needed) == 0) continue;
    Flops& sum = term.matrix_product ? cost.sum.matrix_flops : cost.sum.other_flops;
    sum = sum + term.flops;
    cost.arithmetic.push_back(term);
  }
  for (const Movement& m : step.movements) {
    if ((m.needed_by & needed) == 0) continue;
    SEXTANT_ASSIGN_OR_RETURN(const Bytes size, BytesOf(m.array));
    cost.traffic.push_back({.array = m.array,
                            .written = m.written,
                            .size = size,
                            .reason = absl::StrCat(TextOf(m.array), m.written ? " is written once"
                                                                              : " is read once")});
    CostSum term;
    (m.written ? term.written : term.read) = size;
    SEXTANT_ASSIGN_OR_RETURN(cost.sum, SumOf(cost.sum, term));
  }
  return cost;
}

}  // namespace

absl::optional<double> CostSum::intensity() const {
  if (moved() == Bytes(0)) return absl::nullopt;
  return flops().value() / static_cast<double>(moved().value());
}

absl::StatusOr<CostSum> SumOf(const CostSum& a, const CostSum& b) {
  const CheckedInt read = CheckedInt(a.read.value()) + b.read.value();
  const CheckedInt written = CheckedInt(a.written.value()) + b.written.value();
  if (!(read + written).ok()) {
    return InvalidField("shape", "more than 9.2e18 bytes move: write smaller sizes");
  }
  CostSum sum;
  sum.matrix_flops = a.matrix_flops + b.matrix_flops;
  sum.other_flops = a.other_flops + b.other_flops;
  sum.read = Bytes(read.value());
  sum.written = Bytes(written.value());
  return sum;
}

absl::StatusOr<OperationCost> CostOf(absl::Span<const Step> steps, OperandSet needed) {
  OperationCost cost;
  for (const Step& step : steps) {
    SEXTANT_ASSIGN_OR_RETURN(StepCost one, CostOf(step, needed));
    if (one.arithmetic.empty() && one.traffic.empty()) continue;
    SEXTANT_ASSIGN_OR_RETURN(cost.sum, SumOf(cost.sum, one.sum));
    cost.steps.push_back(std::move(one));
  }
  return cost;
}

}  // namespace sextant
