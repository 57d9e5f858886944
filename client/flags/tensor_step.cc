#include "client/flags/tensor_step.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/flags/words.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

using TextWords = std::vector<absl::string_view>;

// A step's text after its name.
struct Arguments {
  absl::string_view text;
  TextWords words;
};

// The error of a text that does not match the step's form, which is shown in any case.
absl::Status WrongForm() { return absl::InvalidArgumentError(""); }

absl::StatusOr<std::vector<int64_t>> Integers(const TextWords& words) {
  std::vector<int64_t> values;
  for (const absl::string_view word : words) {
    const absl::StatusOr<int64_t> value = ParseCount(word);
    if (!value.ok()) return value.status();
    values.push_back(*value);
  }
  return values;
}

// The whole numbers of a step that takes `fewest` to `most` of them.
absl::StatusOr<std::vector<int64_t>> Integers(const Arguments& arguments, size_t fewest,
                                              size_t most) {
  const size_t count = arguments.words.size();
  if (count < fewest || count > most) return WrongForm();
  return Integers(arguments.words);
}

absl::Status ReadSelect(const Arguments& arguments, v1::TensorStep* step) {
  const auto values = Integers(arguments, 2, 2);
  if (!values.ok()) return values.status();
  step->mutable_select()->set_axis((*values)[0]);
  step->mutable_select()->set_index((*values)[1]);
  return absl::OkStatus();
}

absl::Status ReadSlice(const Arguments& arguments, v1::TensorStep* step) {
  if (arguments.words.size() != 2) return WrongForm();
  const TextWords bounds = absl::StrSplit(arguments.words[1], ':');
  if (bounds.size() < 2 || bounds.size() > 3) return WrongForm();
  const absl::StatusOr<int64_t> axis = ParseCount(arguments.words[0]);
  if (!axis.ok()) return axis.status();
  v1::TensorStep::Slice* slice = step->mutable_slice();
  slice->set_axis(*axis);
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (bounds[i].empty()) continue;
    const absl::StatusOr<int64_t> bound = ParseCount(bounds[i]);
    if (!bound.ok()) return bound.status();
    if (i == 0) slice->set_start(*bound);
    if (i == 1) slice->set_stop(*bound);
    if (i == 2) slice->set_step(*bound);
  }
  return absl::OkStatus();
}

absl::Status ReadTranspose(const Arguments& arguments, v1::TensorStep* step) {
  const auto axes = Integers(arguments, 0, 2);
  if (!axes.ok()) return axes.status();
  if (axes->size() == 1) return WrongForm();
  v1::TensorStep::Transpose* transpose = step->mutable_transpose();
  if (axes->empty()) return absl::OkStatus();
  transpose->set_axis_a((*axes)[0]);
  transpose->set_axis_b((*axes)[1]);
  return absl::OkStatus();
}

absl::Status ReadIntegers(const Arguments& arguments,
                          google::protobuf::RepeatedField<int64_t>* field) {
  const auto values = Integers(arguments, 1, SIZE_MAX);
  if (!values.ok()) return values.status();
  field->Add(values->begin(), values->end());
  return absl::OkStatus();
}

absl::Status ReadPermute(const Arguments& arguments, v1::TensorStep* step) {
  return ReadIntegers(arguments, step->mutable_permute()->mutable_axes());
}

absl::Status ReadView(const Arguments& arguments, v1::TensorStep* step) {
  return ReadIntegers(arguments, step->mutable_view()->mutable_shape());
}

absl::Status ReadReshape(const Arguments& arguments, v1::TensorStep* step) {
  return ReadIntegers(arguments, step->mutable_reshape()->mutable_shape());
}

absl::Status ReadExpand(const Arguments& arguments, v1::TensorStep* step) {
  return ReadIntegers(arguments, step->mutable_expand()->mutable_shape());
}

absl::Status ReadSqueeze(const Arguments& arguments, v1::TensorStep* step) {
  const auto axis = Integers(arguments, 0, 1);
  if (!axis.ok()) return axis.status();
  v1::TensorStep::Squeeze* squeeze = step->mutable_squeeze();
  if (!axis->empty()) squeeze->set_axis(axis->front());
  return absl::OkStatus();
}

absl::Status ReadUnsqueeze(const Arguments& arguments, v1::TensorStep* step) {
  const auto axis = Integers(arguments, 0, 1);
  if (!axis.ok()) return axis.status();
  v1::TensorStep::Unsqueeze* unsqueeze = step->mutable_unsqueeze();
  if (!axis->empty()) unsqueeze->set_axis(axis->front());
  return absl::OkStatus();
}

absl::Status ReadFlatten(const Arguments& arguments, v1::TensorStep* step) {
  const auto axes = Integers(arguments, 0, 2);
  if (!axes.ok()) return axes.status();
  if (axes->size() == 1) return WrongForm();
  v1::TensorStep::Flatten* flatten = step->mutable_flatten();
  if (axes->empty()) return absl::OkStatus();
  flatten->set_first((*axes)[0]);
  flatten->set_last((*axes)[1]);
  return absl::OkStatus();
}

absl::Status ReadContiguous(const Arguments& arguments, v1::TensorStep* step) {
  step->mutable_contiguous();
  return arguments.words.empty() ? absl::OkStatus() : WrongForm();
}

absl::Status ReadCast(const Arguments& arguments, v1::TensorStep* step) {
  if (arguments.words.size() != 1) return WrongForm();
  const auto type = EnumNumber(*v1::DataType_descriptor(), arguments.words[0]);
  if (!type.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "TYPE is one of ", absl::StrJoin(EnumNames(*v1::DataType_descriptor()), ", ")));
  }
  step->mutable_cast()->set_data_type(static_cast<v1::DataType>(*type));
  return absl::OkStatus();
}

absl::Status ReadElementwise(const Arguments& arguments, v1::TensorStep* step) {
  if (arguments.words.empty() || arguments.words.size() > 2) return WrongForm();
  v1::TensorStep::Elementwise* elementwise = step->mutable_elementwise();
  elementwise->set_name(std::string(arguments.words[0]));
  if (arguments.words.size() == 1) return absl::OkStatus();
  const absl::StatusOr<std::vector<int64_t>> shape = ParseShape(arguments.words[1]);
  if (!shape.ok()) return shape.status();
  elementwise->mutable_other()->mutable_shape()->Add(shape->begin(), shape->end());
  return absl::OkStatus();
}

absl::Status ReadSize(absl::string_view text, v1::AxisSize* size) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (!absl::StrContains(text, "=") || parts.first.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not AXIS=SIZE, such as h=8"));
  }
  const absl::StatusOr<int64_t> value = ParseCount(parts.second);
  if (!value.ok()) return value.status();
  size->set_name(parts.first);
  size->set_size(*value);
  return absl::OkStatus();
}

absl::Status ReadFunction(absl::string_view text, v1::TensorStep::Reduce* reduce) {
  const google::protobuf::EnumDescriptor& type = *v1::ReductionFunction_descriptor();
  const std::optional<int> number = EnumNumber(type, text);
  if (!number.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is neither AXIS=SIZE, such as d=64, nor a function: ",
                     absl::StrJoin(EnumNames(type), ", ")));
  }
  reduce->set_function(static_cast<v1::ReductionFunction>(*number));
  return absl::OkStatus();
}

// The parts after the first comma, one for each size or function.
std::vector<absl::string_view> PartsAfter(absl::string_view expression, absl::string_view text) {
  return absl::StrSplit(text.substr(expression.size()), absl::ByAnyChar(", \t"), absl::SkipEmpty());
}

absl::StatusOr<absl::string_view> ExpressionOf(absl::string_view text) {
  const absl::string_view expression = text.substr(0, text.find(','));
  if (expression.empty()) return absl::InvalidArgumentError("there is no expression");
  return expression;
}

// Reads an expression and, after commas, sizes "AXIS=SIZE": "b s (h d) -> b h s d, h=8". The server
// interprets the expression.
absl::Status ReadAxisExpression(absl::string_view text, v1::AxisExpression* expression) {
  const absl::StatusOr<absl::string_view> axes = ExpressionOf(text);
  if (!axes.ok()) return axes.status();
  expression->set_expression(std::string(*axes));
  for (const absl::string_view part : PartsAfter(*axes, text)) {
    const absl::Status read = ReadSize(part, expression->add_sizes());
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

// ReadAxisExpression(), and after a comma "sum", "mean", "max", "min" or "product".
absl::Status ReadReduction(absl::string_view text, v1::TensorStep::Reduce* reduce) {
  const absl::StatusOr<absl::string_view> axes = ExpressionOf(text);
  if (!axes.ok()) return axes.status();
  reduce->set_expression(std::string(*axes));
  for (const absl::string_view part : PartsAfter(*axes, text)) {
    const absl::Status read = absl::StrContains(part, "=") ? ReadSize(part, reduce->add_sizes())
                                                           : ReadFunction(part, reduce);
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

absl::Status ReadRearrange(const Arguments& arguments, v1::TensorStep* step) {
  return ReadAxisExpression(arguments.text, step->mutable_rearrange());
}

absl::Status ReadRepeat(const Arguments& arguments, v1::TensorStep* step) {
  return ReadAxisExpression(arguments.text, step->mutable_repeat());
}

absl::Status ReadReduce(const Arguments& arguments, v1::TensorStep* step) {
  return ReadReduction(arguments.text, step->mutable_reduce());
}

absl::Status ReadCheck(const Arguments& arguments, v1::TensorStep* step) {
  step->mutable_check_shape()->set_expression(std::string(arguments.text));
  return arguments.words.empty() ? WrongForm() : absl::OkStatus();
}

absl::Status ReadIndex(const Arguments& arguments, v1::TensorStep* step) {
  return ReadIntegers(arguments, step->mutable_flat_index()->mutable_index());
}

struct StepForm {
  absl::string_view name;
  const char* arguments;
  absl::Status (*read)(const Arguments&, v1::TensorStep*);
};

constexpr StepForm kForms[] = {
    {"select", " AXIS INDEX", ReadSelect},
    {"slice", " AXIS START:STOP[:STEP], where each bound may be left out", ReadSlice},
    {"transpose", " [AXIS AXIS]", ReadTranspose},
    {"permute", " AXIS...", ReadPermute},
    {"view", " SIZE...", ReadView},
    {"reshape", " SIZE...", ReadReshape},
    {"expand", " SIZE...", ReadExpand},
    {"squeeze", " [AXIS]", ReadSqueeze},
    {"unsqueeze", " [AXIS]", ReadUnsqueeze},
    {"flatten", " [FIRST LAST]", ReadFlatten},
    {"contiguous", "", ReadContiguous},
    {"cast", " TYPE", ReadCast},
    {"elementwise", " NAME [SHAPE]", ReadElementwise},
    {"rearrange", " EXPRESSION[, AXIS=SIZE...]", ReadRearrange},
    {"repeat", " EXPRESSION[, AXIS=SIZE...]", ReadRepeat},
    {"reduce", " EXPRESSION[, AXIS=SIZE...][, FUNCTION]", ReadReduce},
    {"check", " EXPRESSION", ReadCheck},
    {"index", " INDEX...", ReadIndex},
};

std::string StepNames() {
  return absl::StrJoin(kForms, ", ", [](std::string* out, const StepForm& form) {
    absl::StrAppend(out, form.name);
  });
}

}  // namespace

absl::Status ReadTensorStep(absl::string_view text, v1::TensorStep* step) {
  const absl::string_view stripped = absl::StripAsciiWhitespace(text);
  const absl::string_view name = stripped.substr(0, stripped.find_first_of(" \t"));
  Arguments arguments;
  arguments.text = absl::StripAsciiWhitespace(stripped.substr(name.size()));
  arguments.words = absl::StrSplit(arguments.text, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  for (const StepForm& form : kForms) {
    if (name != form.name) continue;
    const absl::Status read = form.read(arguments, step);
    if (read.ok()) return read;
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\": ", read.message(),
                                                   read.message().empty() ? "" : "; ", "write ",
                                                   form.name, form.arguments));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not a step; write one of ", StepNames(),
                   ", with what belongs to it in the same quotes: \"transpose 1 2\""));
}

}  // namespace sextant::client
