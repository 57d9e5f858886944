// One HTTP request and its answer, on the thread of its connection.
#ifndef SEXTANT_SERVER_LISTEN_HTTP_EXCHANGE_H_
#define SEXTANT_SERVER_LISTEN_HTTP_EXCHANGE_H_

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sextant::server {

struct HttpAnswer {
  int status = 200;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Used by one thread. The request's head has been read and judged; its body has not.
class HttpExchange {
 public:
  // Why Await() returned.
  enum class Woken { kEvent, kClientLeft, kDeadline };

  virtual ~HttpExchange() = default;

  virtual absl::string_view method() const = 0;  // "GET", of HEAD too; "POST"
  virtual absl::string_view path() const = 0;    // "/sextant.v1.PlanningService/PlanRun", unescaped
  // The query's parameter of that name, unescaped; absent where there is none.
  virtual absl::optional<std::string> Parameter(const std::string& name) const = 0;
  // The value of a header, whatever its case; "" where there is none.
  virtual absl::string_view Header(const std::string& name) const = 0;

  // As CallContext has them.
  virtual std::string peer() const = 0;
  virtual std::string certificate_name() const = 0;

  // Reads the whole body, once; "" where there is none. A call that is not made leaves the body
  // unread, and the connection ends after the answer.
  //
  // Errors: kResourceExhausted where it has more than gRPC takes (413), kInvalidArgument where it
  // is not framed as HTTP has it, kDeadlineExceeded where it comes too slowly (408), kCancelled
  // where the client left. FailureAnswer() of http_failure.h has the status of HTTP of each.
  absl::StatusOr<std::string> ReadBody() { return ReadBody(nullptr); }
  // The same, but where `place` is not null the body of a call that gets no place (503) is read,
  // too, and `*place` says so.
  virtual absl::StatusOr<std::string> ReadBody(absl::Status* place) = 0;

  // Waits until the eventfd `event` is readable, the client leaves, or `deadline`. A client that
  // closes its sending side has left; one that has sent its next request has not.
  virtual Woken Await(int event, std::chrono::system_clock::time_point deadline) = 0;

  // Sends the whole answer, compressed where the client takes that. Once, unless BeginStream() was
  // called.
  virtual void Answer(HttpAnswer answer) = 0;

  // Sends status 200 and the headers of an answer whose length is not known; then parts of it; then
  // its end. Write() returns false where the client left or takes nothing for long.
  virtual void BeginStream(absl::string_view content_type) = 0;
  virtual bool Write(absl::string_view bytes) = 0;
  virtual void EndStream() = 0;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP_EXCHANGE_H_
