// The calls of a port that have not ended, and the end of them all.
#ifndef SEXTANT_SERVER_CONNECT_OPEN_CALLS_H_
#define SEXTANT_SERVER_CONNECT_OPEN_CALLS_H_

#include <condition_variable>
#include <mutex>
#include <set>

#include "server/call/call_context.h"

namespace sextant::server {

// Thread-safe.
class OpenCalls {
 public:
  // `call` is there until Remove().
  void Add(CallContext& call);
  void Remove(CallContext& call);

  // Cancels those that are open, and those that are added later.
  void CancelAll();

  // Waits for all to be removed.
  void AwaitNone();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<CallContext*> calls_;
  bool cancels_ = false;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONNECT_OPEN_CALLS_H_
