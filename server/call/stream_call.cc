#include "server/call/stream_call.h"

#include <utility>

#include "engine/base/reason.h"
#include "engine/base/status_macros.h"

namespace sextant::server {

bool DeadlineHadPassed(const CallTimes& call, std::chrono::system_clock::time_point now) {
  constexpr int kMinRoundedValue = 100;  // of three digits: rounded by up to one part of it
  return now >= call.deadline - (call.deadline - call.start) / kMinRoundedValue;
}

StreamCall::StreamCall(Method& method, StreamTransport& transport, std::function<void()> cancelled)
    : call_(method, transport),
      unread_(method.unread),
      large_calls_(method.large_calls),
      transport_(transport),
      times_{.start = std::chrono::system_clock::now(), .deadline = transport.deadline()},
      cancelled_(std::move(cancelled)) {}

void StreamCall::WhenReadable(std::function<void()> then) {
  if (large_calls_ == nullptr || request().Length() <= kLargeRequestBytes) return then();
  PostCall(call_, *large_calls_, [this, then = std::move(then)](const absl::Status& ready) {
    if (!ready.ok()) return End(ready);
    then();
  });
}

absl::Status StreamCall::Send(const google::protobuf::Message& content, bool is_progress) {
  Message message;
  message.is_progress = is_progress;
  SEXTANT_RETURN_IF_ERROR(Encode(content, &message.bytes));
  if (unread_ != nullptr && !is_progress) {
    SEXTANT_RETURN_IF_ERROR(unread_->Hold(transport_, message.bytes.Length()));
  }
  std::unique_lock<std::mutex> lock(mutex_);
  if (!waiting_.empty() && waiting_.back().is_progress) waiting_.pop_back();
  waiting_.push_back(std::move(message));
  Next(std::move(lock));
  return absl::OkStatus();
}

void StreamCall::End(const absl::Status& status) {
  const bool late =
      absl::IsCancelled(status) && DeadlineHadPassed(times_, std::chrono::system_clock::now());
  std::unique_lock<std::mutex> lock(mutex_);
  end_ = late ? WithReason(absl::DeadlineExceededError("the call's deadline came before a result"),
                           ReasonOf(status))
              : status;
  Next(std::move(lock));
}

void StreamCall::OnWriteDone(bool ok) {
  if (!ok) cancelled_();
  std::unique_lock<std::mutex> lock(mutex_);
  writing_ = false;
  if (!ok) waiting_.clear();
  Next(std::move(lock));
}

void StreamCall::Next(std::unique_lock<std::mutex> lock) {
  if (writing_) return;
  if (!waiting_.empty()) {
    writing_bytes_ = waiting_.front().bytes;
    waiting_.pop_front();
    writing_ = true;
    transport_.Write(&writing_bytes_);
    return;
  }
  if (!end_.has_value()) return;
  // Another thread may delete this object once the call has ended.
  lock.unlock();
  call_.End(absl::Status(*end_));
}

}  // namespace sextant::server
