// Web pages, bombs and crowds at the HTTP port.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/listen/http_failure.h"
#include "server/listen/http_gzip.h"
#include "server/listen/http_head.h"
#include "server/listen/http_reply.h"
#include "server/page/page_files.h"
#include "tests/server/fake_probe.h"
#include "tests/server/http_fixture.h"
#include "tests/server/raw_caller.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Woken = HttpExchange::Woken;

constexpr auto kNoDeadline = std::chrono::system_clock::time_point::max();

std::string GetOf(const std::string& path, const std::string& host,
                  const std::string& headers = "") {
  return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", host, "\r\n", headers,
                      "Connection: close\r\n\r\n");
}

bool AnswerYes(HttpExchange& exchange) {
  exchange.Answer(TextAnswer("yes"));
  return true;
}

TEST(HttpGuard, KnowsItsOwnHosts) {
  const std::vector<std::string> names = {"planner.example"};
  for (const char* host :
       {"127.0.0.1", "127.0.0.1:9464", "192.0.2.7:1", "[::1]", "[::1]:9464", "[2001:db8::7]:80",
        "localhost", "LOCALHOST:9464", "planner.example", "Planner.Example:443", "localhost:"}) {
    EXPECT_TRUE(CheckHost(host, names).ok()) << host;
  }
  for (const char* host :
       {"", "evil.example", "evil.example:9464", "127.0.0.1.evil.example", "localhost.evil.example",
        "planner.example.evil.example", "2130706433", "0x7f.1", "127.1", "::1", "[::1", "[evil]",
        "[::1]evil.example", "localhost:9464x", "127.0.0.1:9464:1", "a@localhost", "127.0.0.1 "}) {
    EXPECT_EQ(CheckHost(host, names).code(), absl::StatusCode::kPermissionDenied) << host;
  }
}

TEST(HttpGuard, ComparesTheOriginWithTheHost) {
  const auto check = [](const std::string& headers, bool is_encrypted = false) {
    return CheckOrigin(ReadHttpHead(absl::StrCat("POST / HTTP/1.1\r\nHost: a:1\r\n", headers,
                                                 "Content-Length: 0\r\n\r\n")),
                       is_encrypted)
        .ok();
  };
  EXPECT_TRUE(check(""));
  EXPECT_TRUE(check("Origin: http://a:1\r\n"));
  EXPECT_TRUE(check("Origin: https://A:1\r\n"));
  EXPECT_TRUE(check("Origin: https://a:1\r\n", true));
  EXPECT_FALSE(check("Origin: http://a:1\r\n", true));
  for (const char* origin : {"http://a", "http://a:2", "http://b:1", "null", "a:1", "http://a:1/",
                             "http://a:1, http://b:1", "ftp://a:1"}) {
    EXPECT_FALSE(check(absl::StrCat("Origin: ", origin, "\r\n"))) << origin;
  }
  EXPECT_TRUE(check("Sec-Fetch-Site: same-origin\r\n"));
  EXPECT_FALSE(check("Sec-Fetch-Site: cross-site\r\n"));
  EXPECT_FALSE(check("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"));
}

TEST(HttpSafety, RefusesAForeignHostBeforeAnythingElse) {
  CallCount calls;
  const HttpPortOf port([&](HttpExchange& exchange) {
    calls.Add();
    return AnswerYes(exchange);
  });
  for (const char* path : {"/call", "/metrics", "/", "/version", "/openapi.json"}) {
    const std::string answer = port.AnswerTo(GetOf(path, "evil.example"));
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 403 "), HasSubstr("--http_host"))) << path;
    EXPECT_EQ(ConnectCodeOf(answer), "permission_denied") << path;
    EXPECT_THAT(port.AnswerTo(GetOf(path, "127.0.0.1:9", "Origin: http://evil.example\r\n")),
                StartsWith("HTTP/1.1 403 "))
        << path;
  }
  EXPECT_EQ(calls.count(), 0);
  for (const char* path : {"/healthz", "/readyz"}) {
    EXPECT_THAT(port.AnswerTo(GetOf(path, "evil.example", "Origin: http://evil.example\r\n")),
                StartsWith("HTTP/1.1 200 "))
        << path;
  }
}

TEST(HttpSafety, KnowsTheNamesOfTheFlag) {
  HttpOptions options;
  options.hosts = {"planner.example"};
  const HttpPortOf port(AnswerYes, std::move(options));
  EXPECT_THAT(port.AnswerTo(GetOf("/call", "planner.example:80")), EndsWith("\r\n\r\nyes"));
  EXPECT_THAT(port.AnswerTo(GetOf("/call", "[::1]:9464")), EndsWith("\r\n\r\nyes"));
}

// Who shows a token was not misled by a page.
TEST(HttpSafety, TakesAnyHostFromAKnownCaller) {
  const std::string tokens = TemporaryFile("safety_tokens");
  WriteFile(tokens, "known 0123456789abcdef\n");
  const auto access = Access::Load({.demands_certificate = false, .token_file = tokens});
  ASSERT_TRUE(access.ok()) << access.status();
  HttpOptions options;
  options.access = access->get();
  const HttpPortOf port(AnswerYes, std::move(options));
  const auto with = [&](const std::string& token) {
    return port.AnswerTo(GetOf("/call", "evil.example", "Authorization: Bearer " + token + "\r\n"));
  };
  EXPECT_THAT(with("0123456789abcdef"), EndsWith("\r\n\r\nyes"));
  EXPECT_THAT(with("0123456789abcdeX"), StartsWith("HTTP/1.1 403 "));
}

// The body never comes: an answer shows that none is waited for.
TEST(HttpSafety, RefusesACompressedBodyUnread) {
  CallCount calls;
  const HttpPortOf port([&](HttpExchange& exchange) {
    calls.Add();
    return HttpPortOf::AnswerLength(exchange);
  });
  for (const char* encoding : {"gzip", "br", "deflate", "zstd", "identity, gzip"}) {
    const std::string answer = port.AnswerTo(HttpRequestOf(
        "POST /call",
        absl::StrCat("Content-Length: 291000\r\nContent-Encoding: ", encoding, "\r\n")));
    EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 501 "), HasSubstr("identity"))) << encoding;
    EXPECT_EQ(ConnectCodeOf(answer), "unimplemented") << encoding;
  }
  EXPECT_THAT(port.AnswerTo(PostOf("", "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n")),
              StartsWith("HTTP/1.1 501 "));
  EXPECT_EQ(calls.count(), 0);
  EXPECT_THAT(port.AnswerTo(PostOf("abc", "Content-Encoding: identity\r\n")),
              HasSubstr("length 3"));
}

TEST(HttpGzip, IsTakenWhereTheClientSaysSo) {
  for (const char* takes :
       {"gzip", "br, gzip", "GZIP;q=0.5", "*", "gzip ; q=1", "br;q=1,*;q=0.1"}) {
    EXPECT_TRUE(TakesGzip(takes)) << takes;
  }
  for (const char* not_taken : {"", "br", "identity", "gzip;q=0", "gzip;q=0.000", "*;q=0",
                                "gzip;q=0, *", "gzip;q=nan", "gzip;q=-1", "gzipped"}) {
    EXPECT_FALSE(TakesGzip(not_taken)) << not_taken;
  }
}

TEST(HttpGzip, RoundTrips) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += absl::StrCat(i, i % 7 == 0 ? "\n" : " ");
  EXPECT_LT(Gzip(text).size(), text.size() / 2);
  EXPECT_EQ(Inflate(Gzip(text)), text);
  EXPECT_EQ(Inflate(Gzip("")), "");
}

TEST(HttpSafety, CompressesLargeAnswers) {
  const std::string large(10'000, 'x');
  const HttpPortOf port([&](HttpExchange& exchange) {
    exchange.Answer(TextAnswer(exchange.path() == "/large" ? large : "small"));
    return true;
  });
  const auto answer = [&](const std::string& path, const std::string& encodings) {
    return port.AnswerTo(GetOf(path, "localhost", "Accept-Encoding: " + encodings + "\r\n"));
  };
  const auto vary = HasSubstr("\r\nVary: Accept-Encoding\r\n");
  const auto encoded = HasSubstr("\r\nContent-Encoding: ");
  const std::string gzip = answer("/large", "br, gzip");
  EXPECT_THAT(gzip, AllOf(vary, HasSubstr("\r\nContent-Encoding: gzip\r\n")));
  EXPECT_EQ(Inflate(gzip.substr(gzip.find("\r\n\r\n") + 4)), large);
  EXPECT_THAT(answer("/large", "br"), AllOf(vary, Not(encoded), EndsWith("\r\n\r\n" + large)));
  EXPECT_THAT(answer("/large", "gzip;q=0"), AllOf(vary, Not(encoded)));
  EXPECT_THAT(answer("/small", "gzip"), AllOf(Not(vary), Not(encoded), EndsWith("small")));
}

TEST(HttpSafety, DescribesTheApi) {
  const HttpPortOf port;
  const std::string plain = port.AnswerTo(GetOf("/openapi.json", "localhost"));
  const std::string gzip =
      port.AnswerTo(GetOf("/openapi.json", "localhost", "Accept-Encoding: gzip\r\n"));
  const auto body = [](const std::string& answer) {
    return answer.substr(answer.find("\r\n\r\n") + 4);
  };
  EXPECT_TRUE(nlohmann::json::parse(body(plain)).contains("openapi"));
  EXPECT_EQ(Inflate(body(gzip)), body(plain));
  const size_t tag = plain.find("ETag: ") + 6;
  const std::string known = plain.substr(tag, plain.find("\r\n", tag) - tag);
  EXPECT_THAT(
      port.AnswerTo(GetOf("/openapi.json", "localhost", "If-None-Match: " + known + "\r\n")),
      AllOf(StartsWith("HTTP/1.1 304 "), EndsWith("\r\n\r\n")));
}

// A browser gets the page, where there is one; anybody else words.
TEST(HttpSafety, HasAPageForBrowsers) {
  const HttpPortOf port;
  const auto html = [&](const std::string& more) {
    return port.AnswerTo(GetOf("/", "localhost", "Accept: text/html,*/*;q=0.8\r\n" + more));
  };
  EXPECT_THAT(port.AnswerTo(GetOf("/", "localhost")), HasSubstr("<h1>sextantd "));
  if (!PageFileOf("/").has_value()) {
    EXPECT_THAT(html(""), HasSubstr("was built without its page"));
    GTEST_SKIP() << "built without a page";
  }
  const std::string page = html("");
  const std::string gzip = html("Accept-Encoding: gzip\r\n");
  EXPECT_THAT(
      page, AllOf(HasSubstr("\r\nContent-Security-Policy: default-src 'none'; script-src "),
                  HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"),
                  HasSubstr("\r\nReferrer-Policy: no-referrer\r\n"),
                  HasSubstr("\r\nCache-Control: no-cache\r\n"), HasSubstr("\r\nVary: Accept\r\n")));
  EXPECT_EQ(Inflate(gzip.substr(gzip.find("\r\n\r\n") + 4)),
            page.substr(page.find("\r\n\r\n") + 4));
  // Its files have a hash in their names: they stay what they are.
  const size_t script = page.find("page/page.");
  const std::string path = "/" + page.substr(script, page.find('"', script) - script);
  EXPECT_THAT(port.AnswerTo(GetOf(path, "localhost")),
              AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr(", immutable\r\n")));
  EXPECT_THAT(port.AnswerTo(HttpRequestOf("HEAD " + path, "Connection: close\r\n")),
              AllOf(StartsWith("HTTP/1.1 200 "), EndsWith("\r\n\r\n")));
  EXPECT_THAT(port.AnswerTo(GetOf("/page/page.js", "localhost")), Not(HasSubstr("immutable")));
}

TEST(CallPlaces, KeepsHalfForHostsWithoutCalls) {
  CallPlaces places(5);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(places.Take("a")) << i;
  EXPECT_FALSE(places.HasPlaceFor("a"));
  EXPECT_FALSE(places.Take("a"));
  EXPECT_TRUE(places.HasPlaceFor("b"));
  EXPECT_TRUE(places.Take("b"));
  EXPECT_FALSE(places.Take("b"));  // its second
  EXPECT_TRUE(places.Take("c"));
  EXPECT_FALSE(places.HasPlaceFor("d"));
  EXPECT_FALSE(places.Take("d"));
  // A free place is for hosts without calls while half of them are taken.
  places.Release("a");
  EXPECT_FALSE(places.Take("a"));
  EXPECT_TRUE(places.Take("d"));
  for (const char* host : {"a", "a", "b", "c"}) places.Release(host);
  // Hosts whose calls have ended are as good as new.
  EXPECT_TRUE(places.Take("a"));
  EXPECT_TRUE(places.Take("a"));
  EXPECT_FALSE(places.Take("a"));
  EXPECT_TRUE(places.Take("b"));
}

// Calls that wait take their share of the threads, and no more; and one host's, half of that.
TEST(HttpSafety, AnswersHealthWhileAllCallsAreTaken) {
  constexpr int kCalls = 24;  // of 32 threads: 64 connections
  CallCount started;
  Event end;
  HttpPortOf port([&](HttpExchange& exchange) {
    started.Add();
    EXPECT_EQ(exchange.Await(end.descriptor(), kNoDeadline), Woken::kEvent);
    return AnswerYes(exchange);
  });
  std::vector<RawCaller> callers;
  const auto call_from = [&](int host) {
    callers.emplace_back(port.address(), host);
    ASSERT_TRUE(callers.back().Send(PostOf("")));
    started.WaitFor(static_cast<int>(callers.size()));
  };
  // Its body never comes.
  const std::string without_body = HttpRequestOf("POST /call", "Content-Length: 1000\r\n");
  for (int i = 0; i < kCalls / 2; ++i) call_from(1);
  EXPECT_THAT(port.AnswerTo(without_body), StartsWith("HTTP/1.1 503 "));
  for (int host = 2; callers.size() < kCalls; ++host) call_from(host);
  const std::string refused = port.AnswerTo(without_body, 99);
  EXPECT_THAT(refused, AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("\r\nRetry-After: 1\r\n")));
  EXPECT_EQ(ConnectCodeOf(refused), "unavailable");
  for (const char* path : {"/healthz", "/readyz", "/metrics"}) {
    EXPECT_THAT(port.AnswerTo(GetOf(path, "localhost")), StartsWith("HTTP/1.1 200 ")) << path;
  }
  // None that computes gives way to newcomers.
  std::vector<RawCaller> slow;
  for (int i = 0; i < 40; ++i) slow.emplace_back(port.address());
  EXPECT_THAT(port.AnswerTo(GetOf("/healthz", "localhost")), StartsWith("HTTP/1.1 200 "));
  end.Set();
  for (const RawCaller& caller : callers) EXPECT_THAT(caller.ReadToEnd(), EndsWith("yes"));
  EXPECT_EQ(started.count(), kCalls);
  EXPECT_THAT(port.AnswerTo(PostOf("")), EndsWith("yes"));
}

// Clients that take their time with their bodies hold connections, which give way, and no places.
TEST(HttpSafety, TakesCallsWhileOthersSendTheirBodies) {
  constexpr int kSlow = 40;  // of 32 threads, 24 of them for calls
  HttpPortOf port([](HttpExchange& exchange) {
    const absl::StatusOr<std::string> body = exchange.ReadBody();
    return body.ok() ? AnswerYes(exchange) : (exchange.Answer(FailureAnswer(body.status())), true);
  });
  std::vector<RawCaller> slow;
  for (int i = 0; i < kSlow; ++i) {
    slow.emplace_back(port.address());
    ASSERT_TRUE(slow.back().Send(HttpRequestOf("POST /call", "Content-Length: 1000\r\n")));
  }
  EXPECT_THAT(port.AnswerTo(PostOf("a body")), EndsWith("yes"));
}

}  // namespace
}  // namespace sextant::server
