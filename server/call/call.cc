#include "server/call/call.h"

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "server/call/log.h"
#include "server/call/status.h"

namespace sextant::server {
namespace {

std::string CallersTraceId(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find("traceparent");
  if (it == metadata.end()) return "";
  return TraceIdOf(absl::string_view(it->second.data(), it->second.size()));
}

}  // namespace

Call::Call(Method& method, const grpc::CallbackServerContext& context, size_t request_bytes)
    : method_(method), start_(std::chrono::steady_clock::now()) {
  record_.method = method_.name;
  record_.peer = context.peer();
  record_.trace_id = CallersTraceId(context);
  record_.request_bytes = request_bytes;
}

grpc::Status Call::Count(const absl::Status& status) {
  grpc::Status wire = ToGrpcStatus(status, record_.trace_id);
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start_;
  record_.time = std::chrono::system_clock::now();
  record_.duration_seconds = duration.count();
  record_.code = CodeName(wire.error_code());
  if (!status.ok()) record_.reason = ReasonOf(status);
  method_.metrics.Record(wire.error_code(), record_.duration_seconds);
  return wire;
}

void Call::Log() const { LogCall(method_.log_level, record_); }

absl::Status Undecodable(const std::string& type_name) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat(
                        "the request's bytes are not a ", type_name,
                        ": send that message, encoded as protobuf, with texts in UTF-8")),
                    "FIELD_INVALID");
}

absl::Status AnswerTooLarge(size_t bytes) {
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat(
          "the answer has ", bytes, " bytes, and at most ", kMaxAnswerBytes,
          " are sent: ask for less, e.g. of fewer operations or operands, by shorter names, or "
          "without optional parts (include_steps)")),
      "ANSWER_TOO_LARGE");
}

UnaryCall::UnaryCall(Method& method, grpc::CallbackServerContext* context,
                     const grpc::ByteBuffer* request, grpc::ByteBuffer* response)
    : call_(method, *context, request->Length()),
      request_(request),
      response_(response),
      reactor_(context->DefaultReactor()) {}

void UnaryCall::Finish(const absl::Status& status) {
  const grpc::Status wire = call_.Count(status);
  // Before Finish(): the server may shut down, and the method be destroyed, as soon as it is
  // called.
  call_.Log();
  reactor_->Finish(wire);
}

}  // namespace sextant::server
