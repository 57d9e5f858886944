// What every unary handler does around its answer: read the request, time it, count it,
// finish it, log it.
#ifndef SEXTANT_SERVER_UNARY_CALL_H_
#define SEXTANT_SERVER_UNARY_CALL_H_

#include <google/protobuf/arena.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "server/call.h"

namespace sextant {

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

// Reads a Request, waits, runs `answer(request, response)`, and finishes the call with the status
// that it returns. `wait(request, then)` calls then(status) once, on whatever thread, and the
// answer is made there, or `status` is it. No thread of gRPC's waits.
//
// The handlers are raw, on bytes: gRPC's own answer to bytes that don't decode is
// UNIMPLEMENTED without a word, which a caller takes for an older server and which no metric
// counts.
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
    if (status.ok()) status = Encode(response, call.response());
    call.Finish(status);
  });
  return reactor;
}

// The same for requests of which those that `is_quick(request)` are answered on gRPC's own thread:
// their answers are bounded to about a millisecond (a plan with as many calibrations as it takes;
// else it is microseconds). Their request and response live on one arena a call.
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
  if (status.ok()) status = Encode(*response, call.response());
  grpc::ServerUnaryReactor* reactor = call.reactor();
  call.Finish(status);
  return reactor;
}

// The same where all of them are.
template <typename Request, typename Response, typename Answer>
grpc::ServerUnaryReactor* AnswerInline(Method& method, grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* bytes, grpc::ByteBuffer* out,
                                       Answer answer) {
  return AnswerInlineOrAfter<Request, Response>(
      UnaryCall(method, context, bytes, out), [](const Request&) { return true; },
      [](const Request&, auto then) { then(absl::OkStatus()); }, std::move(answer));
}

}  // namespace sextant

#endif  // SEXTANT_SERVER_UNARY_CALL_H_
