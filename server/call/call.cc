#include "server/call/call.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "server/base/log.h"
#include "server/call/call_context.h"

namespace sextant::server {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::internal::WireFormatLite;
using ::google::protobuf::io::CodedInputStream;

// As protobuf's own parser has it.
constexpr int kMaxDepth = 100;

class Counter {
 public:
  Counter(CodedInputStream& in, int64_t limit) : in_(in), limit_(limit) {}

  // Counts a message up to the stream's limit; false where counting ends.
  bool Count(const Descriptor& type, int depth) {
    while (const uint32_t tag = in_.ReadTag()) {
      const FieldDescriptor* const field =
          type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      const bool is_bytes =
          WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
      const bool is_packed = field != nullptr && is_bytes && field->is_packable();
      const bool is_counted = field == nullptr || (field->is_repeated() && !is_packed);
      if (is_counted && ++count_ > limit_) return false;
      if (is_bytes && field != nullptr ? !CountBytes(*field, depth)
                                       : !WireFormatLite::SkipField(&in_, tag)) {
        return false;
      }
    }
    return true;
  }

  int64_t count() const { return count_; }

 private:
  // Counts what a field of bytes holds: a message, a text, or a list of numbers.
  bool CountBytes(const FieldDescriptor& field, int depth) {
    uint32_t size = 0;
    if (!in_.ReadVarint32(&size)) return false;
    if (field.type() != FieldDescriptor::TYPE_MESSAGE) {
      // A number has a byte at least.
      if (field.is_packable() && (count_ += size) > limit_) return false;
      return in_.Skip(static_cast<int>(size));
    }
    if (depth == kMaxDepth || (!field.is_repeated() && ++count_ > limit_)) return false;
    const CodedInputStream::Limit outer = in_.PushLimit(static_cast<int>(size));
    const bool goes_on = Count(*field.message_type(), depth + 1);
    in_.PopLimit(outer);
    return goes_on;
  }

  CodedInputStream& in_;
  const int64_t limit_;
  int64_t count_ = 0;
};

Caller CallerOf(const CallContext& context) {
  const std::string peer = context.peer();
  Caller out;
  out.is_by_unix_socket = absl::StartsWith(peer, "unix:");
  out.is_on_this_host = out.is_by_unix_socket || absl::StartsWith(peer, "ipv4:127.") ||
                        absl::StartsWith(peer, "ipv6:%5B::1%5D");
  out.certificate_name = context.certificate_name();
  out.authorization = context.authorization();
  return out;
}

}  // namespace

int64_t CountElements(const grpc::ByteBuffer& bytes, const Descriptor& type, int64_t limit) {
  grpc::ByteBuffer shared(bytes);
  grpc::ProtoBufferReader reader(&shared);
  CodedInputStream in(&reader);
  Counter counter(in, limit);
  counter.Count(type, 0);
  return counter.count();
}

absl::Status CheckElements(const grpc::ByteBuffer& bytes, const Descriptor& type) {
  if (CountElements(bytes, type, kMaxElements) <= kMaxElements) return absl::OkStatus();
  return WithReason(absl::InvalidArgumentError(absl::StrCat(
                        "the request holds more than ", kMaxElements,
                        " messages and elements of lists: send fewer operations, runs or "
                        "measured points in one call")),
                    "FIELD_INVALID");
}

absl::StatusOr<std::string> Admit(const Method& method, const CallContext& caller) {
  if (method.under_way != nullptr) SEXTANT_RETURN_IF_ERROR(method.under_way->Admission());
  if (method.access == nullptr) return std::string();
  return method.access->Admit(method.name, CallerOf(caller), absl::Now());
}

Call::Call(Method& method, Transport& transport)
    : method_(method), transport_(transport), start_(std::chrono::steady_clock::now()) {
  if (method.under_way != nullptr) method.under_way->Begin();
  absl::StatusOr<std::string> name = Admit(method, transport);
  admission_ = name.ok() ? transport.fault() : name.status();
  if (name.ok()) caller_ = *std::move(name);
}

std::string Call::Turn() const {
  return caller_.empty() ? TurnOfHost(HostOf(transport_)) : absl::StrCat("name:", caller_);
}

void Call::End(const absl::Status& status) {
  const bool is_logged = IsLogged(method_.log_level, status.ok());
  // Read only where it is shown: gRPC copies all metadata.
  const std::string trace_id = is_logged || !status.ok() ? TraceIdOf(transport_.traceparent()) : "";
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start_;
  method_.metrics.Record(transport_.protocol(), status.code(), duration.count());
  if (is_logged) {
    LogCall({.time = std::chrono::system_clock::now(),
             .method = method_.name,
             .protocol = ProtocolName(transport_.protocol()),
             .peer = transport_.peer(),
             .caller = caller_,
             .code = CodeName(status.code()),
             .reason = status.ok() ? "" : ReasonOf(status),
             .duration_seconds = duration.count(),
             .trace_id = trace_id,
             .request_bytes = transport_.request().Length()});
  }
  // Before the caller knows: the server may shut down, and the method be destroyed, as soon as its
  // transport is done.
  if (method_.under_way != nullptr) method_.under_way->End();
  transport_.End(status, trace_id);
}

void PostCall(const Call& call, WorkerPool& workers,
              std::function<void(const absl::Status&)> then) {
  PostWork(
      call.Turn(), workers, [&call] { return EndOf(call.context()); }, std::move(then));
}

void PostWork(const std::string& turn, WorkerPool& workers, std::function<absl::Status()> end,
              std::function<void(const absl::Status&)> then) {
  WaitMetrics* const waits = workers.waits();
  if (waits != nullptr) waits->waiting().Increment();
  const auto start = std::chrono::steady_clock::now();
  workers.Post(turn, [=, end = std::move(end), then = std::move(then)](const absl::Status& ready) {
    const std::chrono::duration<double> wait = std::chrono::steady_clock::now() - start;
    if (waits != nullptr) waits->waiting().Decrement();
    if (waits != nullptr && ready.ok()) waits->Record(wait.count());
    then(ready.ok() ? end() : ready);
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

UnaryCall::UnaryCall(Method& method, UnaryTransport& transport)
    : call_(method, transport),
      transport_(transport),
      large_calls_(method.large_calls),
      unread_(method.unread) {}

void UnaryCall::PostLarge(std::function<void()> then) {
  PostCall(call_, *large_calls_, [this, then = std::move(then)](const absl::Status& ready) {
    if (!ready.ok()) return Finish(ready);
    then();
  });
}

void UnaryCall::Finish(const absl::Status& status) {
  absl::Status end = status;
  if (end.ok() && unread_ != nullptr) end = unread_->Hold(transport_, response()->Length());
  call_.End(end);
}

}  // namespace sextant::server
