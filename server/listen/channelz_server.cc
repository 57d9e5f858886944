#include "server/listen/channelz_server.h"

#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/security/server_credentials.h>

#include <chrono>
#include <cstddef>
#include <mutex>

#include "engine/base/status_macros.h"

namespace sextant::server {
namespace {

constexpr size_t kMaxConnections = 16;

}  // namespace

absl::StatusOr<std::unique_ptr<ChannelzServer>> ChannelzServer::Start(const std::string& address) {
  static std::once_flag once;
  std::call_once(once, grpc::channelz::experimental::InitChannelzService);
  std::unique_ptr<ChannelzServer> out(new ChannelzServer);
  SEXTANT_ASSIGN_OR_RETURN(out->listener_, Listener::Open({.addresses = {address},
                                                           .flag = "--channelz_listen",
                                                           .max_connections = kMaxConnections}));
  grpc::ServerBuilder builder;
  out->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  out->server_ = builder.BuildAndStart();
  if (out->server_ == nullptr) return absl::InternalError("gRPC does not start");
  out->listener_->Serve([acceptor = out->acceptor_.get()](int connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
    taken.fd = connection;
    acceptor->HandleNewConnection(&taken);
  });
  return out;
}

ChannelzServer::~ChannelzServer() {
  if (listener_ != nullptr) listener_->Stop();
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
}

}  // namespace sextant::server
