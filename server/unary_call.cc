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
  // Before the end: the server may shut down, and the method be gone, as soon as it is known.
  call_.Log();
  reactor_->Finish(wire);
}

}  // namespace sextant
