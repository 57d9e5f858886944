// What every call to the server starts with.
#ifndef SEXTANT_CLIENT_CHANNEL_H_
#define SEXTANT_CLIENT_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>

#include "client/connection.h"

namespace sextant {

std::shared_ptr<grpc::Channel> NewChannel(const ServerAddress& server);

// Ends the call of `context` once the server's timeout is over.
void SetDeadline(const ServerAddress& server, grpc::ClientContext* context);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_CHANNEL_H_
