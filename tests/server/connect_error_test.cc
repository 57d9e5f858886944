// Errors as callers of the Connect protocol receive them.
#include "server/call/connect_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "absl/strings/escaping.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "google/rpc/error_details.pb.h"
#include "server/call/status.h"

namespace sextant::server {
namespace {

using Json = ::nlohmann::json;
using ::testing::ElementsAre;

// Throws where it is not JSON in UTF-8.
Json ErrorOf(const absl::Status& status) { return Json::parse(ConnectErrorJson(status, "abc")); }

// Source: connectrpc.com/docs/protocol, "Error Codes".
TEST(ConnectError, CodesAreThoseOfTheProtocol) {
  const struct {
    int code;  // gRPC's number
    const char* name;
    int http_status;
  } rows[] = {
      {1, "canceled", 499},
      {2, "unknown", 500},
      {3, "invalid_argument", 400},
      {4, "deadline_exceeded", 504},
      {5, "not_found", 404},
      {6, "already_exists", 409},
      {7, "permission_denied", 403},
      {8, "resource_exhausted", 429},
      {9, "failed_precondition", 400},
      {10, "aborted", 409},
      {11, "out_of_range", 400},
      {12, "unimplemented", 501},
      {13, "internal", 500},
      {14, "unavailable", 503},
      {15, "data_loss", 500},
      {16, "unauthenticated", 401},
      {99, "unknown", 500},
  };
  for (const auto& row : rows) {
    const auto code = static_cast<absl::StatusCode>(row.code);
    EXPECT_STREQ(ConnectCodeName(code), row.name);
    EXPECT_EQ(HttpStatusOf(code), row.http_status) << row.name;
  }
}

TEST(ConnectError, HasTheDetailsOfGrpc) {
  FieldViolations violations;
  violations.Add("model.preset", "is missing");
  violations.Add("layout.phases[2].tokens", "must be 1 to 8, not 9");
  absl::Status status = WithMetadata(violations.ToStatus(), "fault", "absent");
  status = WithRetryDelay(status, 1.5);
  const Json error = ErrorOf(status);
  EXPECT_EQ(error["code"], "invalid_argument");
  EXPECT_EQ(error["message"], std::string(status.message()));
  const Json expected[] = {
      {{"reason", "FIELD_INVALID"},
       {"domain", "sextant"},
       {"metadata", {{"fault", "absent"}, {"trace_id", "abc"}}}},
      {{"fieldViolations",
        {{{"field", "model.preset"}, {"description", "is missing"}},
         {{"field", "layout.phases[2].tokens"}, {"description", "must be 1 to 8, not 9"}}}}},
      {{"retryDelay", "1.500s"}}};
  ASSERT_EQ(error["details"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(error["details"][i]["debug"], expected[i]);
  EXPECT_EQ(error["details"][1]["type"], "google.rpc.BadRequest");
}

TEST(ConnectError, ShowsPreconditions) {
  const Json error = ErrorOf(
      FailedPrecondition("RATES_NOT_MEASURED", {{"RATES_NOT_MEASURED", "GPU-1", "measure it"}}));
  EXPECT_EQ(error["code"], "failed_precondition");
  EXPECT_EQ(
      error["details"][1]["debug"]["violations"][0],
      (Json{{"type", "RATES_NOT_MEASURED"}, {"subject", "GPU-1"}, {"description", "measure it"}}));
}

// Base64 of the detail's bytes, of each length modulo 3, without the padding.
TEST(ConnectError, ValuesAreTheDetailsOwnBytes) {
  for (const char* const reason : {"A", "AB", "ABC"}) {
    const Json error =
        Json::parse(ConnectErrorJson(WithReason(absl::AbortedError("x"), reason), ""));
    const std::string value = error["details"][0]["value"];
    EXPECT_EQ(value.find('='), value.npos);
    std::string bytes;
    ASSERT_TRUE(absl::Base64Unescape(value, &bytes)) << value;
    google::rpc::ErrorInfo info;
    ASSERT_TRUE(info.ParseFromString(bytes));
    EXPECT_EQ(info.reason(), reason);
  }
}

// Lone surrogates, overlong forms and parts of characters: replaced, and nothing else is lost.
TEST(ConnectError, IsUtf8WhateverIsQuoted) {
  const std::string bad = "a\xff\xc3(\xed\xa0\x80\xe2\x82\n\"\\\x1b";
  const absl::Status status = WithMetadata(InvalidField(bad, std::string("is ") + bad), "key", bad);
  const Json error = ErrorOf(status);
  EXPECT_EQ(error["details"].size(), 2u);
  EXPECT_TRUE(error["details"][1].contains("debug"));
  EXPECT_EQ(error["details"][0]["debug"]["metadata"]["key"],
            R"(a\xff\xc3(\xed\xa0\x80\xe2\x82 "\\x1b)");
  std::mt19937 random(49);
  for (int i = 0; i < 2000; ++i) {
    std::string text(1 + random() % 2000, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const Json any = ErrorOf(InvalidField(text, text));
    EXPECT_EQ(any["code"], "invalid_argument");
    EXPECT_TRUE(any["details"][1].contains("debug")) << absl::CHexEscape(text);
  }
}

}  // namespace
}  // namespace sextant::server
