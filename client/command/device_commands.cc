// `sextant devices` and `sextant calibration`: the devices of the server's host, and what was
// measured on them.
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/io/message_file.h"
#include "client/report/hardware_text.h"
#include "client/text/text.h"
#include "sextant/v1/hardware_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kDevicesHelp[] =
    "Each device, when it was measured last, and the fingerprint of what was measured.\n"
    "\n"
    "Examples:\n"
    "  sextant devices\n"
    "  sextant --output=json devices           for a program\n";

int RunDevices(const CommandLine& line, const Streams& streams) {
  return CallAndShow(line, streams, &v1::HardwareService::Stub::ListDevices,
                     v1::ListDevicesRequest(), DevicesText);
}

constexpr char kCalibrationHelp[] =
    "Times are medians; spread is 1.4826 x the median absolute deviation over the median; n "
    "counts\n"
    "samples. What is marked unstable had samples that disagree.\n"
    "\n"
    "Examples:\n"
    "  sextant calibration                     of the only GPU, or the only device\n"
    "  sextant calibration host                of the server's processor\n"
    "  sextant calibration --mode=quick        the last quick one, in use or not\n"
    "  sextant calibration --save=node7.json   to plan with: sextant plan "
    "--calibration=node7.json\n"
    "  sextant --output=json calibration       for a program\n";

struct CalibrationFlags {
  std::optional<std::string> device;                // absent: the only GPU, or the only device
  v1::ProbeMode mode = v1::PROBE_MODE_UNSPECIFIED;  // unspecified: the one in use
  std::string save_file;                            // "" for none
};

int RunCalibration(const CalibrationFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::GetCalibrationRequest request;
  if (flags.device.has_value()) request.set_device(*flags.device);
  request.set_mode(flags.mode);
  v1::GetCalibrationResponse response;
  grpc::Status status =
      Call(line.server, &v1::HardwareService::Stub::GetCalibration, request, &response);
  if (status.ok() && !response.has_calibration()) status = Incomplete("calibration");
  if (!status.ok()) return Fail(status, line, streams);
  if (!flags.save_file.empty()) {
    const absl::Status saved = SaveCalibration(flags.save_file, response.calibration());
    if (!saved.ok()) return FailToWrite(saved, line, streams);
  }
  return Show(line, streams, response, [&] { return HeldCalibrationText(response); });
}

void AddDevicesFlags(CLI::App* command, CommandLine* line) { OnceRead(command, line, RunDevices); }

void AddCalibrationFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<CalibrationFlags>();
  command->add_option("UUID", flags->device, "a device; host is the processor; default: the only");
  AddEnum(
      "--mode", "the last of this mode; default: the one that plans use",
      *v1::ProbeMode_descriptor(),
      [flags](int mode) { flags->mode = static_cast<v1::ProbeMode>(mode); }, command);
  AddFile("--save", &flags->save_file, "also write it, for plan --calibration", command);
  OnceRead(command, line, flags, RunCalibration);
}

}  // namespace

const Command kDevicesCommand = {"devices", "List the devices of the server's host", kDevicesHelp,
                                 AddDevicesFlags};
const Command kCalibrationCommand = {"calibration", "Show what was measured on a device",
                                     kCalibrationHelp, AddCalibrationFlags};

}  // namespace sextant::client
