// The first lines of an HTTP request, judged before anything of it is answered.
#ifndef SEXTANT_SERVER_LISTEN_HTTP_HEAD_H_
#define SEXTANT_SERVER_LISTEN_HTTP_HEAD_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace sextant::server {

struct HttpHead {
  enum class Kind {
    kPartial,  // the beginning of a request: more has to come
    kGarbage,  // no request of HTTP/1 begins like this
    kRefused,  // answer `status`, and close
    kWhole,    // `bytes` long, with the empty line
  };
  Kind kind = Kind::kPartial;
  int status = 0;
  size_t bytes = 0;
  // No page reads a body, which would otherwise be taken for the next request: close after the
  // answer.
  bool has_body = false;
};

// Judges the bytes that have come of a request. Stricter than httplib, which skips lines that it
// can't read, so that the two see the same headers: RFC 9112 sections 2.2, 3, 5.1, 6.1 and 6.3.
HttpHead ReadHttpHead(absl::string_view received);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP_HEAD_H_
