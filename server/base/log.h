// The log: one JSON line on stderr for each call and each event outside calls.
#ifndef SEXTANT_SERVER_BASE_LOG_H_
#define SEXTANT_SERVER_BASE_LOG_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace sextant::server {

// One finished call as it is logged. Never holds the request's content.
struct CallRecord {
  std::chrono::system_clock::time_point time;  // when the answer was ready
  absl::string_view method;                    // "sextant.v1.PlanningService/PlanRun"
  absl::string_view protocol;                  // "grpc" or "connect"
  std::string peer;                            // as gRPC spells it: "ipv4:127.0.0.1:33056"
  std::string caller;                          // its name; empty where none is demanded
  absl::string_view code;                      // "OK", "INVALID_ARGUMENT", ...
  std::string reason;                          // ErrorInfo's; empty where the call went well
  double duration_seconds = 0;
  std::string trace_id;  // of the caller's traceparent; empty where it sent none
  size_t request_bytes = 0;
};

enum class CallLogLevel { kNone, kErrors, kAll };

// "info": as it should be; "warning": a call that was refused, or something to look at; "error": a
// defect, or something that needs a person.
enum class LogLevel { kInfo, kWarning, kError };

// Leaves out lines below `least` from here on: of calls and of events, of the whole process.
void SetLeastLogLevel(LogLevel least);
bool IsLogged(LogLevel level);

// "info", "warning" or "error", as each line has it.
const char* LogLevelName(LogLevel level);

// The level of a call that ended with `code`, "OK" or gRPC's name: an error where it is a defect of
// the server.
LogLevel LogLevelOfCall(absl::string_view code);

// `record` as a line of JSON, line end included. Empty texts are left out; bytes that are
// not UTF-8 are replaced.
std::string CallLogLine(const CallRecord& record);

// Returns true where `level` asks for the line of a call that ended well, or not.
bool IsLogged(CallLogLevel level, bool ended_well);

// Writes the line to stderr where its level is logged; see WriteLogLine().
void LogCall(const CallRecord& record);

// `time` in UTC as RFC 3339 has it, to the millisecond: "2026-11-20T21:47:05.123Z".
std::string TimeText(std::chrono::system_clock::time_point time);

// Writes `line` to stderr in one write, or drops it where stderr does not take it at once: a
// log collector that stalls must not stop the server.
void WriteLogLine(const std::string& line);

// How many lines WriteLogLine() has dropped since the program's start.
int64_t DroppedLogLineCount();

// {"time":"...","level":"...","event":"<event>", then `facts` in order}, line end included. Bytes
// that are not UTF-8 are replaced. A long fact is cut, and ends in "...": with up to five of them a
// line is short enough for WriteLogLine().
std::string EventLogLine(LogLevel level, absl::string_view event,
                         const std::vector<std::pair<std::string, std::string>>& facts);

// Writes the line to stderr where `level` is logged; see WriteLogLine().
void LogEvent(LogLevel level, absl::string_view event,
              const std::vector<std::pair<std::string, std::string>>& facts);

// `bytes` in valid UTF-8 on one line: U+FFFD in place of what is not UTF-8, a blank in place
// of control characters, none at either end.
std::string PrintableText(absl::string_view bytes);

// The trace id of a W3C traceparent header ("00-<32 hex>-<16 hex>-<2 hex>"), or empty where
// the header is not one or the id is all zeros.
// Source: W3C Trace Context, section 3.2.
std::string TraceIdOf(absl::string_view traceparent);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_BASE_LOG_H_
