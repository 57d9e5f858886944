// One RPC under way: its start, its counted and logged end; and the steps of every unary handler
// around its answer, of which the first counts what its request decodes to.
#ifndef SEXTANT_SERVER_CALL_CALL_H_
#define SEXTANT_SERVER_CALL_CALL_H_

#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/version.h"
#include "server/call/service.h"
#include "server/call/transport.h"
#include "server/call/worker_pool.h"

namespace sextant::server {

// Requests up to this size are decoded without a look: they hold 8,192 elements at most.
inline constexpr size_t kUncountedBytes = 16'384;

// Messages, elements of lists and unknown fields of the largest request that is decoded. A message
// of two bytes takes 100 bytes and more once decoded, so that a request of 1 MiB would take
// hundreds.
inline constexpr int64_t kMaxElements = 65'536;

// The elements that `bytes`, a message of `type`, holds; those before the first fault where it is
// none. Stops above `limit`.
int64_t CountElements(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type,
                      int64_t limit);

// kInvalidArgument with reason FIELD_INVALID above kMaxElements.
absl::Status CheckElements(const grpc::ByteBuffer& bytes, const google::protobuf::Descriptor& type);

// The name of the caller, whatever proved it, empty where none is demanded, if it may call `method`
// now: what is known before the request is read.
//
// Errors: Draining(); Access::Admit()'s.
absl::StatusOr<std::string> Admit(const Method& method, const CallContext& caller);

// One call under way; made when its handler starts.
class Call {
 public:
  // `transport` carries the call, until End().
  Call(Method& method, Transport& transport);

  // OK if its caller may make it, and its request could be read.
  const absl::Status& admission() const { return admission_; }
  const CallContext& context() const { return transport_; }

  // Whose turn it is in a WorkerPool: its caller's name, whatever proved it, else its host's.
  std::string Turn() const;

  // Counts the call as ended with `status`, writes its line to the log, and tells the caller. Once;
  // the transport and the method may be gone when this returns.
  void End(const absl::Status& status);

 private:
  Method& method_;
  Transport& transport_;
  const std::chrono::steady_clock::time_point start_;
  absl::Status admission_;
  std::string caller_;  // its name; empty where none is demanded
};

// Calls `then` once, as WorkerPool::Post() does for `call`'s caller; `call` lives until then. Where
// the call has ended when its turn comes, `then` gets EndOf() and computes nothing. Counts it among
// the pool's calls that wait.
void PostCall(const Call& call, WorkerPool& workers, std::function<void(const absl::Status&)> then);

// The same of work for a call that may have ended when its turn comes: `then` gets what `end`
// returns. `turn` is the call's Turn().
void PostWork(const std::string& turn, WorkerPool& workers, std::function<absl::Status()> end,
              std::function<void(const absl::Status&)> then);

// kInvalidArgument with reason FIELD_INVALID: the bytes are not a message of this type.
absl::Status Undecodable(const std::string& type_name);

// A larger request takes about a millisecond to decode, and is decoded on a worker.
inline constexpr size_t kLargeRequestBytes = 65'536;

// Bytes of the largest request that is taken, over gRPC and HTTP.
inline constexpr size_t kMaxReceiveBytes = 1 << 20;

// Bytes of the largest answer that is sent: the default receive limit of gRPC clients.
inline constexpr size_t kMaxAnswerBytes = 4 << 20;

// kInvalidArgument with reason ANSWER_TOO_LARGE: the answer has more than kMaxAnswerBytes. Not
// retryable: a second try gives the same answer.
absl::Status AnswerTooLarge(size_t bytes);

// One unary call under way; made when its handler starts.
class UnaryCall {
 public:
  UnaryCall(Method& method, UnaryTransport& transport);

  // Calls `then` once, where decoding the request and what follows may run: here, or for a large
  // one on a worker. Where there is none, or the call has ended meanwhile, finishes the call.
  template <typename Then>
  void WhenReadable(Then then) {
    if (large_calls_ == nullptr || request().Length() <= kLargeRequestBytes) return then();
    PostLarge(std::move(then));
  }

  // Counts the call, logs it, and answers the caller with `status`, or with kResourceExhausted
  // where too many answers wait for their callers. The transport and the method may be gone when
  // this returns.
  void Finish(const absl::Status& status);

  const Call& call() const { return call_; }
  const absl::Status& admission() const { return call_.admission(); }
  const grpc::ByteBuffer& request() const { return transport_.request(); }
  grpc::ByteBuffer* response() const { return transport_.response(); }

 private:
  void PostLarge(std::function<void()> then);

  Call call_;
  UnaryTransport& transport_;
  WorkerPool* const large_calls_;
  UnreadAnswers* const unread_;
};

// Reads `bytes`, sharing them, into `message`.
template <typename Message>
absl::Status Decode(const grpc::ByteBuffer& bytes, Message* message) {
  if (bytes.Length() > kUncountedBytes) {
    if (absl::Status counted = CheckElements(bytes, *Message::descriptor()); !counted.ok()) {
      return counted;
    }
  }
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

// Encode() of an answer, with the version of the engine that gave it where it has a place for that.
template <typename Response>
absl::Status EncodeAnswer(Response* response, grpc::ByteBuffer* out) {
  if constexpr (requires { response->set_engine_version(""); }) {
    response->set_engine_version(std::string(EngineVersion()));
  }
  return Encode(*response, out);
}

// A unary call and its messages, which live on one arena.
template <typename Request, typename Response>
class UnaryAnswer {
 public:
  UnaryAnswer(Method& method, UnaryTransport& transport)
      : call(method, transport),
        arena_(OptionsOf(block_)),
        request(google::protobuf::Arena::CreateMessage<Request>(&arena_)),
        response(google::protobuf::Arena::CreateMessage<Response>(&arena_)) {}
  UnaryAnswer(const UnaryAnswer&) = delete;
  UnaryAnswer& operator=(const UnaryAnswer&) = delete;

  UnaryCall call;

 private:
  using Block = char[8192];  // a plan's messages fit: no growing blocks

  static google::protobuf::ArenaOptions OptionsOf(Block& block) {
    google::protobuf::ArenaOptions out;
    out.initial_block = block;
    out.initial_block_size = sizeof(block);
    return out;
  }

  alignas(std::max_align_t) Block block_;
  google::protobuf::Arena arena_;

 public:
  Request* const request;
  Response* const response;
};

// Reads a Request, waits, runs `answer(request, response)`, and finishes the call with the status
// that it returns. `wait(request, call, then)` calls then(status) once: at once, which keeps gRPC's
// own thread for as long as the answer takes, so that it is for answers which are bounded to about
// a millisecond; or on another thread. Where that status is OK the answer is computed on that
// thread, otherwise the call ends with it. No gRPC thread blocks.
template <typename Request, typename Response, typename Wait, typename Answer>
void AnswerAfter(Method& method, UnaryTransport& transport, Wait wait, Answer answer) {
  auto under_way = std::make_shared<UnaryAnswer<Request, Response>>(method, transport);
  UnaryCall& call = under_way->call;
  call.WhenReadable([under_way = std::move(under_way), wait = std::move(wait),
                     answer = std::move(answer)]() mutable {
    UnaryAnswer<Request, Response>& its = *under_way;
    absl::Status readable = its.call.admission();
    if (readable.ok()) readable = Decode(its.call.request(), its.request);
    if (!readable.ok()) return its.call.Finish(readable);
    // Held here too: another thread may finish the call before wait() returns.
    wait(*its.request, its.call.call(),
         [under_way, answer = std::move(answer)](const absl::Status& ready) {
           UnaryAnswer<Request, Response>& now = *under_way;
           absl::Status status = ready;
           if (status.ok()) status = answer(*now.request, now.response);
           if (status.ok()) status = EncodeAnswer(now.response, now.call.response());
           now.call.Finish(status);
         });
  });
}

// The wait of requests that are answered at once.
struct AtOnce {
  template <typename Request, typename Then>
  void operator()(const Request&, const Call&, Then then) const {
    then(absl::OkStatus());
  }
};

// An RPC whose requests are answered by `answer(context, request, response)`, once `wait` lets
// them.
template <typename Request, typename Response>
using RpcAnswer = std::function<absl::Status(const CallContext&, const Request&, Response*)>;
template <typename Request, typename Response, typename Wait = AtOnce>
Rpc AnsweredBy(RpcAnswer<Request, Response> answer, Wait wait = {}) {
  return {Request::descriptor(), Response::descriptor(),
          UnaryHandler([answer = std::move(answer), wait = std::move(wait)](
                           Method& method, UnaryTransport& transport) {
            AnswerAfter<Request, Response>(
                method, transport, wait,
                [&](const Request& in, Response* out) { return answer(transport, in, out); });
          })};
}

// The same of a function, and of a member of a service that outlives its calls.
template <typename Request, typename Response, typename Wait = AtOnce>
Rpc AnsweredBy(absl::Status (*answer)(const Request&, Response*), Wait wait = {}) {
  return AnsweredBy<Request, Response>(
      [answer](const CallContext&, const Request& in, Response* out) { return answer(in, out); },
      std::move(wait));
}
template <typename Request, typename Response, typename Wait = AtOnce>
Rpc AnsweredBy(absl::Status (*answer)(const CallContext&, const Request&, Response*),
               Wait wait = {}) {
  return AnsweredBy<Request, Response>(RpcAnswer<Request, Response>(answer), std::move(wait));
}
template <typename Self, typename Request, typename Response, typename Wait = AtOnce>
Rpc AnsweredBy(Self* self,
               absl::Status (Self::*answer)(const CallContext&, const Request&, Response*),
               Wait wait = {}) {
  return AnsweredBy<Request, Response>(
      [self, answer](const CallContext& context, const Request& in, Response* out) {
        return (self->*answer)(context, in, out);
      },
      std::move(wait));
}

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_CALL_H_
