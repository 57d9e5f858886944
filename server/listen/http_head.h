// The first lines of an HTTP request, judged before anything of it is answered.
#ifndef SEXTANT_SERVER_LISTEN_HTTP_HEAD_H_
#define SEXTANT_SERVER_LISTEN_HTTP_HEAD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace sextant::server {

// Webhooks of Kubernetes, whose callers say nothing of one that fails. Their bodies may be as large
// as its objects.
inline constexpr char kHookPath[] = "/v1/hooks/kubernetes";
inline constexpr size_t kMaxHookBytes = 2 << 20;
// True of that path and all below it.
bool IsHook(absl::string_view path);

struct HttpHead {
  enum class Kind {
    kPartial,  // the beginning of a request: more has to come
    kGarbage,  // no request of HTTP/1 begins like this
    kRefused,  // answer `error`, and close
    kWhole,    // `bytes` long, with the empty line
  };
  enum class Body { kNone, kLength, kChunked };

  Kind kind = Kind::kPartial;
  absl::Status error = absl::OkStatus();  // of HttpError()
  size_t bytes = 0;
  std::string method = {};
  std::string path = {};   // unescaped; "*" of OPTIONS
  std::string query = {};  // as it was sent, without "?"
  // In lower case, each once: the values of one that came several times are a list, as RFC 9110
  // section 5.3 has it. What takes one value takes no list.
  std::vector<std::pair<std::string, std::string>> headers = {};
  Body body = Body::kNone;
  uint64_t length = 0;      // of a body of kLength
  bool is_1_1 = false;      // else 1.0
  bool keeps_alive = true;  // the connection, for a further request
  bool awaits_100 = false;  // before the body is sent

  // "" where there is none. `name` has any case.
  absl::string_view Header(absl::string_view name) const;
  // A value of the query, unescaped; the first of several. Absent where there is none.
  absl::optional<std::string> Parameter(absl::string_view name) const;
};

// Judges the bytes that have come of a request: RFC 9112 sections 2.2, 3, 5.1, 6.1 and 6.3. Takes
// nothing that can be read in two ways: a proxy before this server may have read it in the other.
HttpHead ReadHttpHead(absl::string_view received);

// A body in chunks, as its bytes come. Stricter than RFC 9112 section 7.1: no client needs
// extensions and trailers, which others read in several ways.
class ChunkedBody {
 public:
  // The bytes of `received` that belong to the body, all of them unless it ends.
  //
  // Errors: of HttpError(): it is malformed, or larger than kMaxReceiveBytes.
  absl::Status Take(absl::string_view received, size_t& taken);

  bool is_whole() const { return state_ == State::kEnd; }
  std::string& content() { return content_; }

 private:
  enum class State { kSize, kData, kDataEnd, kLastEnd, kEnd };

  absl::Status EndLine();

  State state_ = State::kSize;
  std::string line_;   // of a size, as far as it has come, or the line end after data
  uint64_t left_ = 0;  // of the chunk
  std::string content_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP_HEAD_H_
