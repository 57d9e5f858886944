#include "client/operation_request.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/enum_names.h"
#include "client/field_flag.h"
#include "client/field_path.h"
#include "client/number.h"
#include "client/sizes.h"

namespace sextant {
namespace {

absl::Status ReadShapeSize(const OperationKind& kind, absl::string_view text,
                           v1::AnalyzeOperationRequest* request) {
  const absl::StatusOr<std::vector<int64_t>> sizes = ParseSizes(text);
  if (!sizes.ok()) return sizes.status();
  const absl::StatusOr<int64_t> count = ElementCount(*sizes);
  if (!count.ok()) return count.status();
  return SetField(kind.size_fields[0], absl::StrCat(*count), request);
}

// The whole number behind `prefix` in "operation.einsum.operands[1].shape", counted from 1;
// absent where the field is another.
std::optional<int64_t> EntryOf(absl::string_view field, absl::string_view prefix) {
  int64_t index = 0;
  if (!absl::ConsumePrefix(&field, prefix) ||
      !absl::SimpleAtoi(field.substr(0, field.find(']')), &index)) {
    return std::nullopt;
  }
  return index + 1;
}

// The flag among `flags` that sets `field`, or a message that it is part of.
std::optional<std::string> FlagOf(absl::Span<const FieldFlag> flags, absl::string_view field) {
  for (const FieldFlag& flag : flags) {
    if (field == flag.field) return ShortName(flag);
  }
  return std::nullopt;
}

std::optional<std::string> ArgumentOf(const OperationKind& kind, absl::string_view field) {
  const std::vector<std::string> letters = absl::StrSplit(kind.sizes, 'x');
  for (size_t i = 0; i < kind.size_fields.size(); ++i) {
    if (field != kind.size_fields[i]) continue;
    if (kind.size_fields.size() == 1) return kind.sizes;
    return absl::StrCat(letters[i], " of ", kind.sizes);
  }
  if (field == "operation.einsum.expression") return "EXPRESSION";
  if (field == "operation.einsum.operands") return "SHAPE...";
  if (const auto operand = EntryOf(field, "operation.einsum.operands[")) {
    return absl::StrCat("SHAPE ", *operand);
  }
  if (const auto step = EntryOf(field, "operation.fused_chain.steps[")) {
    return absl::StrCat("STEP ", *step);
  }
  return std::nullopt;
}

}  // namespace

absl::Status ReadSizes(const OperationKind& kind, absl::string_view text,
                       v1::AnalyzeOperationRequest* request) {
  if (kind.form == SizesForm::kExpression) {
    request->mutable_operation()->mutable_einsum()->set_expression(std::string(text));
    return absl::OkStatus();
  }
  if (kind.form == SizesForm::kShape) return ReadShapeSize(kind, text, request);
  const std::vector<std::string> sizes = absl::StrSplit(text, 'x');
  if (sizes.size() != kind.size_fields.size()) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not ", kind.sizes,
                                                   "; write it as in: sextant op ", kind.name, " ",
                                                   kind.example));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const absl::Status set = SetField(kind.size_fields[i], sizes[i], request);
    if (set.ok()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(OperationFieldWords(kind, kind.size_fields[i]), ": ", set.message()));
  }
  return absl::OkStatus();
}

absl::Status AddOperand(absl::string_view text, v1::AnalyzeOperationRequest* request) {
  const absl::StatusOr<std::vector<int64_t>> shape = ParseShape(text);
  if (!shape.ok()) return shape.status();
  v1::Operation::Einsum::Operand* operand =
      request->mutable_operation()->mutable_einsum()->add_operands();
  operand->mutable_shape()->Add(shape->begin(), shape->end());
  return absl::OkStatus();
}

absl::Status AddChainStep(absl::string_view text, v1::AnalyzeOperationRequest* request) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  v1::Operation::FusedChain::Step step;
  absl::Status read = SetField("function", parts[0], &step);
  if (read.ok() && parts.size() > 1) read = SetField("extra_input_count", parts[1], &step);
  if (read.ok() && parts.size() > 2) read = SetField("flops_per_element", parts[2], &step);
  if (read.ok() && parts.size() <= 3) {
    *request->mutable_operation()->mutable_fused_chain()->add_steps() = step;
    return read;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is no step", read.ok() ? "" : absl::StrCat(": ", read.message()),
      "; write FUNCTION[:EXTRA_INPUTS[:FLOPS]] such as exp, add:1 or general:1:8, FUNCTION being ",
      absl::StrJoin(EnumNames(*v1::ElementwiseFunction_descriptor()), "|")));
}

void SetDevice(const std::string& name, v1::OperationDevice* device) {
  const bool on_server = name == "host" || absl::StartsWith(name, "CPU-") ||
                         absl::StartsWith(name, "GPU-") || absl::StartsWith(name, "MIG-");
  if (on_server) {
    device->set_device_uuid(name);
  } else {
    device->set_accelerator(name);
  }
}

std::string OperationFieldWords(const OperationKind& kind, const std::string& field) {
  if (const auto argument = ArgumentOf(kind, field)) return *argument;
  for (const auto flags : {kind.flags, NumberFormatFlags(), DeviceFlags()}) {
    if (const auto flag = FlagOf(flags, field)) return *flag;
  }
  if (field == "achieved_seconds") return "--achieved";
  if (field == "device" || field == "device.accelerator" || field == "device.device_uuid") {
    return "--device";
  }
  if (absl::StartsWith(field, "device.calibration")) {
    return absl::StrCat("--calibration", absl::StripPrefix(field, "device.calibration"));
  }
  return field;
}

}  // namespace sextant
