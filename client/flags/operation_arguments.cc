#include "client/flags/operation_arguments.h"

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
#include "client/flags/field_flag.h"
#include "client/flags/words.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

// Sets one of an operation's sizes; one alone (`joined` false) may be a number of bytes.
absl::Status SetSize(const char* field, const std::string& text, bool joined,
                     v1::AnalyzeOperationRequest* request) {
  if (!joined) return SetField(field, text, request);
  const absl::StatusOr<int64_t> size = ParseLength(text);
  return size.ok() ? SetField(field, absl::StrCat(*size), request) : size.status();
}

// A number of elements, "7B", or a shape, "4x8Ki".
absl::Status ReadShapeSize(const OperationKind& kind, absl::string_view text,
                           v1::AnalyzeOperationRequest* request) {
  if (!absl::StrContains(text, 'x')) {
    return SetField(kind.size_fields[0], std::string(text), request);
  }
  const absl::StatusOr<std::vector<int64_t>> sizes = ParseSizes(text);
  if (!sizes.ok()) return sizes.status();
  const absl::StatusOr<int64_t> count = ElementCount(*sizes);
  if (!count.ok()) return count.status();
  return SetField(kind.size_fields[0], absl::StrCat(*count), request);
}

// The int64 at `path` of `message`, a field that the API has; 0 where it is not set.
int64_t ValueAt(absl::string_view path, const google::protobuf::Message& message) {
  const google::protobuf::Message* at = &message;
  const std::vector<std::string> names = absl::StrSplit(path, '.');
  for (const std::string& name : names) {
    const auto* const field = at->GetDescriptor()->FindFieldByName(name);
    const auto* const reflection = at->GetReflection();
    if (&name == &names.back()) return reflection->GetInt64(*at, field);
    at = &reflection->GetMessage(*at, field);
  }
  return 0;
}

// The whole number after `prefix` in "operation.einsum.operands[1].shape", counted from 1; absent
// for another field.
std::optional<int64_t> EntryOf(absl::string_view field, absl::string_view prefix) {
  int64_t index = 0;
  if (!absl::ConsumePrefix(&field, prefix) ||
      !absl::SimpleAtoi(field.substr(0, field.find(']')), &index)) {
    return std::nullopt;
  }
  return index + 1;
}

// Fields whose text is not read by their type alone.
constexpr FieldFlag kOtherOperationFlags[] = {
    WordFor("--achieved", "achieved_seconds"),
    WordFor("--device", "device.device.accelerator"),
    WordFor("--device", "device.device.host_devices.devices", Below::kDropped),
    WordFor("--calibration", "device.device.calibrations.calibrations[0]", Below::kAppended),
    WordFor("--device", "device.device", Below::kUnknown),
    WordFor("--device", "device", Below::kUnknown),
};

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
    const absl::Status set = SetSize(kind.size_fields[i], sizes[i], sizes.size() > 1, request);
    if (set.ok()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(OperationFieldWords(kind, kind.size_fields[i]), ": ", set.message()));
  }
  return absl::OkStatus();
}

std::string NamedSizes(const OperationKind& kind, const v1::AnalyzeOperationRequest& request) {
  return absl::StrJoin(kind.size_fields, ", ", [&request](std::string* out, const char* path) {
    const std::vector<absl::string_view> names = absl::StrSplit(path, '.');
    absl::StrAppend(out, names.back(), "=", ValueAt(path, request));
  });
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
      "\"", text, "\" is not a step", read.ok() ? "" : absl::StrCat(": ", read.message()),
      "; write FUNCTION[:EXTRA_INPUTS[:FLOPS]] such as exp, add:1 or general:1:8, FUNCTION being ",
      absl::StrJoin(EnumNames(*v1::ElementwiseFunction_descriptor()), "|")));
}

void SetDevice(const std::string& name, v1::DeviceSelector* device) {
  const bool on_server = name == "host" || absl::StartsWith(name, "CPU-") ||
                         absl::StartsWith(name, "GPU-") || absl::StartsWith(name, "MIG-");
  if (on_server) {
    device->mutable_host_devices()->Clear();
    device->mutable_host_devices()->add_devices(name);
  } else {
    device->set_accelerator(name);
  }
}

std::string OperationFieldWords(const OperationKind& kind, const std::string& field) {
  if (const auto argument = ArgumentOf(kind, field)) return *argument;
  return FieldWordsOf({kind.flags, NumberFormatFlags(), DeviceFlags(), FleetFlags(),
                       RateRequirementFlags(), kOtherOperationFlags},
                      field);
}

}  // namespace sextant::client
