// `sextant version`: prints the client's and the server's version.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/text/text.h"
#include "sextant/v1/hardware_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kVersionHelp[] =
    "Succeeds without a server too, and says so.\n"
    "\n"
    "Examples:\n"
    "  sextant version\n"
    "  sextant version --address=unix:/run/sextant/sextantd.sock\n";

int RunVersion(const CommandLine& line, const Streams& streams) {
  // The cheapest call that returns the engine's version: one row of the catalogue.
  v1::ListAcceleratorsRequest request;
  request.set_name("h100-sxm");
  v1::ListAcceleratorsResponse response;
  const grpc::Status status =
      Call(line.server, &v1::HardwareService::Stub::ListAccelerators, request, &response);
  if (line.json()) {
    nlohmann::ordered_json json = {{"clientVersion", ClientVersion()}};
    json["engineVersion"] = nullptr;  // no server answered
    if (status.ok()) json["engineVersion"] = response.engine_version();
    streams.out << json.dump() << "\n";
    return kExitFits;
  }
  streams.out << "sextant   " << ClientVersion() << "\n";
  if (status.ok()) {
    streams.out << Printable(
        absl::StrCat("sextantd  ", response.engine_version(), " at ", line.server.address, "\n"));
  } else {
    streams.out << "sextantd  no answer from " << line.server.address << " ("
                << CodeName(status.error_code()) << ")\n";
  }
  return kExitFits;
}

void AddVersionFlags(CLI::App* command, CommandLine* line) {
  OnceRead(command, line, RunVersion, {.check = [line] { line->asks_server = false; }});
}

}  // namespace

const Command kVersionCommand = {"version", "Print the client's and the server's version",
                                 kVersionHelp, AddVersionFlags};

}  // namespace sextant::client
