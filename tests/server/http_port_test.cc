// Requests that the HTTP port refuses, and bytes that are not HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/listen/http_failure.h"
#include "server/listen/http_head.h"
#include "server/listen/listener.h"
#include "tests/server/fake_probe.h"
#include "tests/server/http_fixture.h"
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

constexpr char kHost[] = "Host: localhost\r\n";

std::string Request(const std::string& line, const std::string& headers = "") {
  return absl::StrCat(line, " HTTP/1.1\r\n", kHost, headers, "\r\n");
}

// The answer to `bytes`, up to the end that it puts to the connection.
std::string AnswerTo(const TestServer& server, const std::string& bytes) {
  const RawCaller caller(server.server().http_address());
  EXPECT_TRUE(caller.Send(bytes));
  return caller.ReadToEnd();
}

bool IsMalformed(const std::string& request) {
  const HttpHead head = ReadHttpHead(request);
  return head.kind == Kind::kRefused && FailureAnswer(head.error).status == 400;
}

TEST(HttpHead, WaitsForTheRestOfARequest) {
  const std::string whole = Request("GET /healthz");
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_EQ(ReadHttpHead(whole.substr(0, size)).kind, Kind::kPartial) << size;
  }
  const HttpHead head = ReadHttpHead(whole + "GET /next");
  EXPECT_EQ(head.kind, Kind::kWhole);
  EXPECT_EQ(head.bytes, whole.size());
  EXPECT_EQ(head.body, HttpHead::Body::kNone);
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.path, "/healthz");
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
        "X: \x01\r\n", "Host: y\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity\r\n", "Content-Length: 3, 3\r\n"}) {
    EXPECT_TRUE(IsMalformed(Request("POST /", headers))) << headers;
    EXPECT_TRUE(IsMalformed(Request("GET /", headers))) << headers;
  }
  for (const char* line :
       {"GET /", "GET  / HTTP/1.1", "GET / HTTP/2.0", "GET / x HTTP/1.1", "GET * HTTP/1.1",
        "GET http://x/ HTTP/1.1", "GET /% HTTP/1.1", "GET /%4 HTTP/1.1", "GET /%00 HTTP/1.1",
        "GET /%4x HTTP/1.1", "GET /?a=%zz HTTP/1.1",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked"}) {
    EXPECT_TRUE(IsMalformed(absl::StrCat(line, "\r\n", kHost, "\r\n"))) << line;
  }
  EXPECT_TRUE(IsMalformed(std::string("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n", 28)));
  EXPECT_TRUE(IsMalformed("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(ReadHttpHead("GET / HTTP/1.0\r\n\r\n").kind, Kind::kWhole);
}

TEST(HttpHead, SaysWhereABodyComes) {
  using Body = HttpHead::Body;
  const auto body = [](const char* headers) {
    return ReadHttpHead(Request("GET /", headers)).body;
  };
  EXPECT_EQ(body("Content-Length: 3\r\n"), Body::kLength);
  EXPECT_EQ(body("Transfer-Encoding: chunked\r\n"), Body::kChunked);
  EXPECT_EQ(body("Content-Length: 0\r\n"), Body::kNone);
}

TEST(HttpHead, UnescapesPathsAndParameters) {
  const HttpHead head = ReadHttpHead(Request("GET /a%2Fb+c?x=1%202+3&y&x=4&%7a=%26"));
  EXPECT_EQ(head.path, "/a/b+c");
  EXPECT_EQ(head.Parameter("x"), "1 2 3");
  EXPECT_EQ(head.Parameter("y"), "");
  EXPECT_EQ(head.Parameter("z"), "&");
  EXPECT_EQ(head.Parameter("w"), absl::nullopt);
}

// One value must not hide another from the rule that judges it.
TEST(HttpHead, JoinsTheValuesOfAHeader) {
  const HttpHead head = ReadHttpHead(Request("GET /", "X-A: 1\r\nX-B: 2\r\nx-a:  3 \r\n"));
  EXPECT_EQ(head.Header("X-a"), "1, 3");
  EXPECT_EQ(head.Header("x-b"), "2");
  EXPECT_EQ(head.Header("x-c"), "");
}

TEST(HttpPort, AnswersAMethodThatNoPageHasWithoutItsBody) {
  const TestServer server;
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "TRACE"}) {
    for (const char* path : {"/metrics", "/healthz", "/openapi.json", "/version", "/"}) {
      const std::string answer = AnswerTo(
          server, Request(absl::StrCat(method, " ", path), "Content-Length: 5\r\n") + "12345");
      EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 405 "),
                                HasSubstr("\r\nAllow: GET, HEAD, OPTIONS\r\n")))
          << method << path;
      EXPECT_EQ(ConnectCodeOf(answer), "unimplemented");
    }
  }
  EXPECT_THAT(AnswerTo(server, Request("PUT /nothing", "Connection: close\r\n")),
              HasSubstr("\r\nAllow: GET, HEAD, POST, OPTIONS\r\n"));
}

TEST(HttpPort, SaysWhichMethodsThereAre) {
  const TestServer server;
  const auto options = [&server](const std::string& path) {
    return AnswerTo(server, Request("OPTIONS " + path, "Connection: close\r\n"));
  };
  EXPECT_THAT(options("/metrics"), AllOf(StartsWith("HTTP/1.1 204 "), EndsWith("\r\n\r\n"),
                                         HasSubstr("\r\nAllow: GET, HEAD, OPTIONS\r\n"),
                                         Not(HasSubstr("Content-Length"))));
  for (const char* path : {"*", "/sextant.v1.PlanningService/PlanRun"}) {
    EXPECT_THAT(options(path), HasSubstr("\r\nAllow: GET, HEAD, POST, OPTIONS\r\n")) << path;
  }
}

TEST(HttpPort, AnswersHeadWithoutABody) {
  const TestServer server;
  const std::string answer = AnswerTo(server, Request("HEAD /healthz", "Connection: close\r\n"));
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\r\nContent-Length: 3\r\n"),
                            EndsWith("\r\n\r\n")));
}

TEST(HttpPort, EndsEachFailureAsConnectHasIt) {
  const TestServer server;
  const std::pair<std::string, std::string> cases[] = {
      {"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
       "404 unimplemented"},
      {"GET / HTTP/1.1\r\n\r\n", "400 invalid_argument"},
      {Request("POST /nothing"), "411 invalid_argument"},
      {"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
       "403 permission_denied"},
      {Request("GET /", "X: " + std::string(16'384, 'x') + "\r\n"), "431 resource_exhausted"},
      {Request("POST /x", "Content-Length: 2000000\r\n"), "413 resource_exhausted"}};
  for (const auto& [request, expected] : cases) {
    const std::string answer = AnswerTo(server, request);
    EXPECT_EQ(absl::StrCat(answer.substr(9, 3), " ", ConnectCodeOf(answer)), expected);
  }
}

TEST(HttpPort, ServesPagesThatBrowsersTakeForWhatTheyAre) {
  const TestServer server;
  const std::string index = AnswerTo(server, Request("GET /", "Connection: close\r\n"));
  EXPECT_THAT(index, AllOf(HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"),
                           HasSubstr("\r\nContent-Security-Policy: default-src 'none'"),
                           HasSubstr("/sextant.v1.PlanningService/PlanRun")));
  const std::string version = AnswerTo(server, Request("GET /version", "Connection: close\r\n"));
  EXPECT_THAT(version, EndsWith("\r\n\r\n{\"version\":\"0.1.0\",\"api\":\"sextant.v1\"}"));
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
  const auto refuses = [](const std::string& status, const std::string& message) {
    return AllOf(StartsWith("HTTP/1.1 " + status), HasSubstr(message),
                 HasSubstr("\r\nContent-Type: application/json\r\n"));
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
                            "the server's access file does not let m\xc3\xa9t\\\\xc2\\\\x9bre "
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
  ASSERT_TRUE(first.Send("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"));
  EXPECT_THAT(AnswerTo(server, "garbage"), IsEmpty());
  EXPECT_THAT(AnswerTo(server, "\x16\x03\x01"), IsEmpty());
  EXPECT_THAT(AnswerTo(server, "GET / HTTP/1.1\r\n\x01"), StartsWith("HTTP/1.1 400 "));
  ASSERT_TRUE(first.Send("\r\n"));
  EXPECT_THAT(first.ReadToEnd(), HasSubstr("ok\n"));
}

TEST(ConnectionLimits, KeepDescriptorsForHttpAndFiles) {
  using Limits = ConnectionLimits;
  EXPECT_EQ(ConnectionLimitsOf(64), (Limits{.grpc = 16, .http = 16, .are_short = true}));
  EXPECT_EQ(ConnectionLimitsOf(256), (Limits{.grpc = 128, .http = 64, .are_short = true}));
  EXPECT_EQ(ConnectionLimitsOf(511), (Limits{.grpc = 320, .http = 127, .are_short = true}));
  EXPECT_EQ(ConnectionLimitsOf(512), (Limits{.grpc = 320, .http = 128, .are_short = false}));
  EXPECT_EQ(ConnectionLimitsOf(1024), (Limits{.grpc = 832, .http = 128, .are_short = false}));
  EXPECT_EQ(ConnectionLimitsOf(65'536), (Limits{.grpc = 10'000, .http = 128, .are_short = false}));
}

}  // namespace
}  // namespace sextant::server
