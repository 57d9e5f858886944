#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "client/calibration_argument.h"
#include "client/call_error.h"
#include "client/connection.h"
#include "client/exit_code.h"
#include "client/failure.h"
#include "client/format.h"
#include "client/hardware_commands.h"
#include "client/kernel_chart_svg.h"
#include "client/link_chart.h"
#include "client/link_times_text.h"
#include "client/node_types_text.h"
#include "client/proto_json.h"
#include "client/written_file.h"

namespace sextant {
namespace {

bool HasReason(const grpc::Status& status, const std::string& reason) {
  return !status.ok() && CallErrorOf(status).reason == reason;
}

// Which of both a name is of, the server knows: a kind of server, or else an accelerator. A name
// that neither knows is answered with near ones of the first.
grpc::Status AskByName(const CommandLine& line, v1::GetLinkTimesRequest request,
                       v1::GetLinkTimesResponse* response) {
  request.mutable_nodes()->set_node_type(line.links.name);
  const grpc::Status as_node = GetLinkTimes(line.server, request, response);
  if (!HasReason(as_node, "NODE_TYPE_UNKNOWN")) return as_node;
  request.mutable_nodes()->clear_node_type();
  request.mutable_nodes()->set_accelerator(line.links.name);
  const grpc::Status as_accelerator = GetLinkTimes(line.server, request, response);
  return HasReason(as_accelerator, "GPU_UNKNOWN") ? as_node : as_accelerator;
}

absl::Status DrawBandwidth(const v1::GetLinkTimesResponse& response, const std::string& file) {
  const KernelChart chart = LinkChartOf(response);
  if (chart.lines.empty()) {
    return absl::FailedPreconditionError(
        "nothing to draw: a line takes two sizes or more, and two ranks or more");
  }
  return WriteText(file, KernelChartsSvg({chart}));
}

}  // namespace

int RunNodes(const CommandLine& line, const Streams& streams) {
  v1::ListNodeTypesRequest request;
  if (!line.node_type.empty()) request.set_name(line.node_type);
  v1::ListNodeTypesResponse response;
  const grpc::Status status = ListNodeTypes(line.server, request, &response);
  if (!status.ok()) return Fail(status, line, streams);
  const bool sources = line.sources || request.has_name();
  streams.out << (line.json()
                      ? ProtoJson(response)
                      : Printable(sources ? NodeTypeSources(response) : NodeTypeTable(response)));
  return kExitFits;
}

int RunLinks(const CommandLine& line, const Streams& streams) {
  v1::GetLinkTimesRequest request = line.links.request;
  v1::GetLinkTimesResponse response;
  grpc::Status status;
  for (const std::string& file : line.links.calibration_files) {
    if (!status.ok()) break;
    status = ReadCalibrationArgument(file, streams.in, request.mutable_nodes()->add_calibrations());
  }
  if (status.ok()) status = AskByName(line, request, &response);
  if (!status.ok()) {
    return Fail(status, line, streams, {.field = LinksFieldWords, .description = LinksDescription});
  }
  if (!line.links.svg_file.empty()) {
    const absl::Status drawn = DrawBandwidth(response, line.links.svg_file);
    if (!drawn.ok()) return FailToWrite(drawn, line, streams);
  }
  streams.out << (line.json() ? ProtoJson(response) : Printable(LinkTimesText(response)));
  return kExitFits;
}

}  // namespace sextant
