// Who makes a call, and whether its answer is still waited for.
#ifndef SEXTANT_SERVER_CALL_CALL_CONTEXT_H_
#define SEXTANT_SERVER_CALL_CALL_CONTEXT_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

// A call but for its messages, whatever carries it. Lives until the call has ended. On any thread
// at any time: deadline(), IsCancelled(), Cancel().
class CallContext {
 public:
  virtual ~CallContext() = default;

  // Where the caller is: "ipv4:192.0.2.7:40312", "ipv6:%5B::1%5D:40312", "unix:/run/sextant".
  virtual std::string peer() const = 0;

  // Who the caller is: of the certificate that it showed, "" for none; "Bearer <token>", "" for
  // none.
  virtual std::string certificate_name() const = 0;
  virtual absl::string_view authorization() const = 0;

  // As W3C's Trace Context has it; "" for none.
  virtual absl::string_view traceparent() const = 0;

  // The largest value for none. By this host's clock.
  virtual std::chrono::system_clock::time_point deadline() const = 0;

  virtual bool IsCancelled() const = 0;

  // Ends the call as if its caller had left.
  virtual void Cancel() = 0;
};

// OK while somebody waits for the call's answer. kDeadlineExceeded once its deadline has passed,
// kCancelled once its caller has left, both CALL_CANCELLED: an answer that nobody reads would
// delay the waiting calls, or the shutdown of a server.
absl::Status EndOf(const CallContext& context);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_CALL_CONTEXT_H_
