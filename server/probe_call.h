// One RunProbe call: events on their way to a client that may be slow, or gone.
#ifndef SEXTANT_SERVER_PROBE_CALL_H_
#define SEXTANT_SERVER_PROBE_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <deque>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "server/call.h"
#include "server/call_deadline.h"
#include "server/cancellation.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

// Thread-safe. Of progress that the client has not taken yet, the latest alone is kept; results
// are all kept. Deletes itself when the call is over, which is some time after End().
class ProbeCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  ProbeCall(Method& method, grpc::CallbackServerContext* context, size_t request_bytes);

  // Cancelled when the client leaves, its deadline passes, or the server drains.
  const std::shared_ptr<Cancellation>& cancellation() const { return cancellation_; }

  void Send(const v1::RunProbeResponse& response);

  // Ends the call with `status` after all that was sent; counts and logs it, as
  // kDeadlineExceeded where it is cancelled since its deadline has passed. Once; the object may
  // be gone when this returns.
  void End(const absl::Status& status);

  void OnWriteDone(bool ok) override;
  void OnCancel() override { cancellation_->Cancel(); }
  void OnDone() override { delete this; }

 private:
  struct Message {
    grpc::ByteBuffer bytes;
    bool is_progress = false;
  };
  // Starts what comes next, if anything; `lock` holds mutex_.
  void Next(std::unique_lock<std::mutex> lock);

  Call call_;
  const CallTimes times_;
  const std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
  std::mutex mutex_;
  std::deque<Message> waiting_;
  grpc::ByteBuffer writing_bytes_;
  bool writing_ = false;
  absl::optional<absl::Status> end_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_PROBE_CALL_H_
