#include "server/call/call.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "server/base/log.h"
#include "server/call/call_end.h"
#include "server/call/status.h"
#include "server/security/tls_files.h"

namespace sextant::server {
namespace {

std::string CallersTraceId(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto it = metadata.find("traceparent");
  if (it == metadata.end()) return "";
  return TraceIdOf(absl::string_view(it->second.data(), it->second.size()));
}

Caller CallerOf(const grpc::CallbackServerContext& context, absl::string_view peer) {
  Caller out;
  out.is_by_unix_socket = absl::StartsWith(peer, "unix:");
  out.is_on_this_host = out.is_by_unix_socket || absl::StartsWith(peer, "ipv4:127.") ||
                        absl::StartsWith(peer, "ipv6:%5B::1%5D");
  const auto first = [identity = context.auth_context()](const char* property) {
    const auto names = identity->FindPropertyValues(property);
    return names.empty() ? std::string() : std::string(names[0].data(), names[0].size());
  };
  out.certificate_name =
      NameOfHolder(first(GRPC_PEER_URI_PROPERTY_NAME), first(GRPC_X509_CN_PROPERTY_NAME));
  const auto& metadata = context.client_metadata();
  if (const auto sent = metadata.find("authorization"); sent != metadata.end()) {
    out.authorization = absl::string_view(sent->second.data(), sent->second.size());
  }
  return out;
}

}  // namespace

Call::Call(Method& method, const grpc::CallbackServerContext& context, size_t request_bytes)
    : method_(method),
      context_(context),
      request_bytes_(request_bytes),
      start_(std::chrono::steady_clock::now()) {
  if (method.under_way != nullptr) admission_ = method.under_way->Begin();
  if (method.access == nullptr || !admission_.ok()) return;
  absl::StatusOr<std::string> name =
      method.access->Admit(method.name, CallerOf(context, context.peer()), absl::Now());
  admission_ = name.status();
  if (name.ok()) caller_ = *std::move(name);
}

std::string Call::Turn() const {
  return caller_.empty() ? TurnOfHost(HostOf(context_)) : absl::StrCat("name:", caller_);
}

grpc::Status Call::End(const absl::Status& status) {
  // Read only if logged: gRPC copies all metadata.
  const bool is_logged = IsLogged(method_.log_level, status.ok());
  const std::string trace_id = is_logged || !status.ok() ? CallersTraceId(context_) : "";
  grpc::Status wire = ToGrpcStatus(status, trace_id);
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start_;
  method_.metrics.Record(wire.error_code(), duration.count());
  if (is_logged) {
    LogCall({.time = std::chrono::system_clock::now(),
             .method = method_.name,
             .peer = context_.peer(),
             .caller = caller_,
             .code = CodeName(wire.error_code()),
             .reason = status.ok() ? "" : ReasonOf(status),
             .duration_seconds = duration.count(),
             .trace_id = trace_id,
             .request_bytes = request_bytes_});
  }
  if (method_.under_way != nullptr) method_.under_way->End();
  return wire;
}

void PostCall(const Call& call, WorkerPool& workers,
              std::function<void(const absl::Status&)> then) {
  WaitMetrics* const waits = workers.waits();
  if (waits != nullptr) waits->waiting().Increment();
  const auto start = std::chrono::steady_clock::now();
  workers.Post(call.Turn(), [=, &call, then = std::move(then)](const absl::Status& ready) {
    const std::chrono::duration<double> wait = std::chrono::steady_clock::now() - start;
    if (waits != nullptr) waits->waiting().Decrement();
    if (waits != nullptr && ready.ok()) waits->Record(wait.count());
    then(ready.ok() ? EndOf(call.context()) : ready);
  });
}

absl::Status Undecodable(const std::string& type_name) {
  return InvalidField("request",
                      absl::StrCat("its bytes are not a ", type_name,
                                   ": send that message, encoded as protobuf, with texts in "
                                   "UTF-8"));
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
      large_calls_(method.large_calls),
      request_(request),
      response_(response),
      reactor_(new UnaryReactor(method.unread, context)) {}

void UnaryCall::PostLarge(std::function<void()> then) {
  PostCall(call_, *large_calls_, [this, then = std::move(then)](const absl::Status& ready) {
    if (!ready.ok()) return Finish(ready);
    then();
  });
}

absl::Status UnaryReactor::Hold(size_t bytes) {
  if (unread_ == nullptr) return absl::OkStatus();
  held_ = true;
  return unread_->Hold(*context_, bytes);
}

void UnaryReactor::OnDone() {
  if (held_) unread_->Release(*context_);
  delete this;
}

void UnaryCall::Finish(const absl::Status& status) {
  absl::Status end = status;
  if (end.ok()) end = reactor_->Hold(response_->Length());
  // Ended first: the server may shut down, and the method be destroyed, as soon as the reactor
  // finishes.
  const grpc::Status wire = call_.End(end);
  reactor_->Finish(wire);
}

}  // namespace sextant::server
