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
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "engine/base/version.h"
#include "server/base/log.h"
#include "server/call/calls_under_way.h"
#include "server/call/element_count.h"
#include "server/call/unread_answers.h"
#include "server/call/worker_pool.h"
#include "server/metrics/metrics.h"
#include "server/security/access.h"

namespace sextant::server {

// Settings shared by all calls of a server.
struct CallRules {
  CallLogLevel log_level = CallLogLevel::kNone;
  const Access* access = nullptr;      // null: everyone may call everything
  WorkerPool* large_calls = nullptr;   // decodes large requests; null: gRPC's threads do
  CallsUnderWay* under_way = nullptr;  // null: nobody waits for the calls to end
  UnreadAnswers* unread = nullptr;     // null: answers wait however long callers like
};

// One RPC's name and series; lives as long as its service.
struct Method {
  Method(const std::string& full_name, Metrics& all_metrics, const CallRules& call_rules)
      : name(full_name),
        metrics(all_metrics.ForMethod(full_name)),
        log_level(call_rules.log_level),
        large_calls(call_rules.large_calls),
        under_way(call_rules.under_way),
        unread(call_rules.unread),
        access(call_rules.access != nullptr && call_rules.access->Concerns(full_name)
                   ? call_rules.access
                   : nullptr) {}

  const std::string name;  // "sextant.v1.PlanningService/PlanRun"
  CallMetrics metrics;
  const CallLogLevel log_level;
  WorkerPool* const large_calls;
  CallsUnderWay* const under_way;
  UnreadAnswers* const unread;
  const Access* const access;  // null: every caller may make the call
};

// One call under way; made when its handler starts.
class Call {
 public:
  // `context` outlives this.
  Call(Method& method, const grpc::CallbackServerContext& context, size_t request_bytes);

  // OK if the server accepts calls now, and this one from its caller.
  const absl::Status& admission() const { return admission_; }
  const grpc::CallbackServerContext& context() const { return context_; }

  // Whose turn it is in a WorkerPool: its caller's name, whatever proved it, else its host's.
  std::string Turn() const;

  // Counts the call as ended with `status`, writes its line to the log, and returns the status as
  // it goes on the wire. Once.
  grpc::Status End(const absl::Status& status);

 private:
  Method& method_;
  const grpc::CallbackServerContext& context_;
  const size_t request_bytes_;
  const std::chrono::steady_clock::time_point start_;
  absl::Status admission_;
  std::string caller_;  // its name; empty where none is demanded
};

// Calls `then` once, as WorkerPool::Post() does for `call`'s caller; `call` lives until then. Where
// the call has ended when its turn comes, `then` gets EndOf() and computes nothing. Counts it among
// the pool's calls that wait.
void PostCall(const Call& call, WorkerPool& workers, std::function<void(const absl::Status&)> then);

// kInvalidArgument with reason FIELD_INVALID: the bytes are not a message of this type.
absl::Status Undecodable(const std::string& type_name);

// A larger request takes about a millisecond to decode, and is decoded on a worker.
inline constexpr size_t kLargeRequestBytes = 65'536;

// Bytes of the largest answer that is sent: the default receive limit of gRPC clients.
inline constexpr size_t kMaxAnswerBytes = 4 << 20;

// kInvalidArgument with reason ANSWER_TOO_LARGE: the answer has more than kMaxAnswerBytes. Not
// retryable: a second try gives the same answer.
absl::Status AnswerTooLarge(size_t bytes);

// The end of a unary call: its answer is held until its caller has it. Deletes itself then.
class UnaryReactor final : public grpc::ServerUnaryReactor {
 public:
  UnaryReactor(UnreadAnswers* unread, grpc::CallbackServerContext* context)
      : unread_(unread), context_(context) {}

  // Errors: UnreadAnswers::Hold()'s.
  absl::Status Hold(size_t bytes);
  void OnDone() override;

 private:
  // gRPC would run OnDone(), which is short, on a thread of another pool.
  bool InternalInlineable() override { return true; }

  UnreadAnswers* const unread_;
  grpc::CallbackServerContext* const context_;
  bool held_ = false;
};

// One unary call under way; made when its handler starts.
class UnaryCall {
 public:
  // The buffers are the caller's message and the place of its answer.
  UnaryCall(Method& method, grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
            grpc::ByteBuffer* response);

  // Calls `then` once, where decoding the request and what follows may run: here, or for a large
  // one on a worker. Where there is none, or the call has ended meanwhile, finishes the call.
  template <typename Then>
  void WhenReadable(Then then) {
    if (large_calls_ == nullptr || request_->Length() <= kLargeRequestBytes) return then();
    PostLarge(std::move(then));
  }

  // Counts the call, logs it, and answers the caller with `status`, or with kResourceExhausted
  // where too many answers wait for their callers. `context`, the buffers and the method may be
  // gone when this returns.
  void Finish(const absl::Status& status);

  const Call& call() const { return call_; }
  const absl::Status& admission() const { return call_.admission(); }
  const grpc::ByteBuffer& request() const { return *request_; }
  grpc::ByteBuffer* response() const { return response_; }
  grpc::ServerUnaryReactor* reactor() const { return reactor_; }

 private:
  void PostLarge(std::function<void()> then);

  Call call_;
  WorkerPool* const large_calls_;
  const grpc::ByteBuffer* const request_;
  grpc::ByteBuffer* const response_;
  UnaryReactor* const reactor_;
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

// Encode() of an answer, with the version of the engine that gave it.
template <typename Response>
absl::Status EncodeAnswer(Response* response, grpc::ByteBuffer* out) {
  response->set_engine_version(std::string(EngineVersion()));
  return Encode(*response, out);
}

// A unary call and its messages, which live on one arena.
template <typename Request, typename Response>
class UnaryAnswer {
 public:
  UnaryAnswer(Method& method, grpc::CallbackServerContext* context, const grpc::ByteBuffer* bytes,
              grpc::ByteBuffer* out)
      : call(method, context, bytes, out),
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
//
// The handlers are raw, on bytes: gRPC itself answers undecodable bytes with UNIMPLEMENTED and no
// message, which a caller takes for an older server and no metric counts.
template <typename Request, typename Response, typename Wait, typename Answer>
grpc::ServerUnaryReactor* AnswerAfter(Method& method, grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* bytes, grpc::ByteBuffer* out,
                                      Wait wait, Answer answer) {
  auto under_way = std::make_shared<UnaryAnswer<Request, Response>>(method, context, bytes, out);
  UnaryCall& call = under_way->call;
  grpc::ServerUnaryReactor* const reactor = call.reactor();
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
  return reactor;
}

// AnswerAfter() where every request is answered at once.
template <typename Request, typename Response, typename Answer>
grpc::ServerUnaryReactor* AnswerInline(Method& method, grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* bytes, grpc::ByteBuffer* out,
                                       Answer answer) {
  return AnswerAfter<Request, Response>(
      method, context, bytes, out,
      [](const Request&, const Call&, auto then) { then(absl::OkStatus()); }, std::move(answer));
}

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_CALL_H_
