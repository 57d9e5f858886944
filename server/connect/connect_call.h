// A call by the Connect protocol: from the HTTP exchange to the handler and back; and the envelopes
// of a stream's messages.
#ifndef SEXTANT_SERVER_CONNECT_CONNECT_CALL_H_
#define SEXTANT_SERVER_CONNECT_CONNECT_CALL_H_

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/call/service.h"
#include "server/connect/connect_head.h"
#include "server/connect/open_calls.h"
#include "server/listen/http_exchange.h"

namespace sextant::server {

// Each message of a stream is in an envelope: a byte of flags, four of its length, the message.
// Source: the Connect protocol, "Enveloped-Message" and "EndStreamResponse".
enum class EnvelopeFlags : uint8_t { kMessage = 0, kEnd = 2 };

std::string Enveloped(EnvelopeFlags flags, absl::string_view message);

// The one message in `body`, a request to a method that takes one; `body` has to outlive it.
//
// Errors: kInvalidArgument with reason FIELD_INVALID.
absl::StatusOr<absl::string_view> MessageIn(absl::string_view body);

struct ConnectMethod {
  Method* method = nullptr;
  const google::protobuf::Descriptor* request = nullptr;
  const google::protobuf::Descriptor* response = nullptr;
  bool streams = false;  // the answer
  bool has_get = false;
};

// One call's messages in another API than ours. Used on the connection's thread.
class ForeignMessages {
 public:
  virtual ~ForeignMessages() = default;

  // Reads the request, as the bytes of a message of ours.
  virtual absl::StatusOr<std::string> ReadRequest(HttpExchange& exchange) = 0;

  // The answer to a call that has ended with `status`: if that is OK, with the message of `bytes`.
  // May come without ReadRequest().
  virtual HttpAnswer AnswerOf(const absl::Status& status, absl::string_view bytes,
                              absl::string_view trace_id) = 0;
};

// Has the call that `exchange` brings answered by its handler, and answers it. Where the caller
// leaves or the deadline passes, a unary handler may go on after this returns; it is cancelled, and
// its call is in `open` until it ends.
void AnswerCall(const ConnectMethod& method, const ConnectHead& head, HttpExchange& exchange,
                const std::shared_ptr<OpenCalls>& open);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONNECT_CONNECT_CALL_H_
