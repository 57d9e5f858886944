// `sextant rates`: shows how fast kernels of growing size run on a device.
#include <CLI/CLI.hpp>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/given_fields.h"
#include "client/flags/operation_arguments.h"
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

struct RatesFlags : GivenFields {
  std::vector<std::string> devices;
  v1::GetKernelRatesRequest request;  // but for those, and the calibrations
  std::string svg_file;               // "" for none
};

constexpr FlagRow kRatesRows[] = {
    {.field = "device.accelerator", .names = "", .word = "DEVICE"},
    {.field = "device.host_devices.devices",
     .names = "",
     .word = "DEVICE",
     .below = Below::kDropped},
    {.field = "device.calibrations.calibrations",
     .names = "--calibration",
     .help = "one of: sextant calibration --save; repeatable, up to 16"},
    {.field = "device.fleet.accelerator"},
    {.field = "device.fleet.hostnames",
     .help = "with --fleet: the hosts that count, a,b,c; repeatable"},
    {.field = "device.fleet.gpu_uuids",
     .help = "with --fleet: the GPUs that count, a,b,c; repeatable"},
    {.field = "data_types", .word = "--dtype", .below = Below::kDropped},
};

constexpr auto kRatesWords = RequestFieldWords<v1::GetKernelRatesRequest, kRatesRows>;

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
  const int ways = (flags->devices.empty() ? 0 : 1) + (flags->files.empty() ? 0 : 1) +
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
  grpc::Status status = Override(flags, flags.request, streams.in, &request);
  if (status.ok()) {
    status = Call(line.server, &v1::HardwareService::Stub::GetKernelRates, request, &response);
  }
  if (status.ok() && response.curves().empty()) status = Incomplete("rates");
  if (!status.ok()) {
    return Fail(status, line, streams, {.field = kRatesWords});
  }
  if (!flags.svg_file.empty()) {
    const absl::Status written = WriteText(flags.svg_file, RenderSvg(KernelPlots(response)));
    if (!written.ok()) return FailToWrite(written, line, streams);
  }
  return Show(line, streams, response, [&] { return KernelRatesText(response, kRatesWords); });
}

void AddRatesFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<RatesFlags>();
  command->add_option("DEVICE", flags->devices,
                      "a product, or UUIDs of the server's devices; host: its CPU");
  AddFlags(RequestFlags<v1::GetKernelRatesRequest, kRatesRows>(), flags.get(), &flags->request,
           command);
  LimitFleetFlags({"DEVICE", "--calibration"}, command);
  AddTexts(
      "--dtype", "of the operands; repeatable; default: all that was measured",
      [flags](const std::string& name) { return AddType(name, &flags->request); }, command)
      ->type_name("TYPE");
  AddFile("--svg", &flags->svg_file, "also draw the curves into this file", command);
  OnceRead(command, line, flags, RunRates, {.check = [flags] { Finish(flags.get()); }});
}

}  // namespace

const Command kRatesCommand = {"rates", "Show how fast kernels of growing size run on a device",
                               kRatesHelp, AddRatesFlags};

}  // namespace sextant::client
