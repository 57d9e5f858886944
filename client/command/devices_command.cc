// `sextant devices`: lists the devices of the server's host.
#include <CLI/CLI.hpp>

#include "client/command/command.h"
#include "client/command/run_client.h"
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
  v1::ListDevicesResponse response;
  const grpc::Status status = Call(line.server, &v1::HardwareService::Stub::ListDevices,
                                   v1::ListDevicesRequest(), &response);
  if (!status.ok()) return Fail(status, line, streams);
  streams.out << (line.json() ? ProtoJson(response) : Printable(DevicesText(response)));
  return kExitFits;
}

}  // namespace

void AddDevices(CLI::App* app, CommandLine* line) {
  OnceRead(AddCommand("devices", "List the devices of the server's host", kDevicesHelp, app), line,
           RunDevices);
}

}  // namespace sextant::client
