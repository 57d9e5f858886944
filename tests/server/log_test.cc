// Lines of the log: of calls and of events.
#include "server/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/metrics/metrics.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

CallRecord Record() {
  CallRecord record;
  record.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'500));
  record.method = "sextant.v1.PlanningService/PlanRun";
  record.protocol = "grpc";
  record.peer = "ipv4:127.0.0.1:9";
  record.code = "OK";
  record.duration_seconds = 0.25;
  record.request_bytes = 66;
  return record;
}

TEST(CallLogLine, IsOneLineOfJson) {
  const std::string line = CallLogLine(Record());
  EXPECT_EQ(line,
            "{\"time\":\"1970-01-01T00:00:01.500Z\",\"level\":\"info\",\"method\":\"sextant.v1."
            "PlanningService/"
            "PlanRun\",\"protocol\":\"grpc\",\"peer\":\"ipv4:127.0.0.1:9\",\"code\":\"OK\","
            "\"duration_seconds\":0.25,"
            "\"request_bytes\":66}\n");
}

TEST(CallLogLine, CarriesReasonAndTraceWhereThereAreAny) {
  CallRecord record = Record();
  record.reason = "FIELD_INVALID";
  record.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const auto line = nlohmann::json::parse(CallLogLine(record));
  EXPECT_EQ(line["reason"], "FIELD_INVALID");
  EXPECT_EQ(line["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
}

// A caller's mistake is not a defect of the server.
TEST(CallLogLine, HasALevel) {
  const std::pair<const char*, const char*> levels[] = {{"OK", "info"},
                                                        {"INVALID_ARGUMENT", "warning"},
                                                        {"RESOURCE_EXHAUSTED", "warning"},
                                                        {"INTERNAL", "error"}};
  for (const auto& [code, level] : levels) {
    CallRecord record = Record();
    record.code = code;
    EXPECT_EQ(nlohmann::json::parse(CallLogLine(record))["level"], level) << code;
  }
}

TEST(CallLogLine, CannotBeBrokenByItsContent) {
  CallRecord record = Record();
  record.peer = "unix:/tmp/\"x\"\n\xff";
  const std::string line = CallLogLine(record);
  EXPECT_THAT(line.substr(0, line.size() - 1), Not(HasSubstr("\n")));
  EXPECT_TRUE(nlohmann::json::accept(line)) << line;
}

// They are shown on terminals, and hold names of files and callers.
TEST(LogLines, AreAsciiWhateverTheyHold) {
  const std::string bytes =
      "\x1b[31m\n\x7f\xc2\x9b"
      "caf\xc3\xa9 \xff";
  CallRecord record = Record();
  record.method = record.code = record.reason = bytes;
  record.peer = record.caller = bytes;
  for (const std::string& line :
       {CallLogLine(record), EventLogLine(LogLevel::kWarning, bytes, {{bytes, bytes}})}) {
    const auto is_shown = [](char c) { return c >= ' ' && c <= '~'; };
    EXPECT_TRUE(std::all_of(line.begin(), line.end() - 1, is_shown)) << line;
    EXPECT_EQ(line.back(), '\n');
    EXPECT_THAT(line, HasSubstr("\\u001b[31m\\n\\u007f\\u009bcaf\\u00e9 \\ufffd"));
  }
}

TEST(IsLogged, AsItsLevelAsks) {
  EXPECT_FALSE(IsLogged(CallLogLevel::kNone, false));
  EXPECT_FALSE(IsLogged(CallLogLevel::kErrors, true));
  EXPECT_TRUE(IsLogged(CallLogLevel::kErrors, false));
  EXPECT_TRUE(IsLogged(CallLogLevel::kAll, true));
}

// It is the whole process's, so that it is set back.
TEST(LeastLogLevel, LeavesOutWhatIsBelow) {
  const auto written = [] {
    ::testing::internal::CaptureStderr();
    LogEvent(LogLevel::kInfo, "started", {});
    LogEvent(LogLevel::kWarning, "odd", {});
    for (const auto& [method, code] :
         {std::pair("s/A", "OK"), std::pair("s/B", "NOT_FOUND"), std::pair("s/C", "INTERNAL")}) {
      CallRecord record = Record();
      record.method = method;
      record.code = code;
      LogCall(record);
    }
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(written(), AllOf(HasSubstr("started"), HasSubstr("odd"), HasSubstr("s/A"),
                               HasSubstr("s/B"), HasSubstr("s/C")));
  SetLeastLogLevel(LogLevel::kWarning);
  EXPECT_THAT(written(), AllOf(Not(HasSubstr("started")), HasSubstr("odd"), Not(HasSubstr("s/A")),
                               HasSubstr("s/B"), HasSubstr("s/C")));
  SetLeastLogLevel(LogLevel::kError);
  EXPECT_THAT(written(), AllOf(Not(HasSubstr("odd")), Not(HasSubstr("s/B")), HasSubstr("s/C")));
  SetLeastLogLevel(LogLevel::kInfo);
}

TEST(WriteLogLine, CountsWhatItDrops) {
  const int64_t before = DroppedLogLineCount();
  ::testing::internal::CaptureStderr();
  WriteLogLine("short\n");
  WriteLogLine(std::string(PIPE_BUF + 1, 'x'));  // could block on a pipe
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "short\n");
  EXPECT_EQ(DroppedLogLineCount(), before + 1);
  EXPECT_THAT(prometheus::TextSerializer().Serialize(LogMetrics().Collect()),
              HasSubstr("# TYPE sextant_log_lines_dropped_total counter\n"
                        "sextant_log_lines_dropped_total " +
                        std::to_string(before + 1) + "\n"));
}

constexpr char kId[] = "4bf92f3577b34da6a3ce929d0e0e4736";

std::string Header(const std::string& version, const std::string& id) {
  return version + "-" + id + "-00f067aa0ba902b7-01";
}

TEST(TraceIdOf, ReadsWellFormedHeadersAlone) {
  EXPECT_EQ(TraceIdOf(Header("00", kId)), kId);
  EXPECT_EQ(TraceIdOf(Header("01", kId) + "-more"), kId) << "a later version with more fields";
  for (const std::string& header :
       {std::string(), std::string("00"), Header("ff", kId), Header("00", kId) + "-more",
        Header("00", std::string(32, '0')), Header("00", std::string(32, 'G')),
        Header("00", std::string(31, 'a')), std::string(1 << 16, '0'),
        Header("01", kId) + "more"}) {
    EXPECT_EQ(TraceIdOf(header), "") << header.substr(0, 80);
  }
}

TEST(PrintableText, IsUtf8OnOneLine) {
  const struct {
    std::string bytes;
    std::string text;
  } cases[] = {
      {"", ""},
      {"plain \"quoted\" \\ text", "plain \"quoted\" \\ text"},
      {"\n two\r\nlines\t\n", "two  lines"},
      {"caf\xc3\xa9", "caf\xc3\xa9"},
      {"caf\xc3", "caf\xef\xbf\xbd"},
      {std::string("nul\0inside", 10), "nul inside"},
      {"\x1b[31mred", "[31mred"},
  };
  for (const auto& c : cases) EXPECT_EQ(PrintableText(c.bytes), c.text);
}

TEST(EventLogLine, IsOneLineOfJson) {
  const std::string line = EventLogLine(LogLevel::kWarning, "calibration_set_aside",
                                        {{"file", "a\nb\xff"}, {"reason", "\"why\""}});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto parsed = nlohmann::json::parse(line);
  EXPECT_EQ(parsed["level"], "warning");
  EXPECT_EQ(parsed["event"], "calibration_set_aside");
  EXPECT_EQ(parsed["file"], "a\nb\xef\xbf\xbd");
  EXPECT_EQ(parsed["reason"], "\"why\"");
  EXPECT_EQ(parsed["time"].get<std::string>().size(), 24u);
}

TEST(EventLogLine, FitsThePipeWhateverTheFacts) {
  const struct {
    const char* name;
    std::string content;
  } cases[] = {{"plain", "x"},        {"escaped", "\x01"}, {"two bytes", "\xc3\xa9"},
               {"not UTF-8", "\xff"}, {"quotes", "\"\\"},  {"cut character", "a\xc3\xa9"}};
  for (const auto& c : cases) {
    std::string fact;
    while (fact.size() < 100'000) fact += c.content;
    const std::string line =
        EventLogLine(LogLevel::kWarning, "calibration_set_aside",
                     {{"a", fact}, {"b", fact}, {"c", fact}, {"d", fact}, {"e", fact}});
    EXPECT_LE(line.size(), size_t{PIPE_BUF}) << c.name;
    const auto parsed = nlohmann::json::parse(line);
    for (const char* key : {"a", "b", "c", "d", "e"}) {
      const auto shown = parsed[key].get<std::string>();
      EXPECT_GE(shown.size(), 80u) << c.name;
      EXPECT_TRUE(absl::EndsWith(shown, "...")) << c.name;
    }
  }
}

}  // namespace
}  // namespace sextant::server
