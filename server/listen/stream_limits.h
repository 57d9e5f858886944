// How many streams callers may have open, and have given up of late: each connection, each host,
// and all.
#ifndef SEXTANT_SERVER_LISTEN_STREAM_LIMITS_H_
#define SEXTANT_SERVER_LISTEN_STREAM_LIMITS_H_

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

// The nine bytes before each payload; RFC 9113, section 4.1.
struct Http2Frame {
  // Section 6.
  enum Type : uint8_t {
    kData = 0,
    kHeaders = 1,
    kResetStream = 3,
    kSettings = 4,
    kWindowUpdate = 8,
    kContinuation = 9
  };
  static constexpr uint8_t kEndStream = 0x1;  // of kData and kHeaders
  static constexpr uint8_t kAck = 0x1;        // of kSettings

  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
  uint32_t payload_bytes = 0;
};

// Bytes before a client's first frame; section 3.4.
inline constexpr size_t kHttp2PrefaceBytes = 24;

// One direction of a connection. What is no HTTP/2 gives frames without a meaning.
class Http2Frames {
 public:
  static constexpr size_t kHeadBytes = 9;

  // The first `skipped_bytes` belong to no frame.
  explicit Http2Frames(size_t skipped_bytes) : skip_(skipped_bytes) {}

  // Calls `take` with each frame whose head ends in `bytes`, the next ones of the connection.
  void Read(absl::string_view bytes, absl::FunctionRef<void(const Http2Frame&)> take);

 private:
  size_t skip_;
  std::array<char, kHeadBytes> head_ = {};
  size_t read_of_head_ = 0;
};

class StreamLimits;

// Why a connection is closed, or not taken.
enum class Excess {
  kNone,
  kStreams,     // open ones of the connection
  kHeaders,     // bytes of one block of headers
  kIdleFrames,  // frames that carry nothing
  kResets,      // streams that the caller gave up at once
  kHostStreams,
  kHostConnections,
  kAllStreams,  // of all callers; this connection has the most
  kMemory,      // of the process; this connection has the most streams
};
inline constexpr size_t kExcessCount = 9;

// "connection_streams", ...: as metrics and the log have it.
const char* ExcessName(Excess excess);

using StreamClock = std::chrono::steady_clock;

// The open streams of one connection, by the frames that pass. Thread-safe; one thread at a time
// reads from a connection, and one writes to it.
class ConnectionStreams : public std::enable_shared_from_this<ConnectionStreams> {
 public:
  struct Host;

  ConnectionStreams(std::shared_ptr<StreamLimits> limits, std::shared_ptr<Host> host);
  // The streams that are still open count as given up.
  ~ConnectionStreams();
  ConnectionStreams(const ConnectionStreams&) = delete;
  ConnectionStreams& operator=(const ConnectionStreams&) = delete;

  // Counts `bytes`, the next ones of the caller. False from an excess on, which has closed the
  // connection.
  bool Received(absl::string_view bytes);
  // Counts `bytes`, the next ones of the server.
  void Sent(absl::string_view bytes);

  size_t open_count() const { return open_count_; }

  // Sets what closes the connection. Before the first byte passes.
  void OnClose(std::function<void()> close) { close_ = std::move(close); }

  // Closes the connection, and gives up its streams. Later calls do nothing.
  void Close(Excess excess);

 private:
  struct Stream {
    uint32_t id;
    StreamClock::time_point since;
  };

  // Under the lock, as all below.
  Excess Take(const Http2Frame& frame, StreamClock::time_point now);
  Excess TakeHeaders(const Http2Frame& frame, StreamClock::time_point now);
  Excess TakeReset(uint32_t stream, StreamClock::time_point now);
  Excess TakeIdle(StreamClock::time_point now);
  bool End(uint32_t stream, Stream* ended);
  void GiveUpAll(StreamClock::time_point now);

  const std::shared_ptr<StreamLimits> limits_;
  const std::shared_ptr<Host> host_;
  const StreamClock::time_point start_;
  std::function<void()> close_ = [] {};
  std::mutex mutex_;
  Http2Frames received_{kHttp2PrefaceBytes};
  Http2Frames sent_{0};
  bool closed_ = false;
  std::vector<Stream> open_;  // by id, as they were opened
  std::atomic<size_t> open_count_{0};
  uint32_t newest_ = 0;  // stream
  bool acknowledged_ = false;
  size_t header_bytes_ = 0;  // of the block that is under way
  int64_t opened_ = 0;
  int64_t ended_ = 0;
  int64_t reset_early_ = 0;
  int64_t idle_frames_ = 0;
};

struct StreamLimitOptions {
  size_t most_of_host = 4096;
  size_t most_of_all = 16'384;
  size_t most_connections_of_host = 5000;
  std::function<StreamClock::time_point()> now = StreamClock::now;
};

// All connections of a server. gRPC 1.51 holds 12 to 19 KB for each stream, and its own limit of
// the streams of a connection only for a caller that has acknowledged it. Thread-safe.
class StreamLimits final : public prometheus::Collectable,
                           public std::enable_shared_from_this<StreamLimits> {
 public:
  explicit StreamLimits(StreamLimitOptions options) : options_(std::move(options)) {}

  // A connection from `host` that has been accepted; null where it is to be closed at once.
  std::shared_ptr<ConnectionStreams> Connect(const std::string& host);

  // Closes the connection with the most open streams; false where none has any.
  bool CloseLargest(Excess excess);

  size_t open_count() const { return open_count_; }

  // sextant_grpc_streams_open, sextant_connections_closed_total by reason.
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  friend class ConnectionStreams;

  // Counts the close, and logs at most one a second.
  void Closed(Excess excess, const std::string& host);
  void ForgetIdleHosts(StreamClock::time_point now);

  const StreamLimitOptions options_;
  std::atomic<size_t> open_count_{0};
  std::array<std::atomic<int64_t>, kExcessCount> closed_ = {};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<ConnectionStreams::Host>> hosts_;
  size_t hosts_to_look_at_ = 1024;  // how many make it worth to look for idle ones
  std::set<ConnectionStreams*> connections_;
  StreamClock::time_point next_line_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_STREAM_LIMITS_H_
