#include <ostream>

#include "absl/strings/str_cat.h"
#include "client/accounting_commands.h"
#include "client/adapter_targets.h"
#include "client/connection.h"
#include "client/count_flags.h"
#include "client/count_text.h"
#include "client/exit_code.h"
#include "client/failure.h"
#include "client/format.h"
#include "client/proto_json.h"

namespace sextant {
namespace {

// Whether `response` holds what was asked for.
grpc::Status CheckAnswer(const v1::CountModelRequest& request,
                         const v1::CountModelResponse& response) {
  const char* missing = nullptr;
  if (response.parameters().total() == 0) missing = "parameters";
  if (request.has_step() && response.flops().masks().empty()) missing = "FLOPs";
  if (request.has_layout() && response.stages().empty()) missing = "stages";
  if (missing == nullptr) return grpc::Status::OK;
  return {grpc::StatusCode::INTERNAL, absl::StrCat("the answer holds no ", missing)};
}

}  // namespace

int RunCount(const CommandLine& line, const Streams& streams) {
  v1::CountModelRequest request;
  grpc::Status status = BuildCountRequest(line.count, streams.in, &request);
  v1::CountModelResponse response;
  if (status.ok()) status = CountModel(line.server, request, &response);
  if (status.ok()) status = CheckAnswer(request, response);
  if (!status.ok()) {
    return Fail(status, line, streams,
                {.field = CountFieldWords,
                 .description = CountDescriptionWords,
                 .hint = [&request](const CallError& error) {
                   return DefaultTargetsHint(request.model().changes(), error);
                 }});
  }
  streams.out << (line.json() ? ProtoJson(response) : Printable(CountText(line.count, response)));
  return kExitFits;
}

}  // namespace sextant
