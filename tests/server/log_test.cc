// How calls end, and what the log says of them.
#include "server/base/log.h"

#include <gmock/gmock.h>
#include <grpcpp/support/error_details.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <prometheus/text_serializer.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/call/status.h"
#include "server/call/stream_call.h"
#include "server/metrics/metrics.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
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
            "{\"time\":\"1970-01-01T00:00:01.500Z\",\"level\":\"info\",\"method\":\"sextant.v1."
            "PlanningService/"
            "PlanRun\",\"peer\":\"ipv4:127.0.0.1:9\",\"code\":\"OK\",\"duration_seconds\":0.25,"
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

TEST(ToGrpcStatus, OfOkIsOk) { EXPECT_TRUE(ToGrpcStatus(absl::OkStatus(), "").ok()); }

TEST(ToGrpcStatus, CarriesReasonDomainFactsAndTrace) {
  const absl::Status unknown = WithReason(absl::NotFoundError("no such GPU"), "GPU_UNKNOWN");
  const grpc::Status status = ToGrpcStatus(WithMetadata(unknown, "fault", "absent"), "abc");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no such GPU");
  google::rpc::Status wire;
  ASSERT_TRUE(grpc::ExtractErrorDetails(status, &wire).ok());
  EXPECT_EQ(wire.code(), 5);
  EXPECT_EQ(wire.message(), "no such GPU");
  const auto info = DetailOf<google::rpc::ErrorInfo>(status);
  EXPECT_EQ(info.reason(), "GPU_UNKNOWN");
  EXPECT_EQ(info.domain(), "sextant");
  EXPECT_EQ(info.metadata_size(), 2);
  EXPECT_EQ(info.metadata().at("fault"), "absent");
  EXPECT_EQ(info.metadata().at("trace_id"), "abc");
}

TEST(ToGrpcStatus, NamesTheFieldsAtFault) {
  FieldViolations violations;
  violations.Add("training.token_count", "must be positive");
  violations.Add("cluster.device.accelerator", "is required");
  const auto bad = DetailOf<google::rpc::BadRequest>(ToGrpcStatus(violations.ToStatus(), ""));
  ASSERT_EQ(bad.field_violations_size(), 2);
  EXPECT_EQ(bad.field_violations(0).field(), "training.token_count");
  EXPECT_EQ(bad.field_violations(1).description(), "is required");
}

absl::Status FortyViolations(size_t length) {
  FieldViolations violations;
  for (int i = 0; i < 40; ++i) {
    violations.Add(absl::StrCat("f", i, std::string(length, 'x')), std::string(length, 'y'));
  }
  return violations.ToStatus();
}

TEST(ToGrpcStatus, NamesSixteenAndCountsTheRest) {
  const grpc::Status status = ToGrpcStatus(FortyViolations(50), "");
  EXPECT_THAT(status.error_message(), HasSubstr("(and 24 more)"));
  EXPECT_EQ(DetailOf<google::rpc::BadRequest>(status).field_violations_size(), 16);
}

// gRPC fails near 8 KB of trailers, so forty long violations must stay far below.
TEST(ToGrpcStatus, IsBoundedWhateverItCarries) {
  const grpc::Status status = ToGrpcStatus(FortyViolations(500), std::string(32, 'a'));
  EXPECT_LE(status.error_message().size(), 1024u);
  EXPECT_LE(status.error_details().size() - status.error_message().size(), 4096u);
  const int named = DetailOf<google::rpc::BadRequest>(status).field_violations_size();
  EXPECT_GE(named, 8);
  EXPECT_THAT(status.error_message(), HasSubstr(absl::StrCat("(and ", 40 - named, " more)")));
}

TEST(ToGrpcStatus, SaysWhenToTryAgain) {
  const absl::Status busy =
      WithRetryDelay(WithReason(absl::AbortedError("another runs"), "PROBE_RUNNING"), 2.25);
  const auto retry = DetailOf<google::rpc::RetryInfo>(ToGrpcStatus(busy, ""));
  EXPECT_EQ(retry.retry_delay().seconds(), 2);
  EXPECT_EQ(retry.retry_delay().nanos(), 250'000'000);
}

TEST(ToGrpcStatus, NamesThePreconditions) {
  const std::string uuid = "GPU-" + std::string(36, 'a');
  const grpc::Status status =
      ToGrpcStatus(FailedPrecondition("RATES_NOT_MEASURED",
                                      {{"RATES_NOT_MEASURED", uuid, "was never measured"}}),
                   "");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  const auto failure = DetailOf<google::rpc::PreconditionFailure>(status);
  ASSERT_EQ(failure.violations_size(), 1);
  EXPECT_EQ(failure.violations(0).type(), "RATES_NOT_MEASURED");
  EXPECT_EQ(failure.violations(0).subject(), uuid);
  EXPECT_EQ(failure.violations(0).description(), "was never measured");
}

// All details at their largest, together.
TEST(ToGrpcStatus, IsBoundedWithEveryDetail) {
  const std::vector<PreconditionViolation> many(
      40, {std::string(500, 't'), std::string(500, 's'), std::string(500, 'd')});
  absl::Status status = FailedPrecondition(std::string(63, 'R'), many);
  for (int i = 0; i < 40; ++i) {
    status = WithMetadata(std::move(status), absl::StrCat(i, std::string(500, 'k')),
                          std::string(500, 'v'));
  }
  const grpc::Status wire =
      ToGrpcStatus(WithRetryDelay(std::move(status), 86'400), std::string(32, 'a'));
  EXPECT_LE(wire.error_message().size(), 1024u);
  EXPECT_LE(wire.error_details().size() - wire.error_message().size(), 4096u);
  const int named = DetailOf<google::rpc::PreconditionFailure>(wire).violations_size();
  EXPECT_GE(named, 6);
  EXPECT_THAT(wire.error_message(), HasSubstr(absl::StrCat("(and ", 40 - named, " more)")));
}

using Time = std::chrono::system_clock::time_point;

TEST(DeadlineHadPassed, AllowsForTheWiresRounding) {
  const Time start(std::chrono::seconds(1'700'000'000));
  const struct {
    const char* name;
    Time deadline;
    Time now;
    bool expected;
  } cases[] = {
      {"AtOnce", start + milliseconds(10'000), start, false},
      {"BeforeTheRounding", start + milliseconds(10'000), start + milliseconds(9'899), false},
      {"ByTheCallersClock", start + milliseconds(10'000), start + milliseconds(9'900), true},
      {"ByOurs", start + milliseconds(10'000), start + milliseconds(10'000), true},
      {"LongAgo", start + milliseconds(10'000), start + milliseconds(99'000), true},
      {"PassedFromTheStart", start - milliseconds(1), start, true},
      {"None", Time::max(), start + milliseconds(99'000), false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(DeadlineHadPassed({.start = start, .deadline = c.deadline}, c.now), c.expected)
        << c.name;
  }
}

}  // namespace
}  // namespace sextant::server
