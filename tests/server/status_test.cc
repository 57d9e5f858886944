// How calls end.
#include "server/call/status.h"

#include <gmock/gmock.h>
#include <grpcpp/support/error_details.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/call/stream_call.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

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

// Callers print messages on terminals, and write them to logs by the line.
TEST(ToGrpcStatus, EscapesControlCharacters) {
  const std::string name =
      "a\x1b[31m\n\x7f\xc2\x9b"
      "b\xc3\xa9";
  const std::string shown =
      "a\\x1b[31m\\n\\x7f\\xc2\\x9b"
      "b\xc3\xa9";
  const absl::Status unknown = WithMetadata(absl::NotFoundError(name), "name", "\x1b");
  EXPECT_EQ(ToGrpcStatus(unknown, "").error_message(), shown);
  const auto info = DetailOf<google::rpc::ErrorInfo>(ToGrpcStatus(unknown, ""));
  EXPECT_EQ(info.metadata().at("name"), "\\x1b");
  const auto bad =
      DetailOf<google::rpc::BadRequest>(ToGrpcStatus(InvalidField("axis", "is \x1b"), ""));
  EXPECT_EQ(bad.field_violations(0).description(), "is \\x1b");
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
