#include "engine/operation/cost.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/storage.h"

namespace sextant {
namespace {

absl::Status TooLarge(const Array& array) {
  return InvalidField("shape", absl::StrCat(TextOf(array), " has more than 9.2e18 elements or ",
                                            "bytes: write smaller sizes"));
}

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

absl::StatusOr<int64_t> ElementsOf(const Array& array) {
  CheckedInt elements = 1;
  for (const int64_t size : array.shape) elements = elements * size;
  if (!elements.ok()) return TooLarge(array);
  return elements.value();
}

absl::StatusOr<Bytes> BytesOf(const Array& array) {
  SEXTANT_ASSIGN_OR_RETURN(const int64_t elements, ElementsOf(array));
  if (array.index_bytes == 0) {
    const absl::StatusOr<Bytes> bytes = TensorBytes(array.data_type, array.shape);
    return bytes.ok() ? bytes : TooLarge(array);
  }
  const CheckedInt bytes = CheckedInt(elements) * array.index_bytes;
  if (!bytes.ok()) return TooLarge(array);
  return Bytes(bytes.value());
}

std::string TextOf(const Array& array) {
  const std::string element = array.index_bytes > 0 ? absl::StrCat(array.index_bytes, "-byte")
                                                    : std::string(DataTypeName(array.data_type));
  return absl::StrCat(array.name, " [", absl::StrJoin(array.shape, ", "), "] ", element);
}

Step Fuse(std::string name, absl::Span<const Step> steps) {
  Step out = {.name = std::move(name), .arithmetic = {}, .movements = {}};
  for (const Step& step : steps) {
    out.arithmetic.insert(out.arithmetic.end(), step.arithmetic.begin(), step.arithmetic.end());
    for (const Movement& m : step.movements) {
      if (m.array.role == ArrayRole::kScratch) continue;
      const auto same =
          std::find_if(out.movements.begin(), out.movements.end(), [&m](const Movement& other) {
            return other.array.name == m.array.name && other.written == m.written;
          });
      if (same == out.movements.end()) {
        out.movements.push_back(m);
      } else {
        same->needed_by |= m.needed_by;
      }
    }
  }
  return out;
}

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
