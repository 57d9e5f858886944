#include "client/commands.h"

#include <CLI/App.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/accelerator_text.h"
#include "client/adapter_targets.h"
#include "client/call_error.h"
#include "client/completion.h"
#include "client/connection.h"
#include "client/failure.h"
#include "client/format.h"
#include "client/plan_request.h"
#include "client/plan_text.h"
#include "client/proto_json.h"
#include "client/verdict.h"
#include "client/version.h"

namespace sextant {
int RunPlan(const CommandLine& line, const Streams& streams) {
  v1::PlanRunRequest request;
  grpc::Status status = BuildPlanRequest(line, streams.in, &request);
  v1::PlanRunResponse response;
  if (status.ok()) status = PlanRun(line.server, request, &response);
  if (!status.ok()) {
    return Fail(status, line, streams, {.hint = [&request](const CallError& error) {
                  return DefaultTargetsHint(request.model().changes(), error);
                }});
  }

  const std::optional<ExitCode> exit_code = ExitCodeOfVerdict(response.plan().verdict());
  if (!exit_code.has_value()) return FailToJudge(line, streams);
  streams.out << (line.json() ? ProtoJson(response) : Printable(PlanText(response, streams.now())));
  return *exit_code;
}

int RunAccelerators(const CommandLine& line, const Streams& streams) {
  v1::ListAcceleratorsRequest request;
  if (!line.accelerator.empty()) request.set_name(line.accelerator);
  v1::ListAcceleratorsResponse response;
  const grpc::Status status = ListAccelerators(line.server, request, &response);
  if (!status.ok()) return Fail(status, line, streams);
  if (line.json()) {
    streams.out << ProtoJson(response);
    return kExitFits;
  }
  const bool sources = line.sources || request.has_name();
  streams.out << Printable(sources ? AcceleratorSources(response) : AcceleratorTable(response));
  return kExitFits;
}

int RunVersion(const CommandLine& line, const Streams& streams) {
  // The cheapest call that names the engine's version: one row of the catalogue.
  v1::ListAcceleratorsRequest request;
  request.set_name("h100-sxm");
  v1::ListAcceleratorsResponse response;
  const grpc::Status status = ListAccelerators(line.server, request, &response);
  if (line.json()) {
    nlohmann::ordered_json json = {{"client_version", ClientVersion()}};
    json["engine_version"] = nullptr;  // no server answered
    if (status.ok()) json["engine_version"] = response.engine_version();
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

int RunCompletion(const CommandLine& line, const Streams& streams) {
  CommandLine unused;
  const auto app = NewApp(&unused);
  streams.out << CompletionScript(*app, line.shell);
  return kExitFits;
}

}  // namespace sextant
