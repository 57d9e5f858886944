#include "server/call_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <prometheus/text_serializer.h>

#include <nlohmann/json.hpp>
#include <string>

#include "server/log_metrics.h"

namespace sextant {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

CallRecord Record() {
  CallRecord record;
  record.time = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'500));
  record.method = "sextant.v1.PlanningService/PlanRun";
  record.peer = "ipv4:127.0.0.1:9";
  record.code = "OK";
  record.duration_seconds = 0.25;
  record.request_bytes = 66;
  return record;
}

TEST(CallLogLine, IsOneLineOfJson) {
  const std::string line = CallLogLine(Record());
  EXPECT_EQ(line,
            "{\"time\":\"1970-01-01T00:00:01.500Z\",\"method\":\"sextant.v1.PlanningService/"
            "PlanRun\",\"peer\":\"ipv4:127.0.0.1:9\",\"code\":\"OK\",\"duration_seconds\":0.25,"
            "\"request_bytes\":66}\n");
}

TEST(CallLogLine, CarriesReasonAndTraceWhereThereAreAny) {
  CallRecord record = Record();
  record.reason = "FIELD_INVALID";
  record.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const auto json = nlohmann::json::parse(CallLogLine(record));
  EXPECT_EQ(json["reason"], "FIELD_INVALID");
  EXPECT_EQ(json["trace_id"], "4bf92f3577b34da6a3ce929d0e0e4736");
}

TEST(CallLogLine, CannotBeBrokenByItsContent) {
  CallRecord record = Record();
  record.peer = "unix:/tmp/\"x\"\n\xff";
  const std::string line = CallLogLine(record);
  EXPECT_THAT(line.substr(0, line.size() - 1), Not(HasSubstr("\n")));
  EXPECT_TRUE(nlohmann::json::accept(line)) << line;
}

TEST(LogCall, WritesWhatItsLevelAsksFor) {
  CallRecord failed = Record();
  failed.code = "NOT_FOUND";
  ::testing::internal::CaptureStderr();
  LogCall(CallLogLevel::kNone, failed);
  LogCall(CallLogLevel::kErrors, Record());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  LogCall(CallLogLevel::kErrors, failed);
  LogCall(CallLogLevel::kAll, Record());
  const std::string lines = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(lines, HasSubstr("NOT_FOUND"));
  EXPECT_THAT(lines, HasSubstr("\"OK\""));
  EXPECT_THAT(lines, EndsWith("}\n"));
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

}  // namespace
}  // namespace sextant
