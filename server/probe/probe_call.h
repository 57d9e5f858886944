// One RunProbe call: streams events to a client that may be slow or gone.
#ifndef SEXTANT_SERVER_PROBE_PROBE_CALL_H_
#define SEXTANT_SERVER_PROBE_PROBE_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "server/call/call.h"
#include "server/probe/probe_process.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant::server {

// Times of one call, by this host's clock.
struct CallTimes {
  std::chrono::system_clock::time_point start;
  std::chrono::system_clock::time_point deadline;  // the largest value: none
};

// Returns true where `call`'s deadline had passed at `now` for its caller, whose clock is a little
// ahead: gRPC sends the time left rounded up to three significant digits.
bool DeadlineHadPassed(const CallTimes& call, std::chrono::system_clock::time_point now);

// Thread-safe. Progress that the client has not taken yet is replaced by later progress; results
// are all kept. Deletes itself some time after End(), when the call is over.
class ProbeCall final : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  ProbeCall(Method& method, grpc::CallbackServerContext* context, size_t request_bytes);

  // Cancelled when the client leaves, its deadline passes, or the server drains.
  const std::shared_ptr<Cancellation>& cancellation() const { return cancellation_; }

  const absl::Status& admission() const { return call_.admission(); }

  void Send(const v1::RunProbeResponse& response);

  // Ends the call with `status` after all that was sent; counts and logs it. A call that is
  // cancelled since its deadline has passed counts as kDeadlineExceeded. Call it once; the object
  // may be gone when it returns.
  void End(const absl::Status& status);

  void OnWriteDone(bool ok) override;
  void OnCancel() override { cancellation_->Cancel(); }
  void OnDone() override { delete this; }

 private:
  struct Message {
    grpc::ByteBuffer bytes;
    bool is_progress = false;
  };
  // Starts the next write or the end, if any; `lock` holds mutex_.
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

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_PROBE_PROBE_CALL_H_
