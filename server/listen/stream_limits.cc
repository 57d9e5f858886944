#include "server/listen/stream_limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/log.h"

namespace sextant::server {
namespace {

// The number in `count` bytes, the first of which counts most.
uint32_t BigEndian(const char* bytes, size_t count) {
  uint32_t out = 0;
  for (size_t i = 0; i < count; ++i) out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return out;
}

using std::chrono::seconds;

// As many as the server's settings allow. Later gRPC itself holds the caller to them, by a count
// that differs from ours while frames are on their way.
constexpr size_t kMaxUnacknowledgedStreams = 256;
constexpr size_t kMaxOpenStreams = 512;

// gRPC refuses a call with 8 KiB of headers by itself, and says so.
constexpr size_t kMaxHeaderBytes = 65'536;

// Envoy's overload.premature_reset_total_stream_count and premature_reset_min_stream_lifetime.
constexpr int64_t kResetsWithoutConcern = 500;
constexpr seconds kEarly(1);

// Pings, settings and the like: a client that measures its bandwidth sends one a round trip.
constexpr int64_t kIdleFramesAtOnce = 1000;
constexpr int64_t kIdleFramesPerStream = 10;
constexpr int64_t kIdleFramesPerSecond = 100;

// gRPC takes a tenth of a millisecond to free a stream that was given up.
constexpr int64_t kRecentSeconds = 5;

int64_t SecondsOf(StreamClock::time_point time) {
  return std::chrono::duration_cast<seconds>(time.time_since_epoch()).count();
}

}  // namespace

void Http2Frames::Read(absl::string_view bytes, absl::FunctionRef<void(const Http2Frame&)> take) {
  while (true) {
    const size_t skipped = std::min(skip_, bytes.size());
    skip_ -= skipped;
    bytes.remove_prefix(skipped);
    const size_t read = std::min(kHeadBytes - read_of_head_, bytes.size());
    std::copy_n(bytes.begin(), read, head_.begin() + read_of_head_);
    read_of_head_ += read;
    bytes.remove_prefix(read);
    if (read_of_head_ < kHeadBytes) return;
    const Http2Frame frame = {.type = static_cast<uint8_t>(head_[3]),
                              .flags = static_cast<uint8_t>(head_[4]),
                              // The first bit is reserved.
                              .stream = BigEndian(&head_[5], 4) & 0x7fff'ffff,
                              .payload_bytes = BigEndian(&head_[0], 3)};
    skip_ = frame.payload_bytes;
    read_of_head_ = 0;
    take(frame);
  }
}

const char* ExcessName(Excess excess) {
  constexpr std::array<const char*, kExcessCount> kNames = {
      "none",         "connection_streams", "header_bytes", "idle_frames", "resets",
      "host_streams", "host_connections",   "all_streams",  "memory"};
  return kNames[static_cast<size_t>(excess)];
}

// The streams of all connections of a host.
struct ConnectionStreams::Host {
  explicit Host(std::string host_name) : name(std::move(host_name)) {}

  bool Open(size_t most, StreamClock::time_point now) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (Load(now) >= most) return false;
    ++open;
    return true;
  }
  void End() {
    const std::lock_guard<std::mutex> lock(mutex);
    --open;
  }
  void GiveUp(size_t count, StreamClock::time_point now) {
    const std::lock_guard<std::mutex> lock(mutex);
    Load(now);
    open -= count;
    given_up[static_cast<size_t>(second % kRecentSeconds)] += count;
  }
  bool IsFull(size_t most, StreamClock::time_point now) {
    const std::lock_guard<std::mutex> lock(mutex);
    return Load(now) >= most;
  }

  const std::string name;
  size_t connections = 0;  // under the lock of StreamLimits

  // Open, or given up in the last seconds. Under the lock.
  size_t Load(StreamClock::time_point now) {
    const int64_t current = SecondsOf(now);
    for (int64_t each = std::max(second + 1, current - kRecentSeconds + 1); each <= current;
         ++each) {
      given_up[static_cast<size_t>(each % kRecentSeconds)] = 0;
    }
    second = std::max(second, current);
    size_t out = open;
    for (const size_t count : given_up) out += count;
    return out;
  }

  std::mutex mutex;  // of what follows
  size_t open = 0;
  std::array<size_t, kRecentSeconds> given_up = {};  // in each second, modulo their number
  int64_t second = 0;                                // the newest of them
};

ConnectionStreams::ConnectionStreams(std::shared_ptr<StreamLimits> limits,
                                     std::shared_ptr<Host> host)
    : limits_(std::move(limits)), host_(std::move(host)), start_(limits_->options_.now()) {}

ConnectionStreams::~ConnectionStreams() {
  GiveUpAll(limits_->options_.now());
  const std::lock_guard<std::mutex> lock(limits_->mutex_);
  limits_->connections_.erase(this);
  --host_->connections;
}

bool ConnectionStreams::Received(absl::string_view bytes) {
  const StreamClock::time_point now = limits_->options_.now();
  Excess excess = Excess::kNone;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return false;
    received_.Read(bytes, [&](const Http2Frame& frame) {
      if (excess == Excess::kNone) excess = Take(frame, now);
    });
  }
  if (excess != Excess::kNone) Close(excess);
  if (limits_->open_count() > limits_->options_.most_of_all) {
    limits_->CloseLargest(Excess::kAllStreams);
  }
  return excess == Excess::kNone;
}

Excess ConnectionStreams::Take(const Http2Frame& frame, StreamClock::time_point now) {
  switch (frame.type) {
    case Http2Frame::kHeaders:
      return TakeHeaders(frame, now);
    case Http2Frame::kContinuation:
      header_bytes_ += Http2Frames::kHeadBytes + frame.payload_bytes;
      return header_bytes_ > kMaxHeaderBytes ? Excess::kHeaders : Excess::kNone;
    case Http2Frame::kResetStream:
      return TakeReset(frame.stream, now);
    case Http2Frame::kWindowUpdate:
      return Excess::kNone;
    case Http2Frame::kData:
      return frame.payload_bytes > 0 || (frame.flags & Http2Frame::kEndStream) != 0 ? Excess::kNone
                                                                                    : TakeIdle(now);
    case Http2Frame::kSettings:
      if ((frame.flags & Http2Frame::kAck) != 0) acknowledged_ = true;
      return TakeIdle(now);
    default:
      return TakeIdle(now);
  }
}

Excess ConnectionStreams::TakeHeaders(const Http2Frame& frame, StreamClock::time_point now) {
  header_bytes_ = frame.payload_bytes;
  if (header_bytes_ > kMaxHeaderBytes) return Excess::kHeaders;
  if (frame.stream <= newest_) return TakeIdle(now);  // trailers, which no call of gRPC has
  if (open_.size() >= (acknowledged_ ? kMaxOpenStreams : kMaxUnacknowledgedStreams))
    return Excess::kStreams;
  if (!host_->Open(limits_->options_.most_of_host, now)) return Excess::kHostStreams;
  newest_ = frame.stream;
  ++opened_;
  open_.push_back({newest_, now});
  open_count_ = open_.size();
  ++limits_->open_count_;
  return Excess::kNone;
}

Excess ConnectionStreams::TakeReset(uint32_t stream, StreamClock::time_point now) {
  Stream ended;
  if (!End(stream, &ended)) return TakeIdle(now);
  host_->GiveUp(1, now);
  if (now - ended.since < kEarly) ++reset_early_;
  return reset_early_ > kResetsWithoutConcern && 2 * reset_early_ > ended_ ? Excess::kResets
                                                                           : Excess::kNone;
}

Excess ConnectionStreams::TakeIdle(StreamClock::time_point now) {
  const int64_t most = kIdleFramesAtOnce + kIdleFramesPerStream * opened_ +
                       kIdleFramesPerSecond * (SecondsOf(now) - SecondsOf(start_));
  return ++idle_frames_ > most ? Excess::kIdleFrames : Excess::kNone;
}

bool ConnectionStreams::End(uint32_t stream, Stream* ended) {
  const auto found =
      std::lower_bound(open_.begin(), open_.end(), stream,
                       [](const Stream& each, uint32_t wanted) { return each.id < wanted; });
  if (found == open_.end() || found->id != stream) return false;
  *ended = *found;
  open_.erase(found);
  open_count_ = open_.size();
  --limits_->open_count_;
  ++ended_;
  return true;
}

void ConnectionStreams::Sent(absl::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sent_.Read(bytes, [this](const Http2Frame& frame) {
    const bool ends = frame.type == Http2Frame::kResetStream ||
                      ((frame.type == Http2Frame::kData || frame.type == Http2Frame::kHeaders) &&
                       (frame.flags & Http2Frame::kEndStream) != 0);
    Stream ended;
    if (ends && End(frame.stream, &ended)) host_->End();
  });
}

void ConnectionStreams::GiveUpAll(StreamClock::time_point now) {
  if (open_.empty()) return;
  host_->GiveUp(open_.size(), now);
  limits_->open_count_ -= open_.size();
  open_.clear();
  open_count_ = 0;
}

void ConnectionStreams::Close(Excess excess) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return;
    closed_ = true;
    GiveUpAll(limits_->options_.now());
  }
  limits_->Closed(excess, host_->name);
  close_();
}

std::shared_ptr<ConnectionStreams> StreamLimits::Connect(const std::string& host) {
  const StreamClock::time_point now = options_.now();
  std::shared_ptr<ConnectionStreams> out;
  Excess excess = Excess::kNone;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ForgetIdleHosts(now);
    std::shared_ptr<ConnectionStreams::Host>& of_host = hosts_[host];
    if (of_host == nullptr) of_host = std::make_shared<ConnectionStreams::Host>(host);
    if (of_host->connections >= options_.most_connections_of_host) {
      excess = Excess::kHostConnections;
    } else if (of_host->IsFull(options_.most_of_host, now)) {
      excess = Excess::kHostStreams;
    } else {
      out = std::make_shared<ConnectionStreams>(shared_from_this(), of_host);
      ++of_host->connections;
      connections_.insert(out.get());
    }
  }
  if (out == nullptr) Closed(excess, host);
  return out;
}

void StreamLimits::ForgetIdleHosts(StreamClock::time_point now) {
  if (hosts_.size() < hosts_to_look_at_) return;
  for (auto each = hosts_.begin(); each != hosts_.end();) {
    const bool is_idle = each->second->connections == 0 && !each->second->IsFull(1, now);
    each = is_idle ? hosts_.erase(each) : std::next(each);
  }
  hosts_to_look_at_ = std::max<size_t>(1024, 2 * hosts_.size());
}

bool StreamLimits::CloseLargest(Excess excess) {
  std::shared_ptr<ConnectionStreams> largest;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::max_element(
        connections_.begin(), connections_.end(),
        [](const auto* a, const auto* b) { return a->open_count() < b->open_count(); });
    if (found == connections_.end() || (*found)->open_count() == 0) return false;
    largest = (*found)->weak_from_this().lock();
  }
  if (largest != nullptr) largest->Close(excess);
  return largest != nullptr;
}

void StreamLimits::Closed(Excess excess, const std::string& host) {
  const StreamClock::time_point now = options_.now();
  ++closed_[static_cast<size_t>(excess)];
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (now < next_line_) return;
    next_line_ = now + seconds(1);
  }
  LogEvent(LogLevel::kWarning, "connection_closed",
           {{"reason", ExcessName(excess)}, {"host", host}});
}

std::vector<prometheus::MetricFamily> StreamLimits::Collect() const {
  prometheus::MetricFamily open = {.name = "sextant_grpc_streams_open",
                                   .help = "Streams that callers have open, of all connections.",
                                   .type = prometheus::MetricType::Gauge,
                                   .metric = {}};
  open.metric.emplace_back().gauge.value = static_cast<double>(open_count());
  prometheus::MetricFamily closed = {
      .name = "sextant_connections_closed_total",
      .help = "Connections that were closed, or not taken, since they went beyond a limit.",
      .type = prometheus::MetricType::Counter,
      .metric = {}};
  for (size_t i = 1; i < kExcessCount; ++i) {
    if (closed_[i] == 0) continue;
    prometheus::ClientMetric& metric = closed.metric.emplace_back();
    metric.label = {{"reason", ExcessName(static_cast<Excess>(i))}};
    metric.counter.value = static_cast<double>(closed_[i]);
  }
  return {std::move(open), std::move(closed)};
}

}  // namespace sextant::server
