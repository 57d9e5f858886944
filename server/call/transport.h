// A call as its transport has it: the request, the way for the answer, the end.
#ifndef SEXTANT_SERVER_CALL_TRANSPORT_H_
#define SEXTANT_SERVER_CALL_TRANSPORT_H_

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/call/call_context.h"
#include "server/metrics/metrics.h"

namespace sextant::server {

// Messages are protobuf's bytes, in gRPC's buffers, which are shared without a copy.
class Transport : public CallContext {
 public:
  virtual Protocol protocol() const = 0;
  virtual const grpc::ByteBuffer& request() const = 0;

  // Why the request is not the caller's, where it could not be read: a call that its caller may
  // make ends with that.
  virtual absl::Status fault() const { return absl::OkStatus(); }

  // Ends the call, on any thread, once. `trace_id` is the caller's, read where `status` is an
  // error. This object may be gone when it returns.
  virtual void End(const absl::Status& status, absl::string_view trace_id) = 0;
};

class UnaryTransport : public Transport {
 public:
  // The place of the answer, sent at an End() with OK.
  virtual grpc::ByteBuffer* response() = 0;
};

// Holds the call's StreamCall to the end, and tells it what happens, never from within a call of
// its own.
class StreamTransport : public Transport {
 public:
  // Sends `bytes`, which stay until StreamCall::OnWriteDone(). One at a time.
  virtual void Write(const grpc::ByteBuffer* bytes) = 0;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_TRANSPORT_H_
