#include "server/listen/http_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/listen/http_failure.h"

namespace sextant::server {
namespace {

bool IsAddress(int family, absl::string_view text) {
  in6_addr parsed;
  return inet_pton(family, std::string(text).c_str(), &parsed) == 1;
}

// "", or ":9464".
bool IsPort(absl::string_view text) {
  return text.empty() ||
         (text[0] == ':' && std::all_of(text.begin() + 1, text.end(), absl::ascii_isdigit));
}

bool IsOwnHost(absl::string_view host, const std::vector<std::string>& names) {
  if (absl::ConsumePrefix(&host, "[")) {
    const size_t end = std::min(host.find(']'), host.size());
    return end < host.size() && IsPort(host.substr(end + 1)) &&
           IsAddress(AF_INET6, host.substr(0, end));
  }
  const size_t colon = std::min(host.find(':'), host.size());
  if (!IsPort(host.substr(colon))) return false;
  host = host.substr(0, colon);
  return IsAddress(AF_INET, host) || absl::EqualsIgnoreCase(host, "localhost") ||
         std::any_of(names.begin(), names.end(), [host](const std::string& name) {
           return absl::EqualsIgnoreCase(name, host);
         });
}

}  // namespace

absl::Status CheckOrigin(const HttpHead& head, bool is_encrypted) {
  const absl::string_view origin = head.Header("origin");
  const absl::string_view host = head.Header("host");
  // Plain text may come from a proxy that ends TLS.
  const bool is_own =
      absl::EqualsIgnoreCase(origin, absl::StrCat("https://", host)) ||
      (!is_encrypted && absl::EqualsIgnoreCase(origin, absl::StrCat("http://", host)));
  if (!origin.empty() && !is_own) {
    return HttpError(HttpFault::kForeign,
                     "the Origin is another site's: this server answers its own pages alone");
  }
  // A link may lead here from anywhere: the page that has it does not see the answer.
  const bool is_link = head.method != "POST" && head.Header("sec-fetch-mode") == "navigate";
  if (head.Header("sec-fetch-site") == "cross-site" && !is_link) {
    return HttpError(HttpFault::kForeign,
                     "the request is another site's: this server answers its own pages alone");
  }
  return absl::OkStatus();
}

absl::Status CheckHost(absl::string_view host, const std::vector<std::string>& names) {
  if (IsOwnHost(host, names)) return absl::OkStatus();
  return HttpError(HttpFault::kForeign,
                   absl::StrCat("this server is not known by the name \"", host,
                                "\": call it by its address, send a token, or start it with "
                                "--http_host=NAME"));
}

absl::Status CheckEncoding(const HttpHead& head) {
  const absl::string_view encoding = head.Header("content-encoding");
  if (encoding.empty() || absl::EqualsIgnoreCase(encoding, "identity")) return absl::OkStatus();
  return HttpError(HttpFault::kEncoded, absl::StrCat("a body in the encoding \"", encoding,
                                                     "\" is not read: send it as it is, in "
                                                     "identity, the one that is supported"));
}

}  // namespace sextant::server
