#include "client/flags/tensor_step.h"

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
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

using google::protobuf::FieldDescriptor;

// A step's text after its name.
struct Arguments {
  absl::string_view text;
  std::vector<absl::string_view> words;
};

// The error of a text that does not match the step's form, which is shown in any case.
absl::Status WrongForm() { return absl::InvalidArgumentError(""); }

// Reads a whole number into `field` of `*message`, at the end of a list.
absl::Status ReadInteger(absl::string_view word, const FieldDescriptor& field,
                         google::protobuf::Message* message) {
  const absl::StatusOr<int64_t> value = ParseCount(word);
  if (!value.ok()) return value.status();
  if (field.is_repeated()) {
    message->GetReflection()->AddInt64(message, &field, *value);
  } else {
    message->GetReflection()->SetInt64(message, &field, *value);
  }
  return absl::OkStatus();
}

// Reads a step of whole numbers: one for each of its fields, or, if `may_be_none`, none; or one or
// more for its only field, a list.
absl::Status ReadIntegers(const Arguments& arguments, bool may_be_none,
                          google::protobuf::Message* of_step) {
  const google::protobuf::Descriptor& type = *of_step->GetDescriptor();
  const bool is_list = type.field_count() == 1 && type.field(0)->is_repeated();
  const size_t count = arguments.words.size();
  const bool fits =
      is_list ? count > 0
              : count == static_cast<size_t>(type.field_count()) || (may_be_none && count == 0);
  if (!fits) return WrongForm();
  for (size_t i = 0; i < count; ++i) {
    const FieldDescriptor& field = *type.field(is_list ? 0 : static_cast<int>(i));
    absl::Status read = ReadInteger(arguments.words[i], field, of_step);
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

absl::Status ReadSlice(const Arguments& arguments, v1::TensorStep* step) {
  if (arguments.words.size() != 2) return WrongForm();
  const std::vector<absl::string_view> bounds = absl::StrSplit(arguments.words[1], ':');
  if (bounds.size() < 2 || bounds.size() > 3) return WrongForm();
  v1::TensorStep::Slice* const slice = step->mutable_slice();
  // Start, stop and step follow the axis, and may be left out.
  absl::Status read = ReadInteger(arguments.words[0], *slice->GetDescriptor()->field(0), slice);
  for (size_t i = 0; read.ok() && i < bounds.size(); ++i) {
    if (bounds[i].empty()) continue;
    read = ReadInteger(bounds[i], *slice->GetDescriptor()->field(static_cast<int>(i) + 1), slice);
  }
  return read;
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

// Reads an expression and, after commas, sizes "AXIS=SIZE": "b s (h d) -> b h s d, h=8"; of a
// reduction also "sum", "mean", "max", "min" or "product". The server interprets the expression.
template <typename Step>
absl::Status ReadExpression(absl::string_view text, Step* step) {
  const absl::string_view expression = text.substr(0, text.find(','));
  if (expression.empty()) return absl::InvalidArgumentError("there is no expression");
  step->set_expression(std::string(expression));
  for (const absl::string_view part :
       absl::StrSplit(text.substr(expression.size()), absl::ByAnyChar(", \t"), absl::SkipEmpty())) {
    absl::Status read;
    if constexpr (std::is_same_v<Step, v1::TensorStep::Reduce>) {
      read = absl::StrContains(part, "=") ? ReadSize(part, step->add_sizes())
                                          : ReadFunction(part, step);
    } else {
      read = ReadSize(part, step->add_sizes());
    }
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

absl::Status ReadRearrange(const Arguments& arguments, v1::TensorStep* step) {
  return ReadExpression(arguments.text, step->mutable_rearrange());
}

absl::Status ReadRepeat(const Arguments& arguments, v1::TensorStep* step) {
  return ReadExpression(arguments.text, step->mutable_repeat());
}

absl::Status ReadReduce(const Arguments& arguments, v1::TensorStep* step) {
  return ReadExpression(arguments.text, step->mutable_reduce());
}

absl::Status ReadCheck(const Arguments& arguments, v1::TensorStep* step) {
  step->mutable_check_shape()->set_expression(std::string(arguments.text));
  return arguments.words.empty() ? WrongForm() : absl::OkStatus();
}

struct StepForm {
  absl::string_view name;
  absl::string_view arguments;
  absl::Status (*read)(const Arguments&, v1::TensorStep*) = nullptr;  // null: of whole numbers
  absl::string_view field = name;
};

constexpr StepForm kForms[] = {
    {"select", " AXIS INDEX"},
    {"slice", " AXIS START:STOP[:STEP], where each bound may be left out", ReadSlice},
    {"transpose", " [AXIS AXIS]"},
    {"permute", " AXIS..."},
    {"view", " SIZE..."},
    {"reshape", " SIZE..."},
    {"expand", " SIZE..."},
    {"squeeze", " [AXIS]"},
    {"unsqueeze", " [AXIS]"},
    {"flatten", " [FIRST LAST]"},
    {"contiguous", ""},
    {"cast", " TYPE", ReadCast},
    {"elementwise", " NAME [SHAPE]", ReadElementwise},
    {"rearrange", " EXPRESSION[, AXIS=SIZE...]", ReadRearrange},
    {"repeat", " EXPRESSION[, AXIS=SIZE...]", ReadRepeat},
    {"reduce", " EXPRESSION[, AXIS=SIZE...][, FUNCTION]", ReadReduce},
    {"check", " EXPRESSION", ReadCheck},
    {"index", " INDEX...", nullptr, "flat_index"},
};

absl::Status Read(const StepForm& form, const Arguments& arguments, v1::TensorStep* step) {
  if (form.read != nullptr) return form.read(arguments, step);
  const FieldDescriptor* const field =
      step->GetDescriptor()->FindFieldByName(std::string(form.field));
  return ReadIntegers(arguments, absl::StartsWith(form.arguments, " ["),
                      step->GetReflection()->MutableMessage(step, field));
}

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
    absl::Status read = Read(form, arguments, step);
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
