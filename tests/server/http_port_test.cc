// Requests that the HTTP port refuses, and bytes that are not HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/listen/http_head.h"
#include "server/listen/listener.h"
#include "tests/server/fake_probe.h"
#include "tests/server/raw_caller.h"
#include "tests/server/test_server.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Kind = HttpHead::Kind;

constexpr char kHost[] = "Host: x\r\n";

std::string Request(const std::string& line, const std::string& headers = "") {
  return absl::StrCat(line, " HTTP/1.1\r\n", kHost, headers, "\r\n");
}

// The answer to `bytes`, up to the end that it puts to the connection.
std::string AnswerTo(const TestServer& server, const std::string& bytes) {
  const RawCaller caller(server.server().http_address());
  EXPECT_TRUE(caller.Send(bytes));
  return caller.ReadToEnd();
}

TEST(HttpHead, WaitsForTheRestOfARequest) {
  const std::string whole = Request("GET /healthz");
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_EQ(ReadHttpHead(whole.substr(0, size)).kind, Kind::kPartial) << size;
  }
  const HttpHead head = ReadHttpHead(whole + "GET /next");
  EXPECT_EQ(head.kind, Kind::kWhole);
  EXPECT_EQ(head.bytes, whole.size());
  EXPECT_FALSE(head.has_body);
}

TEST(HttpHead, KnowsWhatIsNotHttpByItsFirstBytes) {
  for (const char* bytes :
       {"\x16\x03\x01", "SSH-2.0-", "get /", "GETS", "PRI * HTTP/2.0", "\r\n"}) {
    EXPECT_EQ(ReadHttpHead(bytes).kind, Kind::kGarbage) << bytes;
  }
}

TEST(HttpHead, RefusesWhatCanBeReadInTwoWays) {
  for (const char* headers :
       {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "transfer-encoding: chunked\r\nCONTENT-LENGTH: 0\r\n",
        "Content-Length: 3\r\nContent-Length: 3\r\n", "Content-Length: +3\r\n",
        "Content-Length: 0x3\r\n", "Content-Length:\r\n", "Content-Length : 3\r\n",
        "X: y\r\n folded\r\n", "no colon\r\n", "colonless\r\n", "X: y\nContent-Length: 3\r\n",
        "X: \x01\r\n"}) {
    const HttpHead head = ReadHttpHead(Request("GET /", headers));
    EXPECT_EQ(head.kind, Kind::kRefused) << headers;
    EXPECT_EQ(head.status, 400) << headers;
  }
  for (const char* line : {"GET /", "GET  / HTTP/1.1", "GET / HTTP/2.0", "GET / x HTTP/1.1"}) {
    EXPECT_EQ(ReadHttpHead(absl::StrCat(line, "\r\n\r\n")).status, 400) << line;
  }
}

TEST(HttpHead, SaysWhereABodyComes) {
  EXPECT_TRUE(ReadHttpHead(Request("GET /", "Content-Length: 3\r\n")).has_body);
  EXPECT_TRUE(ReadHttpHead(Request("GET /", "Transfer-Encoding: chunked\r\n")).has_body);
  EXPECT_FALSE(ReadHttpHead(Request("GET /", "Content-Length: 0\r\n")).has_body);
}

TEST(HttpPort, AnswersAMethodThatNoPageHasWithoutItsBody) {
  const TestServer server;
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    const std::string answer = AnswerTo(server, Request(absl::StrCat(method, " /metrics")));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 ")) << method;
    EXPECT_THAT(answer, HasSubstr("\r\nAllow: GET, HEAD\r\n")) << method;
  }
  EXPECT_THAT(AnswerTo(server, Request("POST /metrics", "Content-Length: 5\r\n") + "12345"),
              StartsWith("HTTP/1.1 405 "));
}

TEST(HttpPort, RefusesTwoEndsOfABodyAndWhatFollows) {
  const TestServer server;
  const std::string answer = AnswerTo(
      server, Request("GET /healthz", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") +
                  Request("GET /readyz"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer, Not(HasSubstr("200")));
}

TEST(HttpPort, TakesNoBodyForARequest) {
  const TestServer server;
  const std::string hidden = Request("GET /healthz");
  const std::string answer = AnswerTo(
      server,
      Request("GET /readyz", absl::StrCat("Content-Length: ", hidden.size(), "\r\n")) + hidden);
  EXPECT_THAT(answer, HasSubstr("ready\n"));
  EXPECT_THAT(answer, Not(HasSubstr("ok\n")));
}

// The name of the second has a control character of two bytes.
TEST(HttpPort, SaysWhyACallerIsNotLetIn) {
  ServerOptions options = TestServer::Options();
  options.token_file = TemporaryFile("http_tokens");
  options.access_file = TemporaryFile("http_access");
  WriteFile(options.token_file, "known 0123456789abcdef\nm\xc3\xa9t\xc2\x9bre fedcba9876543210\n");
  WriteFile(options.access_file, "metrics known\n");
  const TestServer server(options);
  const auto answer_with = [&server](const std::string& header) {
    return AnswerTo(server, Request("GET /metrics", header + "Connection: close\r\n"));
  };
  EXPECT_THAT(answer_with("Authorization: Bearer 0123456789abcdef\r\n"),
              StartsWith("HTTP/1.1 200 "));
  const auto refuses = [](const std::string& status, const std::string& body) {
    return AllOf(StartsWith("HTTP/1.1 " + status), EndsWith("\r\n\r\n" + body + "\n"),
                 HasSubstr("\r\nContent-Type: text/plain; charset=utf-8\r\n"));
  };
  const auto asks_for_a_token = HasSubstr("\r\nWWW-Authenticate: Bearer\r\n");
  EXPECT_THAT(
      answer_with(""),
      AllOf(refuses("401 ", "send the metadata authorization: Bearer <token>"), asks_for_a_token));
  EXPECT_THAT(
      answer_with("Authorization: Bearer 0123456789abcdeX\r\n"),
      AllOf(refuses("401 ", "the bearer token is not one of this server's"), asks_for_a_token));
  EXPECT_THAT(answer_with("Authorization: Bearer fedcba9876543210\r\n"),
              AllOf(refuses("403 ",
                            "the server's access file does not let m\xc3\xa9t\\xc2\\x9bre "
                            "call metrics"),
                    Not(HasSubstr("WWW-Authenticate"))));
}

TEST(HttpPort, SaysThatAHeadIsTooLong) {
  const TestServer server;
  EXPECT_THAT(AnswerTo(server, Request("GET /healthz", "X: " + std::string(16'384, 'x') + "\r\n")),
              StartsWith("HTTP/1.1 431 "));
}

TEST(HttpPort, AnswersRequestsThatComeTogether) {
  const TestServer server;
  const std::string answer =
      AnswerTo(server, Request("GET /healthz") + Request("GET /readyz", "Connection: close\r\n"));
  EXPECT_THAT(answer, HasSubstr("ok\n"));
  EXPECT_THAT(answer, HasSubstr("ready\n"));
}

// The first caller has five seconds for its request, and the second begins later.
TEST(HttpPort, ClosesOnGarbageBeforeARequestsTimeIsUp) {
  const TestServer server;
  const RawCaller first(server.server().http_address());
  ASSERT_TRUE(first.Send("GET /healthz HTTP/1.1\r\nConnection: close\r\n"));
  EXPECT_THAT(AnswerTo(server, "garbage"), IsEmpty());
  EXPECT_THAT(AnswerTo(server, "\x16\x03\x01"), IsEmpty());
  EXPECT_THAT(AnswerTo(server, "GET / HTTP/1.1\r\n\x01"), StartsWith("HTTP/1.1 400 "));
  ASSERT_TRUE(first.Send("\r\n"));
  EXPECT_THAT(first.ReadToEnd(), HasSubstr("ok\n"));
}

TEST(ConnectionLimits, KeepDescriptorsForHttpAndFiles) {
  using Limits = ConnectionLimits;
  EXPECT_EQ(ConnectionLimitsOf(64), (Limits{.grpc = 16, .http = 16, .are_short = true}));
  EXPECT_EQ(ConnectionLimitsOf(255), (Limits{.grpc = 128, .http = 63, .are_short = true}));
  EXPECT_EQ(ConnectionLimitsOf(256), (Limits{.grpc = 128, .http = 64, .are_short = false}));
  EXPECT_EQ(ConnectionLimitsOf(1024), (Limits{.grpc = 896, .http = 64, .are_short = false}));
  EXPECT_EQ(ConnectionLimitsOf(65'536), (Limits{.grpc = 10'000, .http = 64, .are_short = false}));
}

}  // namespace
}  // namespace sextant::server
