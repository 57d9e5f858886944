#include "client/axis_expression.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/enum_names.h"
#include "client/number.h"

namespace sextant {
namespace {

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

// What stands behind the first comma, a part for each size or function.
std::vector<absl::string_view> PartsBehind(absl::string_view expression, absl::string_view text) {
  return absl::StrSplit(text.substr(expression.size()), absl::ByAnyChar(", \t"), absl::SkipEmpty());
}

absl::StatusOr<absl::string_view> ExpressionOf(absl::string_view text) {
  const absl::string_view expression = text.substr(0, text.find(','));
  if (expression.empty()) return absl::InvalidArgumentError("there is no expression");
  return expression;
}

}  // namespace

absl::Status ReadAxisExpression(absl::string_view text, v1::AxisExpression* expression) {
  const absl::StatusOr<absl::string_view> axes = ExpressionOf(text);
  if (!axes.ok()) return axes.status();
  expression->set_expression(std::string(*axes));
  for (const absl::string_view part : PartsBehind(*axes, text)) {
    const absl::Status read = ReadSize(part, expression->add_sizes());
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

absl::Status ReadReduction(absl::string_view text, v1::TensorStep::Reduce* reduce) {
  const absl::StatusOr<absl::string_view> axes = ExpressionOf(text);
  if (!axes.ok()) return axes.status();
  reduce->set_expression(std::string(*axes));
  for (const absl::string_view part : PartsBehind(*axes, text)) {
    const absl::Status read = absl::StrContains(part, "=") ? ReadSize(part, reduce->add_sizes())
                                                           : ReadFunction(part, reduce);
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

}  // namespace sextant
