// `sextant nodes`: lists kinds of servers, and networks.
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

constexpr char kNodesHelp[] =
    "Rates are those of one device in one direction. A node's link joins its devices; host is to\n"
    "the host's memory; networks join nodes, one port a device.\n"
    "\n"
    "Examples:\n"
    "  sextant nodes                           kinds of servers and networks as tables\n"
    "  sextant nodes dgx-h100                  one, each figure with its source\n"
    "  sextant nodes --sources                 all, each figure with its source\n"
    "  sextant --output=json nodes             for a program\n";

struct NodesFlags {
  std::string name;  // of a kind of server; "" for all
  bool sources = false;
};

int RunNodes(const NodesFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::ListNodeTypesRequest request;
  if (!flags.name.empty()) request.set_name(flags.name);
  v1::ListNodeTypesResponse response;
  const grpc::Status status =
      Call(line.server, &v1::HardwareService::Stub::ListNodeTypes, request, &response);
  if (!status.ok()) return Fail(status, line, streams);
  if (line.json()) {
    streams.out << ProtoJson(response);
    return kExitFits;
  }
  const bool sources = flags.sources || request.has_name();
  streams.out << Printable(sources ? NodeTypeSources(response) : NodeTypeTable(response));
  return kExitFits;
}

}  // namespace

void AddNodes(CLI::App* app, CommandLine* line) {
  const auto flags = std::make_shared<NodesFlags>();
  CLI::App* command = AddCommand("nodes", "List kinds of servers, and networks", kNodesHelp, app);
  command->add_option("NAME", flags->name, "a kind of server; default: all");
  command->add_flag("--sources", flags->sources, "show every figure with its source");
  OnceRead(command, line, [flags](const CommandLine& read, const Streams& streams) {
    return RunNodes(*flags, read, streams);
  });
}

}  // namespace sextant::client
