#include <ostream>
#include <string>

#include "absl/strings/strip.h"
#include "client/accounting_commands.h"
#include "client/connection.h"
#include "client/exit_code.h"
#include "client/failure.h"
#include "client/format.h"
#include "client/graph_text.h"
#include "client/message_file.h"
#include "client/proto_json.h"

namespace sextant {
namespace {

// The file is the graph itself.
std::string GraphFieldWords(const std::string& field) {
  return std::string(absl::StripPrefix(field, "graph."));
}

}  // namespace

int RunGraph(const CommandLine& line, const Streams& streams) {
  v1::AnalyzeGraphRequest request;
  grpc::Status status = ReadMessage(line.graph_file, streams.in, request.mutable_graph());
  if (!status.ok()) return Fail(status, line, streams);
  request.MergeFrom(line.graph_request);
  v1::AnalyzeGraphResponse response;
  status = AnalyzeGraph(line.server, request, &response);
  if (status.ok() && !response.has_totals()) {
    status = {grpc::StatusCode::INTERNAL, "the answer holds no totals"};
  }
  if (!status.ok()) return Fail(status, line, streams, {.field = GraphFieldWords});
  streams.out << (line.json() ? ProtoJson(response) : Printable(GraphText(response)));
  return kExitFits;
}

}  // namespace sextant
