// Answers that callers have not taken yet.
#ifndef SEXTANT_SERVER_CALL_UNREAD_ANSWERS_H_
#define SEXTANT_SERVER_CALL_UNREAD_ANSWERS_H_

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "server/call/call_context.h"

namespace sextant::server {

struct UnreadLimits {
  size_t most_bytes = 256 << 20;
  size_t most_bytes_of_host = 64 << 20;
  std::chrono::seconds patience{30};
};

// Thread-safe. gRPC keeps an answer until its caller has room for it: callers that read nothing
// would fill the memory, a connection with up to 256 answers of 4 MiB.
class UnreadAnswers {
 public:
  // Answers below this take less than the call itself does; they are not counted.
  static constexpr size_t kSmallBytes = 16'384;

  explicit UnreadAnswers(UnreadLimits limits = {}) : limits_(limits) {}

  // Counts `bytes` more of `context`'s answer until Release().
  //
  // Errors: kResourceExhausted SERVER_BUSY where too much waits, of all callers or of this one's
  // host.
  absl::Status Hold(CallContext& context, size_t bytes);

  // Call it before the end of each call that Hold() was called for.
  void Release(CallContext& context);

  // Cancels the calls whose answers have waited for longer than patience at `now`.
  void EndOld(std::chrono::steady_clock::time_point now);

 private:
  struct Answer {
    std::string host;
    size_t bytes = 0;
    std::chrono::steady_clock::time_point since;
  };

  const UnreadLimits limits_;
  std::recursive_mutex mutex_;  // cancelling a call may end it, and release its answer, at once
  std::map<CallContext*, Answer> answers_;
  std::map<std::string, size_t> bytes_of_host_;
  size_t bytes_ = 0;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_UNREAD_ANSWERS_H_
