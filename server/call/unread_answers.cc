#include "server/call/unread_answers.h"

#include <vector>

#include "server/call/status.h"
#include "server/call/worker_pool.h"

namespace sextant::server {

absl::Status UnreadAnswers::Hold(CallContext& context, size_t bytes) {
  if (bytes < kSmallBytes) return absl::OkStatus();
  const std::string host = HostOf(context);
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  size_t& of_host = bytes_of_host_[host];
  if (bytes_ + bytes > limits_.most_bytes || of_host + bytes > limits_.most_bytes_of_host) {
    if (of_host == 0) bytes_of_host_.erase(host);
    return ServerBusy("too much waits for callers to read their answers");
  }
  of_host += bytes;
  bytes_ += bytes;
  Answer& answer = answers_[&context];
  answer.host = host;
  answer.bytes += bytes;
  answer.since = std::chrono::steady_clock::now();
  return absl::OkStatus();
}

void UnreadAnswers::Release(CallContext& context) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  const auto found = answers_.find(&context);
  if (found == answers_.end()) return;
  const auto of_host = bytes_of_host_.find(found->second.host);
  of_host->second -= found->second.bytes;
  if (of_host->second == 0) bytes_of_host_.erase(of_host);
  bytes_ -= found->second.bytes;
  answers_.erase(found);
}

void UnreadAnswers::EndOld(std::chrono::steady_clock::time_point now) {
  const std::lock_guard<std::recursive_mutex> lock(mutex_);
  std::vector<CallContext*> old;
  for (const auto& [context, answer] : answers_) {
    if (now - answer.since > limits_.patience) old.push_back(context);
  }
  for (CallContext* context : old) {
    // Another's end may have released it. While it is here the call has not ended.
    if (answers_.count(context) > 0) context->Cancel();
  }
}

}  // namespace sextant::server
