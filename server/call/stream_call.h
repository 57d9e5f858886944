// One call whose answer is a stream of messages, to a client that may be slow or gone.
#ifndef SEXTANT_SERVER_CALL_STREAM_CALL_H_
#define SEXTANT_SERVER_CALL_STREAM_CALL_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <deque>
#include <functional>
#include <mutex>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "server/call/call.h"

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
// are all kept. Its transport holds it some time after End(), until the call is over.
class StreamCall {
 public:
  // `cancelled` is called, at any time until End(), maybe twice, once nobody waits for the answer:
  // the client leaves, its deadline passes, or the server drains.
  StreamCall(Method& method, StreamTransport& transport, std::function<void()> cancelled);
  StreamCall(const StreamCall&) = delete;
  StreamCall& operator=(const StreamCall&) = delete;

  const Call& call() const { return call_; }
  // OK if its caller may make it.
  const absl::Status& admission() const { return call_.admission(); }
  const grpc::ByteBuffer& request() const { return transport_.request(); }

  // Calls `then` once, where decoding the request and what follows may run: here, or for a large
  // one on a worker. Where there is none, or the call has ended meanwhile, ends the call.
  void WhenReadable(std::function<void()> then);

  // Errors: Encode()'s, and UnreadAnswers::Hold()'s of a result, with nothing sent.
  absl::Status Send(const google::protobuf::Message& content, bool is_progress);

  // Ends the call with `status` after all that was sent; counts and logs it. A call that is
  // cancelled since its deadline has passed counts as kDeadlineExceeded. Call it once; the object
  // may be gone when it returns.
  void End(const absl::Status& status);

  // By the transport: the write is over, which failed unless `ok`; nobody waits for the answer.
  void OnWriteDone(bool ok);
  void OnCancel() { cancelled_(); }

 private:
  struct Message {
    grpc::ByteBuffer bytes;
    bool is_progress = false;
  };
  // Starts the next write or the end, if any; `lock` holds mutex_.
  void Next(std::unique_lock<std::mutex> lock);

  Call call_;
  UnreadAnswers* const unread_;
  WorkerPool* const large_calls_;
  StreamTransport& transport_;
  const CallTimes times_;
  const std::function<void()> cancelled_;
  std::mutex mutex_;
  std::deque<Message> waiting_;
  grpc::ByteBuffer writing_bytes_;
  bool writing_ = false;
  absl::optional<absl::Status> end_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_STREAM_CALL_H_
