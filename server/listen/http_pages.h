// The pages of the HTTP port: health, metrics, and what the server is.
#ifndef SEXTANT_SERVER_LISTEN_HTTP_PAGES_H_
#define SEXTANT_SERVER_LISTEN_HTTP_PAGES_H_

#include "absl/strings/string_view.h"
#include "server/listen/http_exchange.h"
#include "server/listen/http_head.h"
#include "server/listen/http_server.h"

namespace sextant::server {

struct HttpPage {
  absl::string_view path;
  bool is_health = false;   // for load balancers and kubelets, which call by any name
  bool has_access = false;  // is for callers that the access file lets read it
  HttpAnswer (*answer)(const HttpOptions& options, const HttpHead& head);
};

// Null: no page has that path.
const HttpPage* PageOf(absl::string_view path);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP_PAGES_H_
