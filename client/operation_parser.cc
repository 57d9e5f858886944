#include "client/operation_parser.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/command_parts.h"
#include "client/field_flag.h"
#include "client/help_text.h"
#include "client/number.h"
#include "client/operation_kinds.h"

namespace sextant {
namespace {

// Reads one text into the request.
using Reader =
    std::function<absl::Status(const std::string& text, v1::AnalyzeOperationRequest* request)>;

Check CheckOf(const Reader& read) {
  return [read](const std::string& text) {
    v1::AnalyzeOperationRequest scratch;
    return std::string(read(text, &scratch).message());
  };
}

void AddSizes(const OperationKind& kind, CLI::App* command, OperationCommand* operation) {
  const Reader read = [&kind](const std::string& text, v1::AnalyzeOperationRequest* request) {
    return ReadSizes(kind, text, request);
  };
  command
      ->add_option_function<std::string>(
          kind.sizes,
          [read, operation](const std::string& text) {
            (void)read(text, &operation->request);  // has passed CheckOf()
          },
          kind.sizes_help)
      ->type_name("")
      ->check(CheckOf(read))
      ->required();
}

// One or more arguments behind the sizes.
void AddMore(const char* name, const char* help, const Reader& read, CLI::App* command,
             OperationCommand* operation) {
  const auto take = [read, operation](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) (void)read(text, &operation->request);
  };
  command->add_option_function<std::vector<std::string>>(name, take, help)
      ->type_name("")
      ->check(CheckOf(read))
      ->required();
}

void AddArguments(const OperationKind& kind, CLI::App* command, OperationCommand* operation) {
  AddSizes(kind, command, operation);
  if (kind.form == SizesForm::kExpression) {
    AddMore("SHAPE", "of each operand, 2x3x4 or scalar", AddOperand, command, operation);
  }
  if (kind.has_steps) {
    AddMore("STEP", "FUNCTION[:EXTRA_INPUTS[:FLOPS]], e.g. exp, add:1", AddChainStep, command,
            operation);
  }
}

std::string CheckTime(const std::string& text) {
  return std::string(ParseSeconds(text).status().message());
}

void AddDeviceFlags(CLI::App* command, OperationCommand* operation) {
  constexpr char kGroup[] = "Device";
  v1::AnalyzeOperationRequest* request = &operation->request;
  command
      ->add_option_function<std::string>(
          "--device",
          [request](const std::string& name) { SetDevice(name, request->mutable_device()); },
          "of sextant accelerators, or a UUID; host: server's CPU")
      ->type_name("NAME")
      ->group(kGroup);
  command
      ->add_option("--calibration", operation->calibration_file,
                   "one of: sextant calibration --save")
      ->type_name("FILE")
      ->check(Check(CheckFile))
      ->group(kGroup);
  for (const FieldFlag& flag : DeviceFlags()) AddFieldFlag(flag, request, command);
  command
      ->add_option_function<std::string>(
          "--achieved",
          [request](const std::string& text) {
            request->set_achieved_seconds(ParseSeconds(text).value_or(0));
          },
          "what forward took, e.g. 9.5ms: tells its utilisation")
      ->type_name("TIME")
      ->check(Check(CheckTime))
      ->group(kGroup);
  command->add_flag("--plot", operation->plot, "draw the roofline")->group(kGroup);
  command->add_option("--svg", operation->svg_file, "also draw it as SVG into this file")
      ->type_name("FILE")
      ->group(kGroup);
}

// The last word on flags that are each right.
void Finish(const OperationKind& kind, CommandLine* line) {
  OperationCommand& operation = line->operation;
  const v1::OperationDevice& device = operation.request.device();
  const bool named = !device.accelerator().empty() || !device.device_uuid().empty();
  if (named && !operation.calibration_file.empty()) {
    throw CLI::ValidationError("--device and --calibration each name a device: give one of them");
  }
  const bool draws = operation.plot || !operation.svg_file.empty();
  if (draws && !operation.request.has_device() && operation.calibration_file.empty()) {
    throw CLI::ValidationError(
        "a roofline is drawn for a device: name it by --device or --calibration, or give "
        "--matrix-flops and --memory-bandwidth");
  }
  if (operation.plot && line->json()) {
    throw CLI::ValidationError("--plot is for people: leave out --output=json, or use --svg=FILE");
  }
  operation.kind = &kind;
  line->command = Command::kOperation;
}

// Their names would not fit on a line of --help.
bool IsDataType(const FieldFlag& flag) { return absl::StartsWith(flag.field, "data_types."); }

void AddKind(const OperationKind& kind, CLI::App* group, CommandLine* line) {
  OperationCommand* operation = &line->operation;
  const std::string help =
      absl::StrCat("Example:\n  sextant op ", kind.name, " ", kind.example, "\n");
  CLI::App* command = AddCommand(kind.name, kind.description, help.c_str(), group);
  AddArguments(kind, command, operation);
  for (const FieldFlag& flag : kind.flags) AddFieldFlag(flag, &operation->request, command);
  if (kind.on_device) {
    for (const FieldFlag& flag : NumberFormatFlags()) {
      CLI::Option* option = AddFieldFlag(flag, &operation->request, command);
      const bool required = &flag == NumberFormatFlags().data();
      option->required(required);
      if (IsDataType(flag)) option->option_text(required ? "TYPE REQUIRED" : "TYPE");
    }
    AddDeviceFlags(command, operation);
  }
  command->final_callback([&kind, line] { Finish(kind, line); });
}

}  // namespace

void AddOperation(CLI::App* app, CommandLine* line) {
  CLI::App* group = AddCommand("op", "Cost one operation, forward and backward, and on a device",
                               kOperationHelp, app);
  group->require_subcommand(1);
  for (const OperationKind& kind : OperationKinds()) AddKind(kind, group, line);
}

}  // namespace sextant
