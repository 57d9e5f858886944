#include "server/connect/connect_call.h"

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "server/base/log.h"
#include "server/call/call.h"
#include "server/call/connect_error.h"
#include "server/call/stream_call.h"
#include "server/connect/json_codec.h"
#include "server/listen/http_failure.h"

namespace sextant::server {
namespace {

constexpr size_t kPrefixBytes = 5;

absl::Status BadEnvelope(absl::string_view what) {
  return InvalidField("request",
                      absl::StrCat(what,
                                   ": send one message in one envelope: a byte that is 0, four of "
                                   "its length with the highest first, the message"));
}

// The prefix's last four bytes, as a number.
size_t LengthIn(absl::string_view prefix) {
  size_t out = 0;
  for (const char byte : prefix.substr(1, kPrefixBytes - 1)) {
    out = (out << 8) | static_cast<unsigned char>(byte);
  }
  return out;
}

using Woken = HttpExchange::Woken;

// The request's message, as it was sent.
absl::StatusOr<std::string> MessageOfGet(const HttpExchange& exchange) {
  std::string message = exchange.Parameter("message").value_or("");
  if (!exchange.Parameter("base64").has_value()) return message;
  std::string bytes;
  if (absl::WebSafeBase64Unescape(message, &bytes)) return bytes;
  return InvalidField("message", "is not base64 in its alphabet for URLs (- and _)");
}

// The bytes of the request's message.
absl::StatusOr<std::string> ReadRequest(const ConnectMethod& method, const ConnectHead& head,
                                        HttpExchange& exchange) {
  if (head.foreign != nullptr) return head.foreign->ReadRequest(exchange);
  SEXTANT_ASSIGN_OR_RETURN(std::string body,
                           head.is_get ? MessageOfGet(exchange) : exchange.ReadBody());
  absl::string_view message = body;
  if (method.streams) {
    SEXTANT_ASSIGN_OR_RETURN(message, MessageIn(body));
  }
  if (head.codec == ConnectCodec::kProto) {
    return method.streams ? std::string(message) : std::move(body);
  }
  SEXTANT_ASSIGN_OR_RETURN(std::string bytes, BytesOfJson(*method.request, message));
  if (bytes.size() <= kMaxReceiveBytes) return bytes;
  // Each -1 of a list is ten of them.
  return HttpError(HttpFault::kLargeBody, absl::StrCat("the request has ", bytes.size(),
                                                       " bytes as protobuf, and at most ",
                                                       kMaxReceiveBytes, " are taken"));
}

// A message of the answer, in the codec that the request has.
absl::StatusOr<std::string> Written(const ConnectMethod& method, ConnectCodec codec,
                                    const grpc::ByteBuffer& bytes) {
  grpc::Slice slice;
  if (!bytes.TrySingleSlice(&slice).ok() && !bytes.DumpToSingleSlice(&slice).ok()) {
    return absl::InternalError("the answer can't be read");
  }
  const absl::string_view message(reinterpret_cast<const char*>(slice.begin()), slice.size());
  if (codec == ConnectCodec::kProto) return std::string(message);
  return JsonOfBytes(*method.response, message);
}

// The common part of both kinds of calls: shared by the connection's thread, which reads, waits and
// answers, and by the handler, until End().
template <typename Kind>
class ConnectCall : public Kind {
 public:
  ConnectCall(const ConnectMethod& method, const ConnectHead& head, const HttpExchange& exchange)
      : method_(method),
        head_(head),
        peer_(exchange.peer()),
        certificate_name_(exchange.certificate_name()),
        authorization_(exchange.Header("Authorization")),
        traceparent_(exchange.Header("traceparent")) {}

  ~ConnectCall() override {
    if (event_ >= 0) close(event_);
  }

  std::string peer() const override { return peer_; }
  std::string certificate_name() const override { return certificate_name_; }
  absl::string_view authorization() const override { return authorization_; }
  absl::string_view traceparent() const override { return traceparent_; }
  std::chrono::system_clock::time_point deadline() const override { return head_.deadline; }
  bool IsCancelled() const override { return cancelled_; }
  // By the server itself, which stops.
  void Cancel() override {
    stopped_ = true;
    cancelled_ = true;
    const std::lock_guard<std::mutex> lock(mutex_);
    Wake();
  }

  Protocol protocol() const override { return Protocol::kConnect; }
  const grpc::ByteBuffer& request() const override { return request_; }
  absl::Status fault() const override { return fault_; }
  void End(const absl::Status& status, absl::string_view trace_id) override {
    const std::shared_ptr<void> self = std::move(self_);
    const std::lock_guard<std::mutex> lock(mutex_);
    end_ = status;
    trace_id_ = std::string(trace_id);
    Wake();
  }

 protected:
  // Reads the request, if its caller may make the call. `self` is held until End().
  void Read(HttpExchange& exchange, std::shared_ptr<void> self) {
    self_ = std::move(self);
    fault_ = Admit(*method_.method, *this).status();
    if (fault_.ok()) fault_ = head_.fault;
    if (!fault_.ok()) return;
    absl::StatusOr<std::string> bytes = ReadRequest(method_, head_, exchange);
    fault_ = bytes.status();
    if (!fault_.ok()) return;
    request_bytes_ = *std::move(bytes);
    const grpc::Slice slice(request_bytes_.data(), request_bytes_.size(),
                            grpc::Slice::STATIC_SLICE);
    request_ = grpc::ByteBuffer(&slice, 1);
  }

  bool HasEnded() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return end_.has_value();
  }

  // Waits for Wake(), for the client to leave, or for the call's deadline; for Wake() alone where
  // `exchange` is null.
  Woken Await(HttpExchange* exchange) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (std::exchange(woken_, false)) return Woken::kEvent;
      if (event_ < 0) event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    if (event_ < 0) {  // there are no descriptors left: look again
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return Woken::kEvent;
    }
    const Woken out = exchange != nullptr ? exchange->Await(event_, deadline()) : AwaitEvent();
    const std::lock_guard<std::mutex> lock(mutex_);
    woken_ = false;
    eventfd_t count = 0;
    eventfd_read(event_, &count);
    return out;
  }

  // Has Await() return, now or when it is called; under the lock.
  void Wake() {
    woken_ = true;
    if (event_ >= 0) eventfd_write(event_, 1);
  }

  // The end of a call that the server has stopped.
  absl::Status EndAsTold() const {
    return stopped_ && absl::IsCancelled(*end_) ? Draining() : *end_;
  }

  const ConnectMethod& method_;
  const ConnectHead head_;
  std::mutex mutex_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> stopped_{false};
  absl::optional<absl::Status> end_;
  std::string trace_id_;

 private:
  Woken AwaitEvent() const {
    pollfd event = {.fd = event_, .events = POLLIN, .revents = 0};
    poll(&event, 1, -1);
    return Woken::kEvent;
  }

  const std::string peer_;
  const std::string certificate_name_;
  const std::string authorization_;
  const std::string traceparent_;
  std::shared_ptr<void> self_;
  absl::Status fault_;
  std::string request_bytes_;
  grpc::ByteBuffer request_;  // of request_bytes_, without a copy
  bool woken_ = false;
  int event_ = -1;  // of the first wait on
};

class ConnectUnaryCall final : public ConnectCall<UnaryTransport> {
 public:
  using ConnectCall::ConnectCall;

  grpc::ByteBuffer* response() override { return &response_; }

  void Answer(HttpExchange& exchange, std::shared_ptr<void> self) {
    Read(exchange, std::move(self));
    std::get<UnaryHandler>(method_.method->handler)(*method_.method, *this);
    while (!HasEnded()) {
      if (IsCancelled()) return Send(exchange, Failed(Draining(), OwnTraceId()));
      switch (Await(&exchange)) {
        case Woken::kEvent:
          break;
        case Woken::kClientLeft:
          cancelled_ = true;
          return;
        case Woken::kDeadline:
          if (const absl::Status late = EndOf(*this); !late.ok() && !HasEnded()) {
            cancelled_ = true;
            return Send(exchange, Failed(late, OwnTraceId()));
          }
          break;
      }
    }
    Send(exchange, AnswerOfEnd());
  }

 private:
  std::string OwnTraceId() const { return TraceIdOf(traceparent()); }

  HttpAnswer Failed(const absl::Status& status, absl::string_view trace_id) const {
    if (head_.foreign == nullptr) return FailureAnswer(status, trace_id);
    return head_.foreign->AnswerOf(status, "", trace_id);
  }

  HttpAnswer AnswerOfEnd() const {
    if (!end_->ok()) return Failed(EndAsTold(), trace_id_);
    const bool is_ours = head_.foreign == nullptr;
    absl::StatusOr<std::string> body =
        Written(method_, is_ours ? head_.codec : ConnectCodec::kProto, response_);
    if (!body.ok()) return Failed(body.status(), trace_id_);
    if (!is_ours) return head_.foreign->AnswerOf(*end_, *body, trace_id_);
    return {.content_type = ContentTypeOf(head_.codec, /*streams=*/false),
            .body = *std::move(body)};
  }

  void Send(HttpExchange& exchange, HttpAnswer answer) const {
    if (!head_.is_get) answer.headers.emplace_back("Cache-Control", "no-store");
    exchange.Answer(std::move(answer));
  }

  grpc::ByteBuffer response_;
};

class ConnectStreamCall final : public ConnectCall<StreamTransport> {
 public:
  using ConnectCall::ConnectCall;

  void Write(const grpc::ByteBuffer* bytes) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    writing_ = bytes;
    Wake();
  }

  void Answer(HttpExchange& exchange, std::shared_ptr<void> self) {
    Read(exchange, std::move(self));
    exchange.BeginStream(ContentTypeOf(head_.codec, /*streams=*/true));
    call_ = std::get<StreamHandler>(method_.method->handler)(*method_.method, *this);
    while (Advance(exchange)) continue;
    if (!client_left_) SendEnd(exchange);
  }

 private:
  // Does what is to be done next, or waits; false once the call has ended.
  bool Advance(HttpExchange& exchange) {
    if (const grpc::ByteBuffer* bytes = TakeWrite(); bytes != nullptr) {
      call_->OnWriteDone(Send(exchange, *bytes));
    } else if (HasEnded()) {
      return false;
    } else if (IsCancelled() && !told_) {
      told_ = true;
      call_->OnCancel();
    } else {
      const Woken why = Await(told_ ? nullptr : &exchange);
      client_left_ = client_left_ || why == Woken::kClientLeft;
      if (client_left_ || (why == Woken::kDeadline && !EndOf(*this).ok())) cancelled_ = true;
    }
    return true;
  }

  const grpc::ByteBuffer* TakeWrite() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(writing_, nullptr);
  }

  bool Send(HttpExchange& exchange, const grpc::ByteBuffer& bytes) {
    if (client_left_) return false;
    const absl::StatusOr<std::string> message = Written(method_, head_.codec, bytes);
    if (!message.ok()) {
      unwritten_ = message.status();
    } else if (exchange.Write(Enveloped(EnvelopeFlags::kMessage, *message))) {
      return true;
    } else {
      client_left_ = true;
    }
    cancelled_ = true;
    return false;
  }

  void SendEnd(HttpExchange& exchange) const {
    const absl::Status status = unwritten_.ok() ? EndAsTold() : unwritten_;
    exchange.Write(Enveloped(
        EnvelopeFlags::kEnd,
        status.ok() ? "{}"
                    : absl::StrCat("{\"error\":", ConnectErrorJson(status, trace_id_), "}")));
    exchange.EndStream();
  }

  std::unique_ptr<StreamCall> call_;
  const grpc::ByteBuffer* writing_ = nullptr;
  bool client_left_ = false;
  bool told_ = false;       // of the end: OnCancel()
  absl::Status unwritten_;  // why a message of the answer could not be sent
};

template <typename Call>
void AnswerBy(const ConnectMethod& method, const ConnectHead& head, HttpExchange& exchange,
              const std::shared_ptr<OpenCalls>& open) {
  UnreadAnswers* const unread = method.method->unread;
  const std::shared_ptr<Call> call(new Call(method, head, exchange), [open, unread](Call* its) {
    if (unread != nullptr) unread->Release(*its);
    open->Remove(*its);
    delete its;
  });
  open->Add(*call);
  call->Answer(exchange, call);
}

}  // namespace

std::string Enveloped(EnvelopeFlags flags, absl::string_view message) {
  std::string out;
  out.reserve(kPrefixBytes + message.size());
  out.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) {
    out.push_back(static_cast<char>((message.size() >> shift) & 0xff));
  }
  out.append(message.data(), message.size());
  return out;
}

absl::StatusOr<absl::string_view> MessageIn(absl::string_view body) {
  if (body.empty()) return BadEnvelope("there is no message");
  if (body.size() < kPrefixBytes) return BadEnvelope("it ends within the first five bytes");
  if (body[0] != static_cast<char>(EnvelopeFlags::kMessage)) {
    return BadEnvelope(absl::StrCat("the envelope's flags are ",
                                    static_cast<int>(static_cast<unsigned char>(body[0]))));
  }
  const size_t length = LengthIn(body);
  const absl::string_view message = body.substr(kPrefixBytes);
  if (length > message.size()) {
    return BadEnvelope(
        absl::StrCat("the envelope announces ", length, " bytes, and ", message.size(), " came"));
  }
  if (length < message.size()) return BadEnvelope("there is more after the first message");
  return message;
}

void AnswerCall(const ConnectMethod& method, const ConnectHead& head, HttpExchange& exchange,
                const std::shared_ptr<OpenCalls>& open) {
  if (method.streams) return AnswerBy<ConnectStreamCall>(method, head, exchange, open);
  AnswerBy<ConnectUnaryCall>(method, head, exchange, open);
}

}  // namespace sextant::server
