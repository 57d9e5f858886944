// Axis expressions of any bytes: no crash, no hang, and what is answered holds together.
//
// An input's first line is a letter for the question, then shapes and sizes; the rest is the
// expression:
//   e 2x3x4 2x3x4        l as e, in letters    n as e, by names
//   b s h, b t h -> b s t
//   a 4x64 h=8           a rearrange, r reduce, p repeat, c shape check
//   b (h d) -> b h d
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "engine/tensor/expression/axis_transform.h"
#include "engine/tensor/expression/einsum.h"
#include "engine/tensor/expression/tensor_analysis.h"

namespace sextant {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

struct Input {
  char question = 'e';
  std::vector<Shape> shapes;
  std::vector<AxisSize> sizes;
  absl::string_view expression;
};

int64_t NumberFrom(absl::string_view text) {
  int64_t number = 0;
  (void)absl::SimpleAtoi(text, &number);  // what is not a number is 0, which is refused
  return number;
}

Input InputFrom(absl::string_view data) {
  Input input;
  const size_t end = data.find('\n');
  if (end == absl::string_view::npos) {
    input.expression = data;
    input.shapes = {{2, 3}, {3, 4}};
    return input;
  }
  input.expression = data.substr(end + 1);
  for (const absl::string_view word : absl::StrSplit(data.substr(0, end), ' ', absl::SkipEmpty())) {
    const std::vector<absl::string_view> sides = absl::StrSplit(word, '=');
    if (sides.size() == 2) {
      input.sizes.push_back({std::string(sides[0]), NumberFrom(sides[1])});
    } else if (word.find_first_of("0123456789") == absl::string_view::npos) {
      input.question = word[0];
    } else {
      input.shapes.emplace_back();
      for (const absl::string_view size : absl::StrSplit(word, 'x')) {
        input.shapes.back().push_back(NumberFrom(size));
      }
    }
  }
  return input;
}

// A refusal says what is wrong, in few words.
void RequireRefusal(const absl::Status& status) {
  Require(status.code() == absl::StatusCode::kInvalidArgument);
  Require(!FieldViolationsOf(status).empty());
  for (const FieldViolation& v : FieldViolationsOf(status)) {
    Require(!v.field.empty() && v.description.size() < 2000);
  }
}

void RequireShape(const Shape& shape) {
  FieldViolations violations;
  CheckShape(shape, "shape", violations);
  Require(violations.empty());
}

void RequireOrder(const ContractionOrder& order) {
  double flops = 0;
  for (const ContractionStep& step : order.steps) {
    Require(step.result_elements >= 1 && step.flops.value() >= 0);
    flops += step.flops.value();
  }
  Require(std::isfinite(flops) && order.flops.value() == flops);
}

void AskEinsum(const Input& input, EinsumStyle style) {
  const auto cost = EinsumCostOf(input.expression, input.shapes, style);
  if (!cost.ok()) return RequireRefusal(cost.status());
  RequireShape(cost->shape);
  RequireOrder(cost->best);
  if (cost->left_to_right.has_value()) {
    RequireOrder(*cost->left_to_right);
    Require(cost->best.flops <= cost->left_to_right->flops);
  }
  Require(cost->best.steps.size() == std::max<size_t>(input.shapes.size(), 2) - 1);
}

absl::StatusOr<AxisTransform> Transform(const Input& input, const StridedTensor& tensor) {
  if (input.question == 'a') return Rearrange(tensor, input.expression, input.sizes);
  if (input.question == 'p') return Repeat(tensor, input.expression, input.sizes);
  return Reduce(tensor, input.expression, input.sizes, ReductionKind::kSum);
}

void AskTransform(const Input& input) {
  FieldViolations violations;
  const Shape shape = input.shapes.empty() ? Shape() : input.shapes[0];
  CheckShape(shape, "tensor", violations);
  if (!violations.empty()) return;
  const auto result = Transform(input, ContiguousTensor(shape, DataType::kFp32));
  if (!result.ok()) return RequireRefusal(result.status());
  CheckStridedTensor(result->tensor, "tensor", violations);
  Require(violations.empty());
  Require(result->is_view == (result->allocated_elements == 0));
}

void AskShapeCheck(const Input& input) {
  ShapeBindings bindings;
  for (const Shape& shape : input.shapes) {
    const auto check = CheckDeclaredShape(input.expression, shape, bindings);
    if (!check.ok()) return RequireRefusal(check.status());
    Require(check->matches == check->mismatches.empty());
    bindings = check->bindings;
  }
}

void Ask(const Input& input) {
  switch (input.question) {
    case 'a':
    case 'p':
    case 'r':
      return AskTransform(input);
    case 'c':
      return AskShapeCheck(input);
    case 'l':
      return AskEinsum(input, EinsumStyle::kLetters);
    case 'n':
      return AskEinsum(input, EinsumStyle::kNamed);
    default:
      return AskEinsum(input, EinsumStyle::kDetect);
  }
}

}  // namespace
}  // namespace sextant

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sextant::Ask(sextant::InputFrom({reinterpret_cast<const char*>(data), size}));
  return 0;
}
