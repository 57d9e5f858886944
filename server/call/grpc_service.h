// A service as gRPC offers it. Nothing else in the server knows gRPC's calls.
#ifndef SEXTANT_SERVER_CALL_GRPC_SERVICE_H_
#define SEXTANT_SERVER_CALL_GRPC_SERVICE_H_

#include <grpcpp/impl/service_type.h>

#include <deque>
#include <string>

#include "server/call/service.h"

namespace sextant::server {

// Offers all methods of a service by gRPC's callback API, on bytes: gRPC itself answers undecodable
// bytes with UNIMPLEMENTED and no message, which a caller takes for an older server and no metric
// counts.
class GrpcService final : public grpc::Service {
 public:
  // `service` outlives this.
  explicit GrpcService(server::Service& service);

 private:
  std::deque<std::string> paths_;  // gRPC holds pointers to them
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_GRPC_SERVICE_H_
