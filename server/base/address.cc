#include "server/base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

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

std::string PeerHost(int descriptor) {
  sockaddr_storage peer = {};
  socklen_t length = sizeof(peer);
  getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length);
  std::array<char, INET6_ADDRSTRLEN> text = {};
  if (peer.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in&>(peer).sin_addr, text.data(), text.size());
    return absl::StrCat("ipv4:", text.data());
  }
  if (peer.ss_family != AF_INET6) return "unix";
  const in6_addr& address = reinterpret_cast<sockaddr_in6&>(peer).sin6_addr;
  // A caller by IPv4 of a socket for both.
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    inet_ntop(AF_INET, &address.s6_addr[12], text.data(), text.size());
    return absl::StrCat("ipv4:", text.data());
  }
  inet_ntop(AF_INET6, &address, text.data(), text.size());
  return absl::StrCat("ipv6:[", text.data(), "]");
}

}  // namespace sextant::server
