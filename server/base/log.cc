#include "server/base/log.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/time/time.h"
#include "engine/base/text.h"

namespace sextant::server {
namespace {

std::atomic<int64_t> dropped_line_count{0};
std::atomic<LogLevel> least_log_level{LogLevel::kInfo};

bool TryToWrite(const std::string& line) {
  // A pipe that polls writable takes PIPE_BUF bytes without blocking. One thread at a time: two
  // threads could both see room that suffices for one. (O_NONBLOCK would also do, but stderr is
  // shared with the process that started this one.)
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  pollfd stderr_poll = {.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (line.size() > PIPE_BUF || poll(&stderr_poll, 1, 0) != 1 ||
      (stderr_poll.revents & POLLOUT) == 0) {
    return false;
  }
  return write(STDERR_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

using Json = nlohmann::ordered_json;

// Five facts, and the rest of a line, are within the PIPE_BUF bytes of WriteLogLine().
constexpr size_t kMaxFactBytes = 640;

// ASCII, with U+FFFD in place of what is not UTF-8.
std::string JsonText(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

// At most kMaxFactBytes as JSON, where a byte may take six.
Json Fact(const std::string& value) {
  Json fact = value;
  for (size_t most = kMaxFactBytes; JsonText(fact).size() > kMaxFactBytes; most /= 2) {
    fact = Clip(value, most);
  }
  return fact;
}

constexpr size_t kTraceparentBytes = 55;
constexpr size_t kTraceIdStart = 3;
constexpr size_t kTraceIdBytes = 32;

bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool IsTraceparent(absl::string_view header) {
  if (header.size() < kTraceparentBytes) return false;
  for (size_t i = 0; i < kTraceparentBytes; ++i) {
    const bool dash = i == 2 || i == 35 || i == 52;
    if (dash ? header[i] != '-' : !IsLowerHex(header[i])) return false;
  }
  // Later versions may append fields; version ff is not one.
  return header.substr(0, 2) != "ff" &&
         (header.size() == kTraceparentBytes ||
          (header.substr(0, 2) != "00" && header[kTraceparentBytes] == '-'));
}

}  // namespace

std::string TimeText(std::chrono::system_clock::time_point time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::FromChrono(time), absl::UTCTimeZone());
}

void SetLeastLogLevel(LogLevel least) { least_log_level = least; }

bool IsLogged(LogLevel level) { return level >= least_log_level; }

const char* LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      break;
  }
  return "error";
}

LogLevel LogLevelOfCall(absl::string_view code) {
  if (code == "OK") return LogLevel::kInfo;
  const bool is_defect = code == "INTERNAL" || code == "UNKNOWN" || code == "DATA_LOSS";
  return is_defect ? LogLevel::kError : LogLevel::kWarning;
}

std::string CallLogLine(const CallRecord& record) {
  Json line;
  line["time"] = TimeText(record.time);
  line["level"] = LogLevelName(LogLevelOfCall(record.code));
  line["method"] = std::string(record.method);
  line["protocol"] = std::string(record.protocol);
  line["peer"] = record.peer;
  if (!record.caller.empty()) line["caller"] = record.caller;
  line["code"] = std::string(record.code);
  if (!record.reason.empty()) line["reason"] = record.reason;
  line["duration_seconds"] = record.duration_seconds;
  if (!record.trace_id.empty()) line["trace_id"] = record.trace_id;
  line["request_bytes"] = record.request_bytes;
  return JsonText(line) + "\n";
}

bool IsLogged(CallLogLevel level, bool ended_well) {
  return level == CallLogLevel::kAll || (level == CallLogLevel::kErrors && !ended_well);
}

void LogCall(const CallRecord& record) {
  if (IsLogged(LogLevelOfCall(record.code))) WriteLogLine(CallLogLine(record));
}

void WriteLogLine(const std::string& line) {
  if (!TryToWrite(line)) ++dropped_line_count;
}

int64_t DroppedLogLineCount() { return dropped_line_count; }

std::string EventLogLine(LogLevel level, absl::string_view event,
                         const std::vector<std::pair<std::string, std::string>>& facts) {
  Json line;
  line["time"] = TimeText(std::chrono::system_clock::now());
  line["level"] = LogLevelName(level);
  line["event"] = std::string(event);
  for (const auto& [key, value] : facts) line[key] = Fact(value);
  return JsonText(line) + "\n";
}

void LogEvent(LogLevel level, absl::string_view event,
              const std::vector<std::pair<std::string, std::string>>& facts) {
  if (IsLogged(level)) WriteLogLine(EventLogLine(level, event, facts));
}

std::string PrintableText(absl::string_view bytes) {
  auto text = Json::parse(JsonText(std::string(bytes))).get<std::string>();
  for (char& c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  absl::StripAsciiWhitespace(&text);
  return text;
}

std::string TraceIdOf(absl::string_view traceparent) {
  if (!IsTraceparent(traceparent)) return "";
  const absl::string_view id = traceparent.substr(kTraceIdStart, kTraceIdBytes);
  const bool zeros = std::all_of(id.begin(), id.end(), [](char c) { return c == '0'; });
  return zeros ? "" : std::string(id);
}

}  // namespace sextant::server
