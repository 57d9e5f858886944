#include "server/unary_call.h"

namespace sextant {

UnaryCall::UnaryCall(Method& method, grpc::CallbackServerContext* context, size_t request_bytes)
    : call_(method, *context, request_bytes), reactor_(context->DefaultReactor()) {}

void UnaryCall::Finish(const absl::Status& status) {
  const grpc::Status wire = call_.Count(status);
  reactor_->Finish(wire);
  call_.Log();
}

}  // namespace sextant
