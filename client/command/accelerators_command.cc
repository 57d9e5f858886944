// `sextant accelerators`: lists the accelerators known, with sources.
#include <CLI/CLI.hpp>
#include <memory>

#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/io/message_file.h"
#include "client/report/hardware_text.h"
#include "client/text/text.h"
#include "sextant/v1/hardware_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kAcceleratorsHelp[] =
    "Examples:\n"
    "  sextant accelerators                    the catalogue as a table\n"
    "  sextant accelerators h100-sxm           one, each figure with its source\n"
    "  sextant accelerators --sources          all, each figure with its source\n"
    "  sextant --output=json accelerators      for a program\n";

struct AcceleratorsFlags {
  std::string name;  // "" for all
  bool sources = false;
};

int RunAccelerators(const AcceleratorsFlags& flags, const CommandLine& line,
                    const Streams& streams) {
  v1::ListAcceleratorsRequest request;
  if (!flags.name.empty()) request.set_name(flags.name);
  v1::ListAcceleratorsResponse response;
  const grpc::Status status =
      Call(line.server, &v1::HardwareService::Stub::ListAccelerators, request, &response);
  if (!status.ok()) return Fail(status, line, streams);
  if (line.json()) {
    streams.out << ProtoJson(response);
    return kExitFits;
  }
  const bool sources = flags.sources || request.has_name();
  streams.out << Printable(sources ? AcceleratorSources(response) : AcceleratorTable(response));
  return kExitFits;
}

}  // namespace

void AddAccelerators(CLI::App* app, CommandLine* line) {
  const auto flags = std::make_shared<AcceleratorsFlags>();
  CLI::App* command = AddCommand("accelerators", "List the accelerators known, with sources",
                                 kAcceleratorsHelp, app);
  command->add_option("NAME", flags->name, "a catalogue or product name; default: all");
  command->add_flag("--sources", flags->sources, "show every figure with its source");
  OnceRead(command, line, [flags](const CommandLine& read, const Streams& streams) {
    return RunAccelerators(*flags, read, streams);
  });
}

}  // namespace sextant::client
