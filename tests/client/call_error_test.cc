#include "client/io/call_error.h"

#include <gmock/gmock.h>
#include <grpcpp/support/error_details.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace sextant::client {
namespace {

struct CodeCase {
  grpc::StatusCode code;
  const char* name;
  ExitCode exit_code;
};

// service.md, "Errors": all 17 codes of gRPC.
constexpr CodeCase kCodes[] = {
    {grpc::StatusCode::OK, "OK", kExitFits},
    {grpc::StatusCode::CANCELLED, "CANCELLED", kExitRetryLater},
    {grpc::StatusCode::UNKNOWN, "UNKNOWN", kExitInternal},
    {grpc::StatusCode::INVALID_ARGUMENT, "INVALID_ARGUMENT", kExitBadRequest},
    {grpc::StatusCode::DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", kExitRetryLater},
    {grpc::StatusCode::NOT_FOUND, "NOT_FOUND", kExitBadRequest},
    {grpc::StatusCode::ALREADY_EXISTS, "ALREADY_EXISTS", kExitInternal},
    {grpc::StatusCode::PERMISSION_DENIED, "PERMISSION_DENIED", kExitNotAllowed},
    {grpc::StatusCode::RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED", kExitRetryLater},
    {grpc::StatusCode::FAILED_PRECONDITION, "FAILED_PRECONDITION", kExitBadRequest},
    {grpc::StatusCode::ABORTED, "ABORTED", kExitRetryLater},
    {grpc::StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE", kExitBadRequest},
    {grpc::StatusCode::UNIMPLEMENTED, "UNIMPLEMENTED", kExitInternal},
    {grpc::StatusCode::INTERNAL, "INTERNAL", kExitInternal},
    {grpc::StatusCode::UNAVAILABLE, "UNAVAILABLE", kExitRetryLater},
    {grpc::StatusCode::DATA_LOSS, "DATA_LOSS", kExitInternal},
    {grpc::StatusCode::UNAUTHENTICATED, "UNAUTHENTICATED", kExitNotAllowed},
};
static_assert(std::size(kCodes) == 17);

TEST(ExitCodeOf, FollowsTheTable) {
  for (const CodeCase& c : kCodes) {
    EXPECT_EQ(ExitCodeOf({.code = c.code}), c.exit_code) << c.name;
    EXPECT_EQ(CodeName(c.code), c.name);
  }
}

// A device that can't do what was asked won't be able to a minute later.
TEST(ExitCodeOf, ARefusedProbeMayWorkLater) {
  CallError refused = {.code = grpc::StatusCode::FAILED_PRECONDITION, .reason = "PROBE_REFUSED"};
  EXPECT_EQ(ExitCodeOf(refused), kExitRetryLater);
  refused.metadata["reason"] = "locked";
  EXPECT_EQ(ExitCodeOf(refused), kExitRetryLater);
  refused.metadata["reason"] = "unsupported";
  EXPECT_EQ(ExitCodeOf(refused), kExitBadRequest);
  EXPECT_EQ(
      ExitCodeOf({.code = grpc::StatusCode::FAILED_PRECONDITION, .reason = "RATES_NOT_MEASURED"}),
      kExitBadRequest);
}

TEST(ExitCodeOf, ACodeThatGrpcDoesNotHaveIsADefect) {
  const auto code = static_cast<grpc::StatusCode>(20);
  EXPECT_EQ(ExitCodeOf({.code = code}), kExitInternal);
  EXPECT_EQ(CodeName(code), "CODE_20");
}

// A status as the server sends it.
grpc::Status StatusWith(const google::rpc::Status& details) {
  grpc::Status status;
  EXPECT_TRUE(grpc::SetErrorDetails(details, &status).ok());
  return status;
}

google::rpc::Status FieldsAtFault() {
  google::rpc::ErrorInfo info;
  info.set_domain("sextant");
  info.set_reason("FIELD_INVALID");
  google::rpc::BadRequest bad_request;
  auto* devices = bad_request.add_field_violations();
  devices->set_field("cluster.device_count");
  devices->set_description("must be at least 1");
  auto* tokens = bad_request.add_field_violations();
  tokens->set_field("training.token_count");
  tokens->set_description("must be\nat least 1");
  google::rpc::Status status;
  status.set_code(grpc::StatusCode::INVALID_ARGUMENT);
  status.set_message("correct 2 fields");
  status.add_details()->PackFrom(info);
  status.add_details()->PackFrom(bad_request);
  return status;
}

TEST(CallErrorText, NamesEachFieldOnALineOfItsOwn) {
  EXPECT_EQ(CallErrorText(CallErrorOf(StatusWith(FieldsAtFault()))),
            "sextant: INVALID_ARGUMENT (FIELD_INVALID): correct 2 fields\n"
            "  cluster.device_count: must be at least 1\n"
            "  training.token_count: must be at least 1\n");
  google::rpc::Status many = FieldsAtFault();
  many.set_message("a: b; c: d (and 3 more)");
  EXPECT_THAT(CallErrorText(CallErrorOf(StatusWith(many))),
              ::testing::HasSubstr("correct 2 fields (and 3 more)\n"));
}

TEST(CallErrorText, SaysWhenToRetryAndWhatIsMissing) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(1);
  retry.mutable_retry_delay()->set_nanos(250'000'000);
  google::rpc::PreconditionFailure precondition;
  auto* missing = precondition.add_violations();
  missing->set_subject("GPU-0");
  missing->set_description("not measured");
  google::rpc::Status status;
  status.set_code(grpc::StatusCode::RESOURCE_EXHAUSTED);
  status.set_message("busy");
  status.add_details()->PackFrom(retry);
  status.add_details()->PackFrom(precondition);
  CallError error = CallErrorOf(StatusWith(status));
  error.hint = "a hint";
  EXPECT_EQ(CallErrorText(error),
            "sextant: RESOURCE_EXHAUSTED: busy\n"
            "  GPU-0: not measured\n"
            "  retry in 1.25 s\n"
            "  a hint\n");
}

// A server's message repeats its violations: they are said once.
TEST(CallErrorText, SaysEachUnmetConditionOnce) {
  CallError error = {.code = grpc::StatusCode::FAILED_PRECONDITION,
                     .reason = "RATES_NOT_MEASURED",
                     .message = "CPU-0 was never measured",
                     .precondition_violations = {{"CPU-0", "CPU-0 was never measured"}}};
  EXPECT_EQ(CallErrorText(error),
            "sextant: FAILED_PRECONDITION (RATES_NOT_MEASURED): 1 condition is not met\n"
            "  CPU-0: CPU-0 was never measured\n");
  error.precondition_violations.push_back({"CPU-1", "too old"});
  EXPECT_THAT(CallErrorText(error), ::testing::HasSubstr("2 conditions are not met\n"));
  error.precondition_violations.clear();
  EXPECT_THAT(CallErrorText(error), ::testing::HasSubstr(": CPU-0 was never measured\n"));
}

TEST(CallErrorOf, KeepsCodeAndMessageWhereDetailsAreUnreadable) {
  const CallError error = CallErrorOf({grpc::StatusCode::INTERNAL, "broken", "\xff\xff"});
  EXPECT_EQ(error.code, grpc::StatusCode::INTERNAL);
  EXPECT_EQ(error.message, "broken");
  EXPECT_TRUE(error.reason.empty());
}

TEST(CallErrorJson, HoldsTheSame) {
  const auto json = nlohmann::json::parse(CallErrorJson(CallErrorOf(StatusWith(FieldsAtFault()))));
  const auto expect = nlohmann::json::parse(R"({
      "code": "INVALID_ARGUMENT", "reason": "FIELD_INVALID", "message": "correct 2 fields",
      "fieldViolations": [
        {"field": "cluster.device_count", "description": "must be at least 1"},
        {"field": "training.token_count", "description": "must be\nat least 1"}]})");
  EXPECT_EQ(json, expect);
}

// Programs tell a probe that crashed from one that is not installed.
TEST(CallErrorJson, HoldsMetadata) {
  google::rpc::ErrorInfo info;
  info.set_reason("PROBE_FAILED");
  (*info.mutable_metadata())["fault"] = "crashed";
  google::rpc::Status status;
  status.set_code(grpc::StatusCode::UNAVAILABLE);
  status.add_details()->PackFrom(info);
  const auto json = nlohmann::json::parse(CallErrorJson(CallErrorOf(StatusWith(status))));
  EXPECT_EQ(json.at("metadata"), nlohmann::json::parse(R"({"fault": "crashed"})"));
}

TEST(CallErrorJson, HoldsRetryDelayAndHint) {
  const auto json = nlohmann::json::parse(CallErrorJson({.code = grpc::StatusCode::ABORTED,
                                                         .precondition_violations = {{"a", "b"}},
                                                         .retry_delay_seconds = 0.5,
                                                         .hint = "wait"}));
  EXPECT_EQ(json.at("retryDelaySeconds"), 0.5);
  EXPECT_EQ(json.at("hint"), "wait");
  EXPECT_EQ(json.at("preconditionViolations").at(0).at("subject"), "a");
}

// By default nlohmann throws on bytes that are not UTF-8.
TEST(CallErrorJson, SurvivesAnyBytes) {
  const std::string json = CallErrorJson({.message = "bad \xff byte"});
  EXPECT_EQ(nlohmann::json::parse(json).at("message"), "bad \xEF\xBF\xBD byte");
}

}  // namespace
}  // namespace sextant::client
