// `sextant op`: costs one operation; each kind is a command of its own.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/operation_arguments.h"
#include "client/flags/words.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"
#include "client/plot/charts.h"
#include "client/report/operation_text.h"
#include "client/text/text.h"
#include "sextant/v1/accounting_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kOperationHelp[] =
    "Each kind has a --help of its own: sextant op attention --help. Sizes take Ki and Mi:\n"
    "8Ki is 8192. FLOPs count a multiply-add as two; every array moves once a kernel.\n"
    "\n"
    "Examples:\n"
    "  What does this product cost, and what bounds it?\n"
    "    sextant op matmul 16384x8192x32768 --dtype=bf16 --device=h100-sxm\n"
    "  The roofline, here and as a picture:\n"
    "    sextant op softmax 8192x4096 --dtype=bf16 --device=h100-sxm --plot --svg=softmax.svg\n"
    "  Fused attention and its separate kernels:\n"
    "    sextant op attention 1x32x8192x128 --kv-heads=8 --causal --dtype=bf16 --device=h100-sxm\n"
    "  It took 9.5 ms: is that good?\n"
    "    sextant op matmul 16384x8192x32768 --dtype=bf16 --device=h100-sxm --achieved=9.5ms\n"
    "  By names of axes:\n"
    "    sextant op einsum \"b s h, b t h -> b s t\" 2x3x4 2x3x4 --dtype=fp32\n"
    "  Rates of your own:\n"
    "    sextant op linear 8192x4096x14336 --dtype=bf16 --matrix-flops=400e12 \\\n"
    "        --memory-bandwidth=2e12\n";

// The flags and arguments of one kind of operation.
struct OperationArguments {
  v1::AnalyzeOperationRequest request;
  std::string calibration_file;  // "" for none
  bool plot = false;
  std::string svg_file;  // "" for none
};

// Reads one text into the request.
using ReadInto =
    std::function<absl::Status(const std::string& text, v1::AnalyzeOperationRequest* request)>;

Reader Into(v1::AnalyzeOperationRequest* request, const ReadInto& read) {
  return [request, read](const std::string& text) { return read(text, request); };
}

void AddArguments(const OperationKind& kind, v1::AnalyzeOperationRequest* request,
                  CLI::App* command) {
  const auto read_sizes = [&kind](const std::string& text, v1::AnalyzeOperationRequest* out) {
    return ReadSizes(kind, text, out);
  };
  AddText(kind.sizes, kind.sizes_help, Into(request, read_sizes), command)->required();
  if (kind.name == absl::string_view("einsum")) {
    AddTexts("SHAPE", "of each operand, 2x3x4 or scalar", Into(request, AddOperand), command)
        ->required();
  }
  if (kind.name == absl::string_view("fused-chain")) {
    AddTexts("STEP", "FUNCTION[:EXTRA_INPUTS[:FLOPS]], e.g. exp, add:1",
             Into(request, AddChainStep), command)
        ->required();
  }
}

// Adds the flags of the fields below each of `paths`.
void AddFlagsBelow(std::initializer_list<std::string> paths, v1::AnalyzeOperationRequest* request,
                   CLI::App* command) {
  for (const std::string& path : paths) {
    for (const FieldFlag& flag : OperationFlags()) {
      const bool is_below =
          flag.field == path || absl::StartsWith(flag.field, absl::StrCat(path, "."));
      if (is_below && !flag.names.empty()) AddFieldFlag(flag, request, command);
    }
  }
}

absl::Status ReadAchieved(const std::string& text, v1::AnalyzeOperationRequest* request) {
  const absl::StatusOr<double> seconds = ParseSeconds(text);
  if (seconds.ok()) request->set_achieved_seconds(*seconds);
  return seconds.status();
}

constexpr char kDeviceGroup[] = "Device";

// The flags that name a device.
void AddDeviceName(OperationArguments* flags, CLI::App* command) {
  v1::AnalyzeOperationRequest* request = &flags->request;
  const auto read_device = [request](const std::string& name) {
    SetDevice(name, request->mutable_device()->mutable_device());
    return absl::OkStatus();
  };
  AddText("--device", "of sextant accelerators, or a UUID; host: server's CPU", read_device,
          command)
      ->type_name("NAME")
      ->group(kDeviceGroup);
  AddFile("--calibration", &flags->calibration_file, "one of: sextant calibration --save", command)
      ->check(CheckFile)
      ->group(kDeviceGroup);
  AddFlagsBelow({"device.device", "device.rate_requirement"}, request, command);
  LimitFleetFlags({"--device", "--calibration"}, command);
}

void AddRoofline(OperationArguments* flags, CLI::App* command) {
  v1::AnalyzeOperationRequest* request = &flags->request;
  for (const FieldFlag& flag : OperationFlags()) {
    const bool is_rate = absl::StartsWith(flag.field, "device.") && !flag.names.empty() &&
                         command->get_option_no_throw(flag.word) == nullptr;
    if (is_rate) AddFieldFlag(flag, request, command);
  }
  AddText("--achieved", "what forward took, e.g. 9.5ms: tells its utilisation",
          Into(request, ReadAchieved), command)
      ->type_name("TIME")
      ->group(kDeviceGroup);
  command->add_flag("--plot", flags->plot, "draw the roofline")->group(kDeviceGroup);
  AddFile("--svg", &flags->svg_file, "also draw it as SVG into this file", command)
      ->group(kDeviceGroup);
}

// Checks combinations of flags that are each valid.
void CheckTogether(const OperationArguments& flags, const CommandLine& line) {
  if (flags.request.device().has_device() && !flags.calibration_file.empty()) {
    throw CLI::ValidationError("--device and --calibration each name a device: give one of them");
  }
  const bool draws = flags.plot || !flags.svg_file.empty();
  if (draws && !flags.request.has_device() && flags.calibration_file.empty()) {
    throw CLI::ValidationError(
        "a roofline is drawn for a device: name it by --device or --calibration, or give "
        "--matrix-flops and --memory-bandwidth");
  }
  if (flags.plot && line.json()) {
    throw CLI::ValidationError("--plot is for people: leave out --output=json, or use --svg=FILE");
  }
}

grpc::Status Ask(const OperationArguments& flags, const CommandLine& line, std::istream& in,
                 v1::AnalyzeOperationResponse* response) {
  v1::AnalyzeOperationRequest request = flags.request;
  grpc::Status status;
  if (const std::string& file = flags.calibration_file; !file.empty()) {
    v1::DeviceSelector* device = request.mutable_device()->mutable_device();
    status = ReadCalibrationFile(file, in, device->mutable_calibrations()->add_calibrations());
  }
  if (status.ok()) {
    status = Call(line.server, &v1::AccountingService::Stub::AnalyzeOperation, request, response);
  }
  return status.ok() && !response->has_forward() ? Incomplete("cost") : status;
}

int RunOperation(const OperationKind& kind, const OperationArguments& flags,
                 const CommandLine& line, const Streams& streams) {
  const auto words = [&kind](const std::string& field) { return OperationFieldWords(kind, field); };
  v1::AnalyzeOperationResponse response;
  const grpc::Status status = Ask(flags, line, streams.in, &response);
  if (!status.ok()) return Fail(status, line, streams, {.field = words});
  std::string plot;
  if (flags.plot || !flags.svg_file.empty()) {
    const absl::StatusOr<Plot> chart = RooflinePlot(response);
    if (!chart.ok()) {
      const std::string why(chart.status().message());
      return Fail({grpc::StatusCode::INTERNAL, why}, line, streams);
    }
    if (flags.plot) plot = TextSection(*chart);
    if (!flags.svg_file.empty()) {
      const absl::Status written = WriteText(flags.svg_file, RenderSvg({*chart}));
      if (!written.ok()) return FailToWrite(written, line, streams);
    }
  }
  const auto text = [&] {
    return OperationText(response, {.sizes = NamedSizes(kind, flags.request),
                                    .plot = plot,
                                    .now = streams.now(),
                                    .words = words});
  };
  return Show(line, streams, response, text);
}

void AddKind(const OperationKind& kind, CLI::App* group, CommandLine* line) {
  const auto flags = std::make_shared<OperationArguments>();
  const std::string help =
      absl::StrCat("Example:\n  sextant op ", kind.name, " ", kind.example, "\n");
  CLI::App* command = AddCommand(kind.name, kind.description, help, group);
  if (!MayBeRead(*command, *line)) return;
  AddArguments(kind, &flags->request, command);
  AddFlagsBelow({PathOf(kind)}, &flags->request, command);
  // A copy to or from a device takes its link alone: no rates and number formats.
  const bool on_device = kind.name != absl::string_view("host-copy");
  if (on_device) {
    AddFlagsBelow({"data_types", "transcendental_flops"}, &flags->request, command);
    // The names of data types would not fit on a line of --help.
    command->get_option("--dtype")->required()->option_text("TYPE REQUIRED");
    for (const char* format : {"--output-dtype", "--accumulation-dtype", "--scaling"}) {
      command->get_option(format)->option_text("TYPE");
    }
  }
  AddDeviceName(flags.get(), command);
  if (on_device) AddRoofline(flags.get(), command);
  const auto run = [&kind, flags](const CommandLine& read, const Streams& streams) {
    return RunOperation(kind, *flags, read, streams);
  };
  OnceRead(command, line, run, {.check = [flags, line] { CheckTogether(*flags, *line); }});
}

void AddOperationFlags(CLI::App* command, CommandLine* line) {
  command->require_subcommand(1);
  for (const OperationKind& kind : OperationKinds()) AddKind(kind, command, line);
}

}  // namespace

const Command kOperationCommand = {"op",
                                   "Cost one operation, forward and backward, and on a device",
                                   kOperationHelp, AddOperationFlags};

}  // namespace sextant::client
