// A call as the head of its HTTP request describes it, by the Connect protocol.
#ifndef SEXTANT_SERVER_CONNECT_CONNECT_HEAD_H_
#define SEXTANT_SERVER_CONNECT_CONNECT_HEAD_H_

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "server/listen/http_exchange.h"

namespace sextant::server {

class ForeignMessages;

// How messages are written.
enum class ConnectCodec { kJson, kProto };

// The codec of a request's Content-Type for unary methods, or for streams; absent for all else.
absl::optional<ConnectCodec> CodecOf(absl::string_view content_type, bool streams);

// "application/connect+json"; of an answer, or that clients may send.
const char* ContentTypeOf(ConnectCodec codec, bool streams);
const char* AcceptPostOf(bool streams);

struct ConnectHead {
  bool is_get = false;
  ConnectCodec codec = ConnectCodec::kJson;
  // The largest value for none.
  std::chrono::system_clock::time_point deadline = std::chrono::system_clock::time_point::max();
  // Why the call can't be made so; OK otherwise.
  absl::Status fault = absl::OkStatus();
  // Set for a unary call in the messages of another API; null: in ours. It outlives the
  // exchange.
  ForeignMessages* foreign = nullptr;
};

// The head of a POST with messages in `codec`, and of a GET.
ConnectHead HeadOfPost(const HttpExchange& exchange, ConnectCodec codec);
ConnectHead HeadOfGet(const HttpExchange& exchange);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONNECT_CONNECT_HEAD_H_
