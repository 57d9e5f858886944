// Requests that web pages of other sites have browsers send, and bodies that are not what they look
// like.
#ifndef SEXTANT_SERVER_LISTEN_HTTP_GUARD_H_
#define SEXTANT_SERVER_LISTEN_HTTP_GUARD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/listen/http_head.h"

namespace sextant::server {

// OK where no page but this server's own can have sent the request: its Origin, if it has one, is
// this host's, and it does not come from another site.
//
// Errors: HttpFault::kForeign.
absl::Status CheckOrigin(const HttpHead& head, bool is_encrypted);

// OK where `host`, a header Host, is an IP literal, localhost or one of `names`, with any port. A
// page whose name is bound to this server's address after it was loaded sends that name, and its
// Origin is the same: an IP literal can't be rebound.
//
// Errors: HttpFault::kForeign naming --http_host.
absl::Status CheckHost(absl::string_view host, const std::vector<std::string>& names);

// OK where the body is sent as it is: a library that decompresses 291 kB of it may need a GiB.
//
// Errors: HttpFault::kEncoded.
absl::Status CheckEncoding(const HttpHead& head);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP_GUARD_H_
