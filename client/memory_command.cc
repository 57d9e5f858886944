#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "client/adapter_targets.h"
#include "client/call_error.h"
#include "client/commands.h"
#include "client/connection.h"
#include "client/failure.h"
#include "client/flag_words.h"
#include "client/format.h"
#include "client/memory_request.h"
#include "client/memory_svg.h"
#include "client/memory_text.h"
#include "client/plan_request.h"
#include "client/proto_json.h"
#include "client/verdict.h"
#include "client/written_file.h"

namespace sextant {
namespace {

// Whether `response` holds what was asked for.
grpc::Status CheckAnswer(const v1::PlanRunRequest& request, const v1::PlanRunResponse& response) {
  const v1::MemoryEstimate& estimate = response.plan().memory_estimate();
  const bool whole = estimate.peak_stage() >= 0 && estimate.peak_stage() < estimate.stages_size();
  if (!request.has_layout() || whole) return grpc::Status::OK;
  return {grpc::StatusCode::INTERNAL,
          "the answer holds no memory by stage: the server is older than this client, or newer"};
}

grpc::Status Ask(const CommandLine& line, const v1::PlanRunRequest& request,
                 v1::PlanRunResponse* response) {
  if (!request.has_layout() && !line.memory_svg_file.empty()) {
    return RefusalStatus("USAGE",
                         "--svg draws the stages of a layout, and there is none beside "
                         "--parameters or --activation-bytes");
  }
  grpc::Status status = PlanRun(line.server, request, response);
  return status.ok() ? CheckAnswer(request, *response) : status;
}

}  // namespace

int RunMemory(const CommandLine& line, const Streams& streams) {
  v1::PlanRunRequest request;
  grpc::Status status = BuildPlanRequest(line, streams.in, &request);
  v1::PlanRunResponse response;
  std::vector<std::string> filled_in;
  if (status.ok()) {
    filled_in = FillInMemoryRequest(&request);
    status = Ask(line, request, &response);
  }
  if (!status.ok()) {
    return Fail(status, line, streams,
                {.field = PlanFieldWords,
                 .description = PlanDescriptionWords,
                 .hint = [&request](const CallError& error) {
                   return DefaultTargetsHint(request.model().changes(), error);
                 }});
  }
  const std::optional<ExitCode> exit_code = ExitCodeOfVerdict(response.plan().verdict());
  if (!exit_code.has_value()) return FailToJudge(line, streams);
  if (!line.memory_svg_file.empty()) {
    const absl::Status written = WriteText(line.memory_svg_file, MemorySvg(response.plan()));
    if (!written.ok()) return FailToWrite(written, line, streams);
  }
  streams.out << (line.json() ? ProtoJson(response)
                              : Printable(MemoryText(request, response, filled_in)));
  return *exit_code;
}

}  // namespace sextant
