#include "server/call/service.h"

#include <cstdlib>

namespace sextant::server {

void Service::Add(Rpc rpc) {
  const auto* const service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name_);
  for (int i = 0; service != nullptr && i < service->method_count(); ++i) {
    const google::protobuf::MethodDescriptor& method = *service->method(i);
    if (method.input_type() == rpc.request && method.output_type() == rpc.response &&
        method.server_streaming() == std::holds_alternative<StreamHandler>(rpc.handler)) {
      return Add(method.name(), std::move(rpc.handler));
    }
  }
  std::abort();  // the .proto file of the service has no such RPC
}

}  // namespace sextant::server
