#include <google/protobuf/util/json_util.h>

#include <istream>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/accounting_commands.h"
#include "client/call_error.h"
#include "client/connection.h"
#include "client/exit_code.h"
#include "client/failure.h"
#include "client/format.h"
#include "client/graph_text.h"
#include "client/proto_json.h"
#include "client/read_refusal.h"
#include "client/text_file.h"

namespace sextant {
namespace {

grpc::Status ReadGraph(const std::string& file, std::istream& in, v1::Graph* graph) {
  const absl::StatusOr<std::string> text = ReadText(file, in);
  if (!text.ok()) return ReadRefusal(text.status());
  const auto parsed = google::protobuf::util::JsonStringToMessage(*text, graph);
  if (parsed.ok()) return grpc::Status::OK;
  return RefusalStatus("REQUEST_MALFORMED",
                       absl::StrCat(file == "-" ? "standard input" : file,
                                    ": not a Graph in proto JSON: ", parsed.ToString()));
}

// The file is the graph itself.
std::string GraphFieldWords(const std::string& field) {
  return std::string(absl::StripPrefix(field, "graph."));
}

}  // namespace

int RunGraph(const CommandLine& line, const Streams& streams) {
  v1::AnalyzeGraphRequest request;
  grpc::Status status = ReadGraph(line.graph_file, streams.in, request.mutable_graph());
  if (!status.ok()) return Fail(status, line, streams);
  request.MergeFrom(line.graph_request);
  v1::AnalyzeGraphResponse response;
  status = AnalyzeGraph(line.server, request, &response);
  if (status.ok() && !response.has_totals()) {
    status = {grpc::StatusCode::INTERNAL, "the answer holds no totals"};
  }
  if (!status.ok()) return Fail(status, line, streams, GraphFieldWords);
  streams.out << (line.json() ? ProtoJson(response) : Printable(GraphText(response)));
  return kExitFits;
}

}  // namespace sextant
