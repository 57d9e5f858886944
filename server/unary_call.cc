#include "server/unary_call.h"

namespace sextant {

UnaryCall::UnaryCall(Method& method, grpc::CallbackServerContext* context,
                     const grpc::ByteBuffer* request, grpc::ByteBuffer* response)
    : call_(method, *context, request->Length()),
      request_(request),
      response_(response),
      reactor_(context->DefaultReactor()) {}

void UnaryCall::Finish(const absl::Status& status) {
  const grpc::Status wire = call_.Count(status);
  reactor_->Finish(wire);
  call_.Log();
}

}  // namespace sextant
