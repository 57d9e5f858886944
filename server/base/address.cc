#include "server/base/address.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sextant::server {

bool IsLocalAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix:")) return true;
  const auto parts = SplitHostPort(address);
  if (!parts.ok()) return false;
  return parts->host == "localhost" || parts->host == "[::1]" ||
         (absl::StartsWith(parts->host, "127.") &&
          parts->host.find_first_not_of("0123456789.") == std::string::npos);
}

absl::StatusOr<HostPort> SplitHostPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  HostPort out;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(address.substr(colon + 1), &out.port) || out.port < 0 || out.port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is not host:port with a port of 0 to 65535"));
  }
  out.host = std::string(address.substr(0, colon));
  return out;
}

}  // namespace sextant::server
