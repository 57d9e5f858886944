// gRPC's own view of its servers, channels and connections, on a port of its own.
#ifndef SEXTANT_SERVER_LISTEN_CHANNELZ_SERVER_H_
#define SEXTANT_SERVER_LISTEN_CHANNELZ_SERVER_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/listen/listener.h"

namespace sextant::server {

// Serves grpc.channelz.v1, for tools such as grpcdebug: it shows the callers' addresses and how
// much they call. gRPC adds the service to every server of the process that is built later: start
// this one last.
class ChannelzServer {
 public:
  // `address`: of this host alone.
  //
  // Errors: kUnavailable naming the address where it can't be bound.
  static absl::StatusOr<std::unique_ptr<ChannelzServer>> Start(const std::string& address);
  ~ChannelzServer();

  const std::string& address() const { return listener_->addresses().front(); }

 private:
  ChannelzServer() = default;

  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_CHANNELZ_SERVER_H_
