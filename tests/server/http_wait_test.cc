// Calls over HTTP whose client leaves, sends more, or takes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/server/fake_probe.h"
#include "tests/server/http_fixture.h"
#include "tests/server/raw_caller.h"
#include "tests/server/test_certificates.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using Woken = HttpExchange::Woken;
using SystemClock = std::chrono::system_clock;

// A port whose calls wait for `event`, and what ended their waits.
class WaitingPort {
 public:
  explicit WaitingPort(HttpOptions options = {},
                       SystemClock::time_point deadline = SystemClock::time_point::max())
      : port_(
            [this, deadline](HttpExchange& exchange) {
              EXPECT_TRUE(exchange.ReadBody().ok());
              started_.Add();
              woken_ = exchange.Await(event_.descriptor(), deadline);
              ended_.Add();
              exchange.Answer(TextAnswer("end"));
              return true;
            },
            std::move(options)) {}

  const std::string& address() const { return port_.address(); }
  const Event& event() const { return event_; }
  void WaitForStart() { started_.WaitFor(1); }
  Woken WaitForEnd() {
    ended_.WaitFor(1);
    return woken_;
  }
  void Stop() { port_.Stop(); }

 private:
  Event event_;
  CallCount started_;
  CallCount ended_;
  Woken woken_ = Woken::kEvent;
  HttpPortOf port_;
};

TEST(HttpAwait, EndsWithTheEvent) {
  WaitingPort port;
  const RawCaller caller(port.address());
  ASSERT_TRUE(caller.Send(PostOf("abc")));
  port.WaitForStart();
  port.event().Set();
  EXPECT_EQ(port.WaitForEnd(), Woken::kEvent);
  EXPECT_THAT(caller.ReadToEnd(), EndsWith("\r\n\r\nend"));
}

TEST(HttpAwait, EndsWithTheClient) {
  WaitingPort port;
  RawCaller caller(port.address());
  ASSERT_TRUE(caller.Send(PostOf("abc")));
  port.WaitForStart();
  caller.Close();
  EXPECT_EQ(port.WaitForEnd(), Woken::kClientLeft);
}

// The end comes after bytes that nobody has read.
TEST(HttpAwait, EndsWithAClientThatSentMore) {
  WaitingPort port;
  RawCaller caller(port.address());
  ASSERT_TRUE(caller.Send(PostOf("abc") + HttpRequestOf("GET /healthz")));
  port.WaitForStart();
  ASSERT_TRUE(caller.Send(HttpRequestOf("GET /healthz")));
  caller.Close();
  EXPECT_EQ(port.WaitForEnd(), Woken::kClientLeft);
}

// The wait begins, and its deadline has passed, when the next request has come.
TEST(HttpAwait, GoesOnWhereTheNextRequestHasCome) {
  CallCount started;
  CallCount sent;
  const Event event;
  const HttpPortOf port([&](HttpExchange& exchange) {
    started.Add();
    sent.WaitFor(1);
    EXPECT_EQ(exchange.Await(event.descriptor(), SystemClock::now()), Woken::kDeadline);
    exchange.Answer(TextAnswer("end"));
    return true;
  });
  const RawCaller caller(port.address());
  ASSERT_TRUE(caller.Send(HttpRequestOf("POST /call", "Content-Length: 0\r\n")));
  started.WaitFor(1);
  ASSERT_TRUE(caller.Send(HttpRequestOf("GET /healthz", "Connection: close\r\n")));
  sent.Add();
  EXPECT_THAT(caller.ReadToEnd(), AllOf(HasSubstr("\r\n\r\nend"), EndsWith("\r\n\r\nok\n")));
}

TEST(HttpAwait, EndsAtItsDeadline) {
  WaitingPort port({}, SystemClock::now());
  const RawCaller caller(port.address());
  ASSERT_TRUE(caller.Send(PostOf("abc")));
  EXPECT_EQ(port.WaitForEnd(), Woken::kDeadline);
}

TEST(HttpAwait, EndsWithTheServer) {
  WaitingPort port;
  const RawCaller caller(port.address());
  ASSERT_TRUE(caller.Send(PostOf("abc")));
  port.WaitForStart();
  port.Stop();
  EXPECT_EQ(port.WaitForEnd(), Woken::kClientLeft);
}

// A TLS connection to `address`, whose certificate is not looked at.
class TlsCaller {
 public:
  explicit TlsCaller(const std::string& address)
      : caller_(address),
        context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        ssl_(SSL_new(context_.get()), SSL_free) {
    SSL_set_fd(ssl_.get(), caller_.descriptor());
    EXPECT_EQ(SSL_connect(ssl_.get()), 1);
  }
  void Send(const std::string& text) {
    EXPECT_EQ(SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())),
              static_cast<int>(text.size()));
  }
  std::string ReadToEnd() {
    std::string out;
    char bytes[512];
    for (int count = 0; (count = SSL_read(ssl_.get(), bytes, sizeof(bytes))) > 0;) {
      out.append(bytes, static_cast<size_t>(count));
    }
    return out;
  }
  void Close() { caller_.Close(); }

 private:
  RawCaller caller_;
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl_;
};

std::unique_ptr<TlsContext> OwnTls() {
  const CertificatePem own = TestAuthority("fleet").Sign({});
  const TlsFiles files = {.certificate = TemporaryFile("wait_certificate"),
                          .key = TemporaryFile("wait_key")};
  WriteFile(files.certificate, own.certificate);
  WriteFile(files.key, own.key);
  auto tls = TlsContext::Load(files);
  EXPECT_TRUE(tls.ok()) << tls.status();
  return *std::move(tls);
}

TEST(HttpAwait, SeesAClientLeaveThatSpeaksTls) {
  const auto tls = OwnTls();
  HttpOptions options;
  options.tls = tls.get();
  WaitingPort port(options);
  TlsCaller caller(port.address());
  caller.Send(PostOf("abc"));
  port.WaitForStart();
  caller.Send(HttpRequestOf("GET /healthz"));
  caller.Close();
  EXPECT_EQ(port.WaitForEnd(), Woken::kClientLeft);
}

TEST(HttpAwait, EndsWithTheEventOverTls) {
  const auto tls = OwnTls();
  HttpOptions options;
  options.tls = tls.get();
  WaitingPort port(options);
  TlsCaller caller(port.address());
  caller.Send(PostOf("abc"));
  port.WaitForStart();
  port.event().Set();
  EXPECT_THAT(caller.ReadToEnd(), EndsWith("\r\n\r\nend"));
}

TEST(HttpExchange, KnowsItsRequestAndItsCaller) {
  const HttpPortOf port([](HttpExchange& exchange) {
    EXPECT_EQ(exchange.method(), "GET");
    EXPECT_EQ(exchange.path(), "/a b");
    EXPECT_EQ(exchange.Parameter("x"), "1&2");
    EXPECT_EQ(exchange.Header("tRaceparent"), "00-1");
    EXPECT_EQ(exchange.certificate_name(), "");
    exchange.Answer(TextAnswer(exchange.peer()));
    return true;
  });
  const RawCaller caller(port.address());
  sockaddr_in own = {};
  socklen_t length = sizeof(own);
  ASSERT_EQ(getsockname(caller.descriptor(), reinterpret_cast<sockaddr*>(&own), &length), 0);
  ASSERT_TRUE(caller.Send(
      HttpRequestOf("GET /a%20b?x=1%262", "Traceparent: 00-1\r\nConnection: close\r\n")));
  EXPECT_THAT(caller.ReadToEnd(),
              EndsWith(absl::StrCat("\r\n\r\nipv4:127.0.0.1:", ntohs(own.sin_port))));
}

// As much as it takes to fill the sockets of both ends, and no answer without end.
TEST(HttpStream, EndsWhereTheClientTakesNothing) {
  CallCount ended;
  HttpPortOf port([&](HttpExchange& exchange) {
    exchange.BeginStream("application/connect+json");
    while (exchange.Write(std::string(100'000, 'x'))) {
    }
    ended.Add();
    return true;
  });
  const RawCaller caller(port.address());
  ASSERT_TRUE(caller.Send(PostOf("")));
  ended.WaitFor(1);
}

TEST(HttpStream, IsInChunksAndKeepsTheConnection) {
  const HttpPortOf port([](HttpExchange& exchange) {
    EXPECT_TRUE(exchange.ReadBody().ok());
    exchange.BeginStream("application/connect+json");
    EXPECT_TRUE(exchange.Write("0123456789abcdef"));
    EXPECT_TRUE(exchange.Write(""));
    EXPECT_TRUE(exchange.Write("end"));
    exchange.EndStream();
    return true;
  });
  const std::string answer =
      port.AnswerTo(HttpRequestOf("POST /call", "Content-Length: 1\r\n", "x") + PostOf(""));
  const std::string chunks = "\r\n\r\n10\r\n0123456789abcdef\r\n3\r\nend\r\n0\r\n\r\n";
  EXPECT_THAT(answer, AllOf(HasSubstr(chunks + "HTTP/1.1 200 "), EndsWith(chunks),
                            HasSubstr("\r\nTransfer-Encoding: chunked\r\n")));
}

TEST(HttpStream, IsPlainForClientsThatKnowNoChunks) {
  const HttpPortOf port([](HttpExchange& exchange) {
    exchange.BeginStream("application/connect+json");
    exchange.Write("abc");
    exchange.EndStream();
    return true;
  });
  EXPECT_THAT(port.AnswerTo("GET /call HTTP/1.0\r\nHost: localhost\r\n\r\n"),
              AllOf(EndsWith("\r\n\r\nabc"), Not(HasSubstr("chunked"))));
}

}  // namespace
}  // namespace sextant::server
