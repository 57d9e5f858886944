// The Connect protocol of calls that are answered at once: heads, codecs, errors, what is refused.
#include "server/connect/connect_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "server/call/status.h"
#include "server/listen/http_failure.h"
#include "tests/server/scripted_service.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kAskLlama[] = R"({"model":{"preset":"llama"}})";

std::string LlamaBytes() {
  v1::PlanRunRequest request;
  request.mutable_model()->set_preset("llama");
  return request.SerializeAsString();
}

class ConnectPortTest : public ConnectTest {
 protected:
  ConnectPortTest() { AnswerUnary(); }

  std::string Metrics() const {
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

  // The status of a JSON call of PlanRun with that header.
  int StatusWith(const std::string& header, const std::string& value) const {
    FakeExchange exchange({.path = PathOf("PlanRun"),
                           .headers = {{"content-type", "application/json"}, {header, value}},
                           .body = kAskLlama});
    Answer(exchange);
    return exchange.answer.status;
  }

  FakeExchange Got(std::map<std::string, std::string> parameters) const {
    return FakeExchange({.method = "GET",
                         .path = PathOf("PlanRun"),
                         .headers = {},
                         .parameters = std::move(parameters)});
  }
};

TEST_F(ConnectPortTest, AnswersJsonWithJsonAndProtoWithProto) {
  for (const char* type : {"application/json", "Application/JSON; charset=utf-8"}) {
    FakeExchange exchange(
        {.path = PathOf("PlanRun"), .headers = {{"content-type", type}}, .body = kAskLlama});
    Answer(exchange);
    EXPECT_EQ(exchange.answer.status, 200);
    EXPECT_EQ(exchange.answer.content_type, "application/json");
    EXPECT_EQ(nlohmann::json::parse(exchange.answer.body),
              nlohmann::json({{"ratesFingerprint", "llama"}, {"engineVersion", "0.1.0"}}));
    EXPECT_EQ(exchange.AnswerHeader("Cache-Control"), "no-store");
  }
  FakeExchange exchange({.path = PathOf("PlanRun"),
                         .headers = {{"content-type", "application/proto"}},
                         .body = LlamaBytes()});
  Answer(exchange);
  EXPECT_EQ(exchange.answer.content_type, "application/proto");
  v1::PlanRunResponse answer;
  ASSERT_TRUE(answer.ParseFromString(exchange.answer.body));
  EXPECT_EQ(answer.rates_fingerprint(), "llama");
}

TEST_F(ConnectPortTest, CountsCallsUnderTheirProtocol) {
  FakeExchange exchange({.path = PathOf("PlanRun"), .body = kAskLlama});
  Answer(exchange);
  EXPECT_THAT(Metrics(), HasSubstr("sextant_calls_total{code=\"OK\",method=\"sextant.v1."
                                   "PlanningService/PlanRun\",protocol=\"connect\"} 1\n"));
}

// Source of the statuses: the Connect protocol, "Error Codes".
TEST_F(ConnectPortTest, GivesEachCodeItsNameAndStatus) {
  const struct {
    absl::StatusCode code;
    const char* name;
    int status;
  } rows[] = {{absl::StatusCode::kCancelled, "canceled", 499},
              {absl::StatusCode::kUnknown, "unknown", 500},
              {absl::StatusCode::kInvalidArgument, "invalid_argument", 400},
              {absl::StatusCode::kDeadlineExceeded, "deadline_exceeded", 504},
              {absl::StatusCode::kNotFound, "not_found", 404},
              {absl::StatusCode::kAlreadyExists, "already_exists", 409},
              {absl::StatusCode::kPermissionDenied, "permission_denied", 403},
              {absl::StatusCode::kResourceExhausted, "resource_exhausted", 429},
              {absl::StatusCode::kFailedPrecondition, "failed_precondition", 400},
              {absl::StatusCode::kAborted, "aborted", 409},
              {absl::StatusCode::kOutOfRange, "out_of_range", 400},
              {absl::StatusCode::kUnimplemented, "unimplemented", 501},
              {absl::StatusCode::kInternal, "internal", 500},
              {absl::StatusCode::kUnavailable, "unavailable", 503},
              {absl::StatusCode::kDataLoss, "data_loss", 500},
              {absl::StatusCode::kUnauthenticated, "unauthenticated", 401}};
  for (const auto& row : rows) {
    const absl::Status error = WithReason(absl::Status(row.code, "why"), "REASON");
    AnswerUnary(error);
    AnswerStream(1, error);
    for (const char* codec : {"json", "proto"}) {
      FakeExchange unary({.path = PathOf("PlanRun"),
                          .headers = {{"content-type", absl::StrCat("application/", codec)}},
                          .body = codec == std::string("json") ? "{}" : ""});
      Answer(unary);
      EXPECT_EQ(unary.answer.status, row.status) << row.name;
      EXPECT_EQ(unary.answer.content_type, "application/json");
      EXPECT_EQ(unary.Code(), row.name);
      EXPECT_EQ(unary.Message(), "why");
    }
    FakeExchange stream({.path = PathOf("WatchPlanRun"),
                         .headers = {{"content-type", "application/connect+proto"}},
                         .body = std::string(5, '\0')});
    Answer(stream);
    EXPECT_EQ(stream.Envelopes().size(), 2u);
    EXPECT_EQ(stream.Code(), row.name);
  }
}

TEST_F(ConnectPortTest, SaysHowToComeBack) {
  AnswerUnary(WithRetryDelay(absl::ResourceExhaustedError("busy"), 1.2));
  FakeExchange busy({.path = PathOf("PlanRun"), .body = "{}"});
  Answer(busy);
  EXPECT_EQ(busy.AnswerHeader("Retry-After"), "2");
  AnswerUnary(absl::UnauthenticatedError("who"));
  FakeExchange unknown({.path = PathOf("PlanRun"), .body = "{}"});
  Answer(unknown);
  EXPECT_EQ(unknown.AnswerHeader("WWW-Authenticate"), "Bearer");
}

// Counted and logged as the method's, with a handler that never sees them.
TEST_F(ConnectPortTest, CountsRequestsThatCannotBeRead) {
  for (const char* body : {"{\"modle\":1}", "{", ""}) {
    FakeExchange exchange({.path = PathOf("PlanRun"), .body = body});
    Answer(exchange);
    EXPECT_EQ(exchange.answer.status, 400) << body;
    EXPECT_EQ(exchange.Code(), "invalid_argument");
    EXPECT_THAT(exchange.Message(), Not(HasSubstr("encoded as protobuf")));
  }
  FakeExchange proto({.path = PathOf("PlanRun"),
                      .headers = {{"content-type", "application/proto"}},
                      .body = "\xff"});
  Answer(proto);
  EXPECT_EQ(proto.answer.status, 400);
  EXPECT_THAT(Metrics(), HasSubstr("sextant_calls_total{code=\"INVALID_ARGUMENT\",method=\"sextant."
                                   "v1.PlanningService/PlanRun\",protocol=\"connect\"} 4\n"));
}

TEST_F(ConnectPortTest, EndsACallWhoseBodyDoesNotCome) {
  FakeExchange exchange({.path = PathOf("PlanRun")});
  exchange.body_error = HttpError(HttpFault::kLargeBody, "more than 1048576 bytes");
  Answer(exchange);
  EXPECT_EQ(exchange.answer.status, 413);
  EXPECT_EQ(exchange.Code(), "resource_exhausted");
  EXPECT_THAT(Metrics(), HasSubstr("code=\"RESOURCE_EXHAUSTED\""));
}

// Source: the Connect protocol, "Timeout": at most 10 digits, positive.
TEST_F(ConnectPortTest, TakesTimeoutsOfOneToTenDigits) {
  for (const char* good : {"9999999999", "60000"}) {
    EXPECT_EQ(StatusWith("connect-timeout-ms", good), 200) << good;
  }
  for (const char* bad : {"0", "-5", "abc", "99999999999", "1.5", " 5", "+5", "0000000000"}) {
    EXPECT_EQ(StatusWith("connect-timeout-ms", bad), 400) << bad;
  }
}

TEST_F(ConnectPortTest, KnowsOneVersionAndNoCompression) {
  EXPECT_EQ(StatusWith("connect-protocol-version", "1"), 200);
  EXPECT_EQ(StatusWith("connect-protocol-version", "2"), 400);
  EXPECT_EQ(StatusWith("connect-content-encoding", "identity"), 200);
  EXPECT_EQ(StatusWith("connect-content-encoding", "gzip"), 501);
  // The client says what it would take; identity is always allowed.
  EXPECT_EQ(StatusWith("connect-accept-encoding", "gzip, br"), 200);
}

TEST_F(ConnectPortTest, TakesTheContentTypesOfTheMethodAlone) {
  const std::string unary = "application/json, application/proto";
  const std::string streams = "application/connect+json, application/connect+proto";
  const struct {
    const char* method;
    const char* type;
    std::string accepted;
  } rows[] = {{"PlanRun", "application/connect+json", unary},
              {"PlanRun", "text/plain", unary},
              {"PlanRun", "", unary},
              {"PlanRun", "application/jsonp", unary},
              {"WatchPlanRun", "application/json", streams},
              {"WatchPlanRun", "application/grpc", streams}};
  for (const auto& row : rows) {
    FakeExchange exchange(
        {.path = PathOf(row.method), .headers = {{"content-type", row.type}}, .body = "{}"});
    Answer(exchange);
    EXPECT_EQ(exchange.answer.status, 415) << row.method << " " << row.type;
    EXPECT_EQ(exchange.AnswerHeader("Accept-Post"), row.accepted);
    EXPECT_EQ(exchange.Code(), "invalid_argument");
    EXPECT_EQ(exchange.body_reads, 0);
  }
}

TEST_F(ConnectPortTest, LeavesOtherPathsToOthers) {
  for (const char* path :
       {"/", "/metrics", "/a/b", "/sextant.v1.PlanningService", "/sextant.v1.PlanningService/",
        "/sextant.v1.PlanningService/PlanRun/", "/favicon.ico/x.png", ""}) {
    FakeExchange exchange({.path = path});
    EXPECT_FALSE(port_->Answer(exchange)) << path;
    EXPECT_EQ(exchange.answers, 0);
  }
  for (const char* path : {"/sextant.v1.PlanningService/PlanRum", "/a.b.C/D"}) {
    FakeExchange exchange({.path = path});
    Answer(exchange);
    EXPECT_EQ(exchange.answer.status, 501) << path;
    EXPECT_EQ(exchange.Code(), "unimplemented");
    EXPECT_THAT(exchange.Message(), HasSubstr(std::string(path).substr(1)));
  }
}

TEST_F(ConnectPortTest, SaysByWhichVerbAMethodIsCalled) {
  const std::pair<const char*, const char*> rows[] = {
      {"PlanRun", "GET, POST"}, {"SizeModel", "POST"}, {"WatchPlanRun", "POST"}};
  for (const auto& [method, allowed] : rows) {
    for (const char* verb : {"GET", "PUT", "DELETE"}) {
      if (verb == std::string("GET") && method == std::string("PlanRun")) continue;
      FakeExchange exchange({.method = verb, .path = PathOf(method)});
      Answer(exchange);
      EXPECT_EQ(exchange.answer.status, 405) << method << " " << verb;
      EXPECT_EQ(exchange.AnswerHeader("Allow"), allowed);
      EXPECT_EQ(exchange.Code(), "unimplemented");
    }
  }
}

TEST_F(ConnectPortTest, AnswersGet) {
  const std::string padded = absl::WebSafeBase64Escape(LlamaBytes());
  const std::vector<std::map<std::string, std::string>> all = {
      {{"encoding", "json"}, {"message", kAskLlama}},
      {{"connect", "v1"}, {"encoding", "proto"}, {"message", LlamaBytes()}},
      {{"encoding", "proto"}, {"message", padded}, {"base64", "1"}},
      {{"encoding", "proto"},
       {"message", absl::StrCat(padded, std::string((4 - padded.size() % 4) % 4, '='))},
       {"base64", "1"}},
      {{"encoding", "json"}, {"message", kAskLlama}, {"compression", "identity"}}};
  for (const auto& parameters : all) {
    FakeExchange exchange = Got(parameters);
    Answer(exchange);
    EXPECT_EQ(exchange.answer.status, 200) << exchange.Message();
    EXPECT_THAT(exchange.answer.body, HasSubstr("llama"));
    EXPECT_EQ(exchange.AnswerHeader("Cache-Control"), "");
    EXPECT_EQ(exchange.body_reads, 0);
  }
}

TEST_F(ConnectPortTest, SaysWhatAGetLacks) {
  const std::pair<std::map<std::string, std::string>, const char*> all[] = {
      {{{"message", "{}"}}, "encoding: must be"},
      {{{"encoding", "xml"}, {"message", "{}"}}, "encoding: must be"},
      {{{"encoding", "json"}}, "message: is missing"},
      {{{"encoding", "json"}, {"message", "*"}, {"base64", "1"}}, "message: is not base64"},
      {{{"encoding", "json"}, {"message", "e30"}, {"base64", "yes"}}, "base64"},
      {{{"encoding", "json"}, {"message", "{}"}, {"connect", "v2"}}, "connect"}};
  for (const auto& [parameters, named] : all) {
    FakeExchange exchange = Got(parameters);
    Answer(exchange);
    EXPECT_EQ(exchange.answer.status, 400) << named;
    EXPECT_THAT(exchange.Message(), HasSubstr(named));
  }
  FakeExchange compressed = Got({{"encoding", "json"}, {"message", "{}"}, {"compression", "gzip"}});
  Answer(compressed);
  EXPECT_EQ(compressed.Code(), "unimplemented");
}

TEST(ConnectPort, DoesNotStartWithAMethodThatNoFileDescribes) {
  class Undescribed final : public Service {
   public:
    explicit Undescribed(Metrics& metrics) : Service("sextant.v1.Nothing", metrics, {}) {
      Add("At", UnaryHandler([](Method&, UnaryTransport&) {}));
    }
  };
  prometheus::Registry registry;
  Metrics metrics(registry);
  Undescribed service(metrics);
  EXPECT_THAT(ConnectPort::Of({&service}).status().message(), HasSubstr("sextant.v1.Nothing/At"));
}

}  // namespace
}  // namespace sextant::server
