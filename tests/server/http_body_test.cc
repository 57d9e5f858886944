// Bodies of requests to the HTTP port: where they end, and when they are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/call/call.h"
#include "server/listen/http_failure.h"
#include "server/listen/http_head.h"
#include "tests/server/http_fixture.h"
#include "tests/server/raw_caller.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kChunked[] = "Transfer-Encoding: chunked\r\n";

bool AnswerError(HttpExchange& exchange) {
  const auto body = exchange.ReadBody();
  exchange.Answer(body.ok() ? TextAnswer(*body) : FailureAnswer(body.status()));
  return true;
}

std::string ChunkedPost(const std::string& body) {
  return HttpRequestOf("POST /call", absl::StrCat(kChunked, "Connection: close\r\n"), body);
}

TEST(HttpBody, TakesALengthOrChunks) {
  const HttpPortOf port(AnswerError);
  EXPECT_THAT(port.AnswerTo(PostOf("12345")),
              AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\r\n\r\n12345")));
  EXPECT_THAT(port.AnswerTo(PostOf("")), EndsWith("\r\n\r\n"));
  EXPECT_THAT(port.AnswerTo(ChunkedPost("3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n")),
              EndsWith("\r\n\r\nabc0123456789"));
  EXPECT_THAT(port.AnswerTo(ChunkedPost("0\r\n\r\n")), EndsWith("\r\n\r\n"));
}

// Whatever parts the network makes of it.
TEST(HttpBody, ReadsChunksByteByByte) {
  const std::string text = "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET /";
  ChunkedBody body;
  size_t used = 0;
  while (!body.is_whole()) {
    size_t taken = 0;
    ASSERT_TRUE(body.Take(text.substr(used, 1), taken).ok()) << used;
    used += taken;
  }
  EXPECT_EQ(body.content(), "abcde");
  EXPECT_EQ(text.substr(used), "GET /");
}

TEST(HttpBody, RefusesChunksThatCanBeReadInTwoWays) {
  for (const char* chunks :
       {"\r\n", "x\r\n", "0x3\r\nabc\r\n", "+3\r\nabc\r\n", " 3\r\nabc\r\n", "3 \r\nabc\r\n",
        "3;a=b\r\nabc\r\n", "3\nabc\n", "3\rabc", "000000003\r\nabc\r\n", "3\r\nabcd\r\n",
        "3\r\nabc\n\n", "0\r\nX: y\r\n\r\n", "-1\r\n", "3\r\nabc0\r\n\r\n"}) {
    ChunkedBody body;
    size_t taken = 0;
    EXPECT_EQ(body.Take(absl::StrCat(chunks, "0\r\n\r\n0\r\n\r\n"), taken).code(),
              absl::StatusCode::kInvalidArgument)
        << chunks;
  }
  ChunkedBody endless;
  size_t taken = 0;
  EXPECT_FALSE(endless.Take(std::string(100, '0'), taken).ok());
  const HttpPortOf port(AnswerError);
  const std::string answer = port.AnswerTo(ChunkedPost("3;x\r\nabc\r\n0\r\n\r\n"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(ConnectCodeOf(answer), "invalid_argument");
}

TEST(HttpBody, TakesAMebibyteAndNoMore) {
  const HttpPortOf port(AnswerError);
  const std::string whole(kMaxReceiveBytes, 'x');
  EXPECT_THAT(port.AnswerTo(PostOf(whole)), EndsWith("\r\n\r\n" + whole));
  EXPECT_THAT(port.AnswerTo(ChunkedPost(absl::StrCat("100000\r\n", whole, "\r\n0\r\n\r\n"))),
              EndsWith("\r\n\r\n" + whole));
  for (const std::string& request : {PostOf(whole + "x"), ChunkedPost("100001\r\n"),
                                     ChunkedPost(absl::StrCat("100000\r\n", whole, "\r\n1\r\n"))}) {
    const std::string answer = port.AnswerTo(request);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 "));
    EXPECT_EQ(ConnectCodeOf(answer), "resource_exhausted");
  }
}

// Nothing of the body is sent: the head's length says it all.
TEST(HttpBody, RefusesALargeLengthUnread) {
  const HttpPortOf port([](HttpExchange&) { return false; });
  for (const char* length : {"1048577", "99999999999999999999999"}) {
    EXPECT_THAT(port.AnswerTo(
                    HttpRequestOf("POST /call", absl::StrCat("Content-Length: ", length, "\r\n"))),
                StartsWith("HTTP/1.1 413 "))
        << length;
  }
}

TEST(HttpBody, WantsALengthOfAPost) {
  const HttpPortOf port;
  const std::string answer = port.AnswerTo(HttpRequestOf("POST /call"));
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 411 "));
  EXPECT_EQ(ConnectCodeOf(answer), "invalid_argument");
}

TEST(HttpBody, KeepsTheConnectionOnceItIsRead) {
  const HttpPortOf port;
  const std::string first = HttpRequestOf("POST /call", "Content-Length: 3\r\n", "abc");
  const std::string second = HttpRequestOf("POST /call", kChunked, "2\r\nde\r\n0\r\n\r\n");
  const std::string answer = port.AnswerTo(first + second + PostOf("f"));
  EXPECT_THAT(answer, AllOf(HasSubstr("length 3"), HasSubstr("length 2"), HasSubstr("length 1")));
}

TEST(HttpBody, EndsTheConnectionWhereItIsNotRead) {
  const HttpPortOf port([](HttpExchange& exchange) {
    exchange.Answer(TextAnswer("unread"));
    return true;
  });
  const std::string hidden = HttpRequestOf("GET /healthz");
  const std::string answer = port.AnswerTo(
      HttpRequestOf("POST /call", absl::StrCat("Content-Length: ", hidden.size(), "\r\n"), hidden));
  EXPECT_THAT(answer, AllOf(HasSubstr("unread"), HasSubstr("\r\nConnection: close\r\n"),
                            Not(HasSubstr("ok\n"))));
}

TEST(HttpBody, IsAskedForWhereTheClientWaits) {
  const HttpPortOf port;
  const RawCaller caller(port.address());
  ASSERT_TRUE(caller.Send(HttpRequestOf(
      "POST /call", "Content-Length: 3\r\nExpect: 100-continue\r\nConnection: close\r\n")));
  const std::string asked = "HTTP/1.1 100 Continue\r\n\r\n";
  EXPECT_EQ(caller.Read(asked.size()), asked);
  ASSERT_TRUE(caller.Send("abc"));
  EXPECT_THAT(caller.ReadToEnd(), HasSubstr("length 3"));
}

// Its deadline is the one thing that the test waits for.
TEST(HttpBody, EndsWhereItComesTooSlowly) {
  const HttpPortOf port(AnswerError);
  const std::string answer =
      port.AnswerTo(HttpRequestOf("POST /call", "Content-Length: 3\r\n", "ab"));
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 408 "), HasSubstr("\r\nConnection: close\r\n")));
  EXPECT_EQ(ConnectCodeOf(answer), "deadline_exceeded");
}

TEST(HttpBody, IsNoneWhereTheClientLeft) {
  absl::StatusCode code = absl::StatusCode::kOk;
  CallCount ended;
  HttpPortOf port([&](HttpExchange& exchange) {
    code = exchange.ReadBody().status().code();
    ended.Add();
    return true;
  });
  {
    const RawCaller caller(port.address());
    ASSERT_TRUE(caller.Send(HttpRequestOf("POST /call", "Content-Length: 3\r\n", "ab")));
  }
  ended.WaitFor(1);
  port.Stop();
  EXPECT_EQ(code, absl::StatusCode::kCancelled);
}

// Bytes of good requests changed, left out and doubled. An answer is a page, or a Connect error.
TEST(HttpBody, AnswersGarbageWithAnErrorOrNothing) {
  const HttpPortOf port(AnswerError);
  const std::string good[] = {
      HttpRequestOf("POST /call?a=%20b", "Content-Length: 12\r\nAccept-Encoding: gzip;q=0.5, *\r\n",
                    "{\"model\": {}}"),
      HttpRequestOf("POST /call", absl::StrCat(kChunked, "Content-Type: application/json\r\n"),
                    "5\r\n{\"a\":\r\nb\r\n{\"b\": 1.5}}\r\n0\r\n\r\n"),
      HttpRequestOf("GET /metrics", "Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n")};
  std::mt19937 random(1);
  for (int i = 0; i < 10'000; ++i) {
    std::string request = good[static_cast<size_t>(i) % 3];
    for (int edit = 0; edit < 1 + i % 4; ++edit) {
      const size_t at = random() % request.size();
      switch (random() % 4) {
        case 0:
          request[at] = static_cast<char>(random());
          break;
        case 1:
          request.erase(at, 1 + random() % 8);
          break;
        case 2:
          request.insert(at, request.substr(random() % request.size(), random() % 24));
          break;
        default:
          request.insert(at, 1, "\0\r\n%:;, 0f"[random() % 11]);
      }
      if (request.empty()) request = "x";
    }
    const RawCaller caller(port.address());
    ASSERT_TRUE(caller.Send(request));
    shutdown(caller.descriptor(), SHUT_WR);
    const std::string answer = caller.ReadToEnd();
    if (answer.empty()) continue;
    ASSERT_THAT(answer, StartsWith("HTTP/1.1 ")) << request;
    ASSERT_THAT(answer, Not(StartsWith("HTTP/1.1 500 "))) << request;
    // The last of several: the first may be good.
    const std::string last = answer.substr(answer.rfind("HTTP/1.1 "));
    const bool is_error = last[9] == '4' || last[9] == '5';
    ASSERT_EQ(is_error, !ConnectCodeOf(last).empty()) << request << answer;
  }
}

}  // namespace
}  // namespace sextant::server
