// One RPC under way: its name and series, its start, its counted and logged end; and the steps of
// every unary handler around its answer.
#ifndef SEXTANT_SERVER_CALL_CALL_H_
#define SEXTANT_SERVER_CALL_CALL_H_

#include <google/protobuf/arena.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "engine/base/version.h"
#include "server/call/log.h"
#include "server/metrics/metrics.h"

namespace sextant::server {

// One RPC's name and series; lives as long as its service.
struct Method {
  Method(const std::string& full_name, Metrics& all_metrics, CallLogLevel level)
      : name(full_name), metrics(all_metrics.ForMethod(full_name)), log_level(level) {}

  const std::string name;  // "sextant.v1.PlanningService/PlanRun"
  CallMetrics metrics;
  const CallLogLevel log_level;
};

// One call under way; made when its handler starts.
class Call {
 public:
  Call(Method& method, const grpc::CallbackServerContext& context, size_t request_bytes);

  // Counts the call as ended with `status`, which is returned as it goes on the wire. Once.
  grpc::Status Count(const absl::Status& status);

  // Writes the call's line to the log, after Count().
  void Log() const;

 private:
  Method& method_;
  std::chrono::steady_clock::time_point start_;
  CallRecord record_;
};

// kInvalidArgument with reason FIELD_INVALID: the bytes are no message of this type.
absl::Status Undecodable(const std::string& type_name);

// Bytes of the largest answer that is sent: the default receive limit of gRPC clients.
inline constexpr size_t kMaxAnswerBytes = 4 << 20;

// kInvalidArgument with reason ANSWER_TOO_LARGE: the answer has more than kMaxAnswerBytes. Not
// retryable: a second try gives the same answer.
absl::Status AnswerTooLarge(size_t bytes);

// One call under way; made when its handler starts. A copy is the same call.
class UnaryCall {
 public:
  // The buffers are the caller's message and the place of its answer.
  UnaryCall(Method& method, grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
            grpc::ByteBuffer* response);

  // Counts the call, logs it, and answers the caller with `status`. `context`, the buffers and
  // the method may be gone when this returns.
  void Finish(const absl::Status& status);

  const grpc::ByteBuffer& request() const { return *request_; }
  grpc::ByteBuffer* response() const { return response_; }
  grpc::ServerUnaryReactor* reactor() const { return reactor_; }

 private:
  Call call_;
  const grpc::ByteBuffer* request_;
  grpc::ByteBuffer* response_;
  grpc::ServerUnaryReactor* reactor_;
};

// Reads `bytes`, sharing them, into `message`.
template <typename Message>
absl::Status Decode(const grpc::ByteBuffer& bytes, Message* message) {
  grpc::ByteBuffer in(bytes);  // decoding empties it
  return grpc::SerializationTraits<Message>::Deserialize(&in, message).ok()
             ? absl::OkStatus()
             : Undecodable(message->GetTypeName());
}

template <typename Message>
absl::Status Encode(const Message& message, grpc::ByteBuffer* out) {
  if (const size_t bytes = message.ByteSizeLong(); bytes > kMaxAnswerBytes) {
    return AnswerTooLarge(bytes);
  }
  bool own_buffer = false;
  return grpc::SerializationTraits<Message>::Serialize(message, out, &own_buffer).ok()
             ? absl::OkStatus()
             : absl::InternalError("the answer can't be encoded");
}

// Encode() of an answer, with the version of the engine that gave it.
template <typename Response>
absl::Status EncodeAnswer(Response* response, grpc::ByteBuffer* out) {
  response->set_engine_version(std::string(EngineVersion()));
  return Encode(*response, out);
}

// Reads a Request, waits, runs `answer(request, response)`, and finishes the call with the status
// that it returns. `wait(request, then)` calls then(status) once, on any thread. Where that status
// is OK the answer is computed on that thread, otherwise the call ends with it. No gRPC thread
// blocks.
//
// The handlers are raw, on bytes: gRPC itself answers undecodable bytes with UNIMPLEMENTED and no
// message, which a caller takes for an older server and no metric counts.
template <typename Request, typename Response, typename Wait, typename Answer>
grpc::ServerUnaryReactor* AnswerAfter(UnaryCall call, Wait wait, Answer answer) {
  grpc::ServerUnaryReactor* reactor = call.reactor();
  auto request = std::make_shared<Request>();
  if (const absl::Status decoded = Decode(call.request(), request.get()); !decoded.ok()) {
    call.Finish(decoded);
    return reactor;
  }
  wait(*request, [call, request, answer](const absl::Status& ready) mutable {
    Response response;
    absl::Status status = ready;
    if (status.ok()) status = answer(*request, &response);
    if (status.ok()) status = EncodeAnswer(&response, call.response());
    call.Finish(status);
  });
  return reactor;
}

// AnswerAfter(), but requests that `is_quick(request)` accepts are answered on gRPC's own thread.
// Such answers are bounded to about a millisecond (a plan with the most calibrations; otherwise
// microseconds). Their request and response live on one arena a call.
template <typename Request, typename Response, typename IsQuick, typename Wait, typename Answer>
grpc::ServerUnaryReactor* AnswerInlineOrAfter(UnaryCall call, IsQuick is_quick, Wait wait,
                                              Answer answer) {
  alignas(std::max_align_t) char block[8192];  // a plan's messages fit: no growing blocks
  google::protobuf::ArenaOptions options;
  options.initial_block = block;
  options.initial_block_size = sizeof(block);
  google::protobuf::Arena arena(options);
  auto* request = google::protobuf::Arena::CreateMessage<Request>(&arena);
  auto* response = google::protobuf::Arena::CreateMessage<Response>(&arena);

  absl::Status status = Decode(call.request(), request);
  if (status.ok() && !is_quick(*request)) {
    return AnswerAfter<Request, Response>(std::move(call), std::move(wait), std::move(answer));
  }
  if (status.ok()) status = answer(*request, response);
  if (status.ok()) status = EncodeAnswer(response, call.response());
  grpc::ServerUnaryReactor* reactor = call.reactor();
  call.Finish(status);
  return reactor;
}

// AnswerInlineOrAfter() where every request is quick.
template <typename Request, typename Response, typename Answer>
grpc::ServerUnaryReactor* AnswerInline(Method& method, grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* bytes, grpc::ByteBuffer* out,
                                       Answer answer) {
  return AnswerInlineOrAfter<Request, Response>(
      UnaryCall(method, context, bytes, out), [](const Request&) { return true; },
      [](const Request&, auto then) { then(absl::OkStatus()); }, std::move(answer));
}

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_CALL_H_
