// `sextant links`: shows how long devices take to exchange bytes.
#include <CLI/CLI.hpp>
#include <memory>

#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/given_fields.h"
#include "client/flags/words.h"
#include "client/io/text_file.h"
#include "client/plot/charts.h"
#include "client/report/hardware_text.h"
#include "client/text/text.h"
#include "sextant/v1/hardware_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kLinksHelp[] =
    "Times within a node are measured ones where there are any: your own (--calibration), else\n"
    "published; across nodes they follow from the network's rate. algbw is size over time, busbw\n"
    "that times the share of the bytes that leave or reach a rank, as nccl-tests has them.\n"
    "low to high holds four calls in five (docs/links.md).\n"
    "\n"
    "Examples:\n"
    "  Gradients of 8 GPUs, inside their node:\n"
    "    sextant links dgx-h100 --operation=all-reduce\n"
    "  And among four nodes, with a picture:\n"
    "    sextant links hgx-h100 --node-count=4 --network=ib-ndr --operation=all-reduce \\\n"
    "        --svg=links.svg\n"
    "  One size, by four of a node's devices, and copies from their hosts:\n"
    "    sextant links dgx-b200 --ranks-per-node=4 --size=64MiB --host-copies\n"
    "  A network of your own, and 2 GPUs of each node:\n"
    "    sextant links pcie-gen5 --node-count=2 --ranks-per-node=2 \\\n"
    "        --network-bytes-per-second=3.125e9 --operation=reduce-scatter --size=256MiB\n"
    "  With collectives of your own:\n"
    "    sextant links hgx-h200 --calibration=node7.json\n";

struct LinksFlags : GivenFields {
  std::string name;                 // of a kind of server, or else of an accelerator
  v1::GetLinkTimesRequest request;  // but for that name and the calibrations
  std::string svg_file;             // "" for none
};

constexpr FlagRow kLinksRows[] = {
    {.field = "nodes.device", .names = ""},
    {.field = "nodes.node_count", .word = "--node-count"},
    {.field = "nodes.ranks_per_node", .word = "--ranks-per-node"},
    {.field = "nodes.network.name", .help = "of sextant nodes, one port a device; between nodes"},
    {.field = "nodes.network.bytes_per_second"},
    {.field = "host_copies"},
    {.field = "nodes.device.calibrations.calibrations",
     .names = "--calibration",
     .help = "one of: sextant calibration --save; repeatable, up to 16"},
    {.field = "nodes.node_type", .word = "NODE"},
    {.field = "nodes.device.accelerator", .word = "NODE"},
    {.field = "operations", .word = "--operation", .below = Below::kDropped},
    {.field = "sizes_bytes", .word = "--size", .below = Below::kDropped},
};

constexpr auto kLinksWords = RequestFieldWords<v1::GetLinkTimesRequest, kLinksRows>;

bool HasReason(const grpc::Status& status, const std::string& reason) {
  return !status.ok() && CallErrorOf(status).reason == reason;
}

// A name may be a kind of server or else an accelerator, and the server knows which. For a name
// that is neither, the error lists similar kinds of servers. A request names its devices once: in
// addition to calibrations an accelerator stands for the kind of server that it comes in.
grpc::Status AskByName(const std::string& name, v1::GetLinkTimesRequest request,
                       const ServerAddress& server, v1::GetLinkTimesResponse* response) {
  request.mutable_nodes()->set_node_type(name);
  const auto method = &v1::HardwareService::Stub::GetLinkTimes;
  grpc::Status as_node = Call(server, method, request, response);
  if (!HasReason(as_node, "NODE_TYPE_UNKNOWN")) return as_node;
  v1::GetLinkTimesRequest by_product = request;
  by_product.mutable_nodes()->clear_node_type();
  by_product.mutable_nodes()->mutable_device()->set_accelerator(name);
  grpc::Status as_accelerator = Call(server, method, by_product, response);
  if (HasReason(as_accelerator, "GPU_UNKNOWN")) return as_node;
  if (!as_accelerator.ok() || !request.nodes().has_device()) return as_accelerator;
  request.mutable_nodes()->set_node_type(response->node_type().name());
  return Call(server, method, request, response);
}

absl::Status DrawBandwidth(const v1::GetLinkTimesResponse& response, const std::string& file) {
  const Plot chart = LinkPlot(response);
  if (chart.lines.empty()) {
    return absl::FailedPreconditionError(
        "nothing to draw: a line takes two sizes or more, and two ranks or more");
  }
  return WriteText(file, RenderSvg({chart}));
}

int RunLinks(const LinksFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::GetLinkTimesRequest request = flags.request;
  v1::GetLinkTimesResponse response;
  grpc::Status status = Override(flags, flags.request, streams.in, &request);
  if (status.ok()) status = AskByName(flags.name, request, line.server, &response);
  if (!status.ok()) {
    return Fail(status, line, streams,
                {.field = kLinksWords,
                 .description = RequestDescriptionWords<v1::GetLinkTimesRequest, kLinksRows>});
  }
  if (!flags.svg_file.empty()) {
    const absl::Status drawn = DrawBandwidth(response, flags.svg_file);
    if (!drawn.ok()) return FailToWrite(drawn, line, streams);
  }
  return Show(line, streams, response, [&] { return LinkTimesText(response, kLinksWords); });
}

void AddLists(v1::GetLinkTimesRequest* request, CLI::App* command) {
  AddEnums(
      "--operation", "repeatable; default: all", *v1::CollectiveOperation_descriptor(),
      [request](int number) {
        request->add_operations(static_cast<v1::CollectiveOperation>(number));
      },
      command);
  AddTexts(
      "--size", "of the buffer, e.g. 64MiB; repeatable; default: 1KiB-16GiB",
      [request](const std::string& text) {
        const absl::StatusOr<int64_t> size = ParseByteCount(text);
        if (size.ok()) request->add_sizes_bytes(*size);
        return size.status();
      },
      command)
      ->type_name("BYTES");
}

void AddLinksFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<LinksFlags>();
  command->add_option("NODE", flags->name, "of sextant nodes, or a product that comes in one alone")
      ->required();
  AddLists(&flags->request, command);
  AddFlags(RequestFlags<v1::GetLinkTimesRequest, kLinksRows>(), flags.get(), &flags->request,
           command);
  AddFile("--svg", &flags->svg_file, "also draw bus bandwidth into this file", command);
  OnceRead(command, line, flags, RunLinks);
}

}  // namespace

const Command kLinksCommand = {"links", "Show how long devices take to exchange bytes", kLinksHelp,
                               AddLinksFlags};

}  // namespace sextant::client
