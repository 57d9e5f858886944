// `sextant rates`: shows how fast kernels of growing size run on a device.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/operation_arguments.h"
#include "client/io/message_file.h"
#include "client/io/text_file.h"
#include "client/plot/charts.h"
#include "client/report/hardware_text.h"
#include "client/text/text.h"
#include "sextant/v1/hardware_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kRatesHelp[] =
    "A product's rates are this server's own measurements of such devices, else published\n"
    "measurements, else its datasheet; of several devices the slowest counts at each size.\n"
    "\n"
    "Examples:\n"
    "  sextant rates h200-sxm --svg=h200.svg\n"
    "  sextant rates b200-sxm --dtype=bf16 --dtype=nvfp4\n"
    "  sextant rates host\n";

struct RatesFlags {
  std::vector<std::string> devices;
  std::vector<std::string> calibration_files;
  v1::GetKernelRatesRequest request;  // but for those two
  std::string svg_file;               // "" for none
};

constexpr FieldFlag kFleetFlags[] = {{"--fleet", "device.fleet.accelerator",
                                      "a catalogue name: at rates that the fleet's hosts measured"},
                                     {"--hostnames,--hosts", "device.fleet.hostnames",
                                      "with --fleet: the hosts that count, a,b,c; repeatable"},
                                     {"--gpu-uuids", "device.fleet.gpu_uuids",
                                      "with --fleet: the GPUs that count, a,b,c; repeatable"}};

constexpr FieldFlag kWords[] = {
    WordFor("DEVICE", "device.accelerator"),
    WordFor("DEVICE", "device.host_devices.devices", Below::kDropped),
    WordFor("--calibration", "device.calibrations.calibrations", Below::kAppended),
    WordFor("DEVICE", "device", Below::kUnknown),
    WordFor("--dtype", "data_types", Below::kDropped),
};

std::string RatesFieldWords(const std::string& field) {
  return FieldWordsOf({kFleetFlags, kWords}, field);
}

// Adds the data type that `name` names, "bf16".
absl::Status AddType(const std::string& name, v1::GetKernelRatesRequest* request) {
  v1::DataType type = v1::DATA_TYPE_UNSPECIFIED;
  v1::DataType_Parse(absl::StrCat("DATA_TYPE_", absl::AsciiStrToUpper(name)), &type);
  if (type == v1::DATA_TYPE_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\" is not a data type; sextant dtype lists them"));
  }
  request->add_data_types(type);
  return absl::OkStatus();
}

// Adds one more device to the request: "host" or a UUID of the server's, else a device of the
// catalogue. Errors: kInvalidArgument, saying what is wrong with the name.
absl::Status AddDevice(const std::string& name, v1::DeviceSelector* devices) {
  v1::DeviceSelector device;
  SetDevice(name, &device);
  if (devices->has_accelerator()) {
    return absl::InvalidArgumentError(absl::StrCat("only one product can be named, and ",
                                                   devices->accelerator(),
                                                   " already is: leave out ", name));
  }
  if (devices->has_host_devices() && device.has_accelerator()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "name one product, or devices of the server: leave out ", name, ", or all others"));
  }
  devices->MergeFrom(device);
  return absl::OkStatus();
}

// Checks combinations of flags that are each valid, and adds the devices to the request.
void Finish(RatesFlags* flags) {
  const int ways = (flags->devices.empty() ? 0 : 1) + (flags->calibration_files.empty() ? 0 : 1) +
                   (flags->request.device().has_fleet() ? 1 : 0);
  if (ways != 1) {
    throw CLI::ValidationError(
        "name one product (sextant accelerators), devices of the server (sextant devices), files "
        "of calibrations by --calibration, or a product of the fleet's by --fleet");
  }
  for (const std::string& device : flags->devices) {
    const absl::Status added = AddDevice(device, flags->request.mutable_device());
    if (!added.ok()) throw CLI::ValidationError(std::string(added.message()));
  }
}

int RunRates(const RatesFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::GetKernelRatesRequest request = flags.request;
  v1::GetKernelRatesResponse response;
  grpc::Status status;
  if (!flags.calibration_files.empty()) {
    auto* calibrations = request.mutable_device()->mutable_calibrations();
    status = ReadCalibrationFiles(flags.calibration_files, streams.in,
                                  calibrations->mutable_calibrations());
  }
  if (status.ok()) {
    status = Call(line.server, &v1::HardwareService::Stub::GetKernelRates, request, &response);
  }
  if (status.ok() && response.curves().empty()) status = Incomplete("rates");
  if (!status.ok()) {
    return Fail(status, line, streams, {.field = RatesFieldWords});
  }
  if (!flags.svg_file.empty()) {
    const absl::Status written = WriteText(flags.svg_file, RenderSvg(KernelPlots(response)));
    if (!written.ok()) return FailToWrite(written, line, streams);
  }
  streams.out << (line.json() ? ProtoJson(response)
                              : Printable(KernelRatesText(response, RatesFieldWords)));
  return kExitFits;
}

}  // namespace

void AddRates(CLI::App* app, CommandLine* line) {
  const auto flags = std::make_shared<RatesFlags>();
  CLI::App* command =
      AddCommand("rates", "Show how fast kernels of growing size run on a device", kRatesHelp, app);
  command->add_option("DEVICE", flags->devices,
                      "a product, or UUIDs of the server's devices; host: its CPU");
  command
      ->add_option("--calibration", flags->calibration_files,
                   "one of: sextant calibration --save; repeatable, up to 16")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->check(CheckFile);
  AddFleetFlags(kFleetFlags, &flags->request, {"DEVICE", "--calibration"}, command);
  AddTexts(
      "--dtype", "of the operands; repeatable; default: all that was measured",
      [flags](const std::string& name) { return AddType(name, &flags->request); }, command)
      ->type_name("TYPE");
  command->add_option("--svg", flags->svg_file, "also draw the curves into this file")
      ->type_name("FILE");
  command->final_callback([flags, line] {
    Finish(flags.get());
    line->run = [flags](const CommandLine& read, const Streams& streams) {
      return RunRates(*flags, read, streams);
    };
  });
}

}  // namespace sextant::client
