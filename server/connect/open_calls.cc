#include "server/connect/open_calls.h"

namespace sextant::server {

void OpenCalls::Add(CallContext& call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  calls_.insert(&call);
  if (cancels_) call.Cancel();
}

void OpenCalls::Remove(CallContext& call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  calls_.erase(&call);
  changed_.notify_all();
}

void OpenCalls::CancelAll() {
  const std::lock_guard<std::mutex> lock(mutex_);
  cancels_ = true;
  for (CallContext* call : calls_) call->Cancel();
}

void OpenCalls::AwaitNone() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return calls_.empty(); });
}

}  // namespace sextant::server
