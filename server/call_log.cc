#include "server/call_log.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>

#include "absl/time/time.h"

namespace sextant {
namespace {

std::atomic<int64_t> dropped_line_count{0};

bool TryToWrite(const std::string& line) {
  // A pipe that polls writable takes PIPE_BUF bytes without blocking. One thread at a time:
  // two could both see the room that only one of them gets. (O_NONBLOCK would do too, but
  // stderr is shared with whoever started us.)
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  pollfd stderr_poll = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (line.size() > PIPE_BUF || poll(&stderr_poll, 1, 0) != 1 ||
      (stderr_poll.revents & POLLOUT) == 0) {
    return false;
  }
  return write(STDERR_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

}  // namespace

std::string TimeText(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

std::string CallLogLine(const CallRecord& record) {
  nlohmann::ordered_json line;
  line["time"] = TimeText(record.time);
  line["method"] = std::string(record.method);
  line["peer"] = record.peer;
  line["code"] = std::string(record.code);
  if (!record.reason.empty()) line["reason"] = record.reason;
  line["duration_seconds"] = record.duration_seconds;
  if (!record.trace_id.empty()) line["trace_id"] = record.trace_id;
  line["request_bytes"] = record.request_bytes;
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void LogCall(CallLogLevel level, const CallRecord& record) {
  if (level == CallLogLevel::kNone) return;
  if (level == CallLogLevel::kErrors && record.code == "OK") return;
  WriteLogLine(CallLogLine(record));
}

void WriteLogLine(const std::string& line) {
  if (!TryToWrite(line)) ++dropped_line_count;
}

int64_t DroppedLogLineCount() { return dropped_line_count; }

}  // namespace sextant
