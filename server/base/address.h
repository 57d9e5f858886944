// Addresses: to listen on, and of callers.
#ifndef SEXTANT_SERVER_BASE_ADDRESS_H_
#define SEXTANT_SERVER_BASE_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

// "host:port" split; host may be "[::1]".
struct HostPort {
  std::string host;
  int port = 0;
};
// Errors: kInvalidArgument where there is no port of 0 to 65535.
absl::StatusOr<HostPort> SplitHostPort(absl::string_view address);

// True where only this host can reach `address`: "unix:...", or a host that is localhost, 127.x.x.x
// or [::1].
bool IsLocalAddress(absl::string_view address);

// The host at the other end of the connection `descriptor`, as gRPC writes it: "ipv4:127.0.0.1",
// "ipv6:[::1]"; "unix" for all that is no TCP.
std::string PeerHost(int descriptor);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_BASE_ADDRESS_H_
