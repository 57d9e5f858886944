// One JSON line a call on stderr.
#ifndef SEXTANT_SERVER_CALL_LOG_H_
#define SEXTANT_SERVER_CALL_LOG_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// What is known of a finished call. Never the request's content.
struct CallRecord {
  std::chrono::system_clock::time_point time;  // when the answer was ready
  absl::string_view method;                    // "sextant.v1.PlanningService/PlanRun"
  std::string peer;                            // as gRPC spells it: "ipv4:127.0.0.1:33056"
  absl::string_view code;                      // "OK", "INVALID_ARGUMENT", ...
  std::string reason;                          // ErrorInfo's; empty where the call went well
  double duration_seconds = 0;
  std::string trace_id;  // of the caller's traceparent; empty where it sent none
  size_t request_bytes = 0;
};

enum class CallLogLevel { kNone, kErrors, kAll };

// `record` as a line of JSON, line end included. Empty texts are left out; bytes that are
// not UTF-8 are replaced.
std::string CallLogLine(const CallRecord& record);

// Writes the line to stderr where `level` asks for it; see WriteLogLine().
void LogCall(CallLogLevel level, const CallRecord& record);

// `time` in UTC as RFC 3339 has it, to the millisecond: "2026-11-20T21:47:05.123Z".
std::string TimeText(std::chrono::system_clock::time_point time);

// Writes `line` to stderr in one write, or drops it where stderr does not take it at once: a
// log collector that stalls must not stop the server.
void WriteLogLine(const std::string& line);

// How many lines WriteLogLine() has dropped since the program's start.
int64_t DroppedLogLineCount();

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALL_LOG_H_
