// The server's ports: how many connections they hold, TLS, and callers that are not let in.
#include "server/listen/listener.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/server/descriptor_limit.h"
#include "tests/server/raw_caller.h"
#include "tests/server/test_certificates.h"
#include "tests/server/test_server.h"
#include "tests/server/wire_values.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;

// The sockets that a listener hands out, closed at its end.
class Taken {
 public:
  ~Taken() {
    for (const int connection : all_) close(connection);
  }
  void Add(int connection) {
    const std::lock_guard<std::mutex> lock(mutex_);
    all_.push_back(connection);
    changed_.notify_all();
  }
  void WaitFor(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return all_.size() >= count; });
  }
  void CloseOne() {
    const std::lock_guard<std::mutex> lock(mutex_);
    close(all_.back());
    all_.pop_back();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> all_;
};

void WaitUntil(const std::function<bool()>& holds) {
  while (!holds()) std::this_thread::yield();
}

std::unique_ptr<Listener> ListenerFor(size_t max_connections, Taken& taken) {
  auto listener = Listener::Open(
      {.addresses = {"127.0.0.1:0"}, .flag = "--listen", .max_connections = max_connections});
  EXPECT_TRUE(listener.ok()) << listener.status();
  (*listener)->Serve([&taken](int connection) { taken.Add(connection); });
  return *std::move(listener);
}

TEST(Listener, ClosesWhatIsBeyondItsLimitUntilAnotherEnds) {
  Taken taken;
  const auto listener = ListenerFor(2, taken);
  const std::string address = listener->addresses()[0];
  const RawCaller first(address);
  const RawCaller second(address);
  taken.WaitFor(2);
  EXPECT_FALSE(listener->HasRoom());
  RawCaller(address).ReadToEnd();
  taken.CloseOne();
  WaitUntil([&] { return listener->HasRoom(); });
  const RawCaller third(address);
  taken.WaitFor(2);
}

TEST(Listener, GoesOnWhenDescriptorsAreFreeAgain) {
  Taken taken;
  const auto listener = ListenerFor(100, taken);
  const std::string address = listener->addresses()[0];
  absl::optional<DescriptorLimit> limit(FirstFreeDescriptor() + 1);
  const RawCaller waits(address);  // takes the last one
  WaitUntil([&] { return !listener->HasRoom(); });
  limit.reset();
  taken.WaitFor(1);
  WaitUntil([&] { return listener->HasRoom(); });
}

TEST(Listener, NamesAnAddressThatCantBeHad) {
  Taken taken;
  const auto listener = ListenerFor(1, taken);
  const std::string& address = listener->addresses()[0];
  const auto second =
      Listener::Open({.addresses = {address}, .flag = "--listen", .max_connections = 1});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(address + ": Address already in use (--listen)"));
  for (const char* wrong :
       {"no-such-host.invalid:1", "192.0.2.1:0", "unix:", "unix:/no/such/folder/socket"}) {
    const auto none = Listener::Open({.addresses = {wrong}, .flag = "--listen"});
    EXPECT_THAT(std::string(none.status().message()), HasSubstr(wrong));
  }
}

// A thousand idle connections once closed the port for good, while /readyz said ready.
TEST(Server, ServesAgainWhenIdleConnectionsEnd) {
  ServerOptions options = TestServer::Options();
  options.max_connections = 8;
  const TestServer server(options);
  httplib::Client http("http://" + server.server().http_address());
  std::vector<RawCaller> idle;
  idle.reserve(20);
  for (int i = 0; i < 20; ++i) idle.emplace_back(server.server().grpc_addresses()[0]);
  WaitUntil([&] { return http.Get("/readyz")->status == 503; });
  idle.clear();
  WaitUntil([&] { return http.Get("/readyz")->status == 200; });
  v1::PlanRunResponse response;
  EXPECT_TRUE(server.PlanRun(TestServer::GoodRequest(), &response).ok());
}

TEST(Http, AnswersWhileClientsSendAByteNowAndThen) {
  const TestServer server;
  const std::string address = server.server().http_address();
  std::vector<RawCaller> slow;
  slow.reserve(80);
  for (int i = 0; i < 80; ++i) slow.emplace_back(address);
  for (int round = 0; round < 3; ++round) {
    for (const RawCaller& caller : slow) caller.Send("G");
    const auto answer = httplib::Client("http://" + address).Get("/healthz");
    ASSERT_TRUE(answer) << httplib::to_string(answer.error());
    EXPECT_EQ(answer->status, 200);
  }
}

TEST(Http, EndsARequestWithoutEnd) {
  const TestServer server;
  const RawCaller caller(server.server().http_address());
  ASSERT_TRUE(caller.Send("GET / HTTP/1.1\r\n"));
  int lines = 0;
  while (lines < 1000 && caller.Send("X-Name: " + std::string(992, 'x') + "\r\n")) ++lines;
  EXPECT_EQ(caller.ReadToEnd().find("200"), std::string::npos);
}

constexpr char kScheduler[] = "spiffe://fleet/scheduler";

std::string Write(const std::string& name, const std::string& text) {
  std::string path = TemporaryFile(name);
  std::ofstream(path + ".new") << text;
  EXPECT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
  return path;
}

void WriteServersFiles(const CertificatePem& pem) {
  Write("key", pem.key);
  Write("certificate", pem.certificate);
}

class Tls : public ::testing::Test {
 protected:
  Tls() {
    WriteServersFiles(authority_.Sign({.common_name = "sextantd"}));
    options_ = TestServer::Options();
    options_.tls_certificate = TemporaryFile("certificate");
    options_.tls_key = TemporaryFile("key");
    options_.tls_client_ca = Write("ca", authority_.pem());
  }

  CertificatePem Scheduler() const {
    return authority_.Sign({.common_name = "node1", .uri = kScheduler});
  }

  // The result for a caller that trusts `ca` and shows `own`.
  static grpc::Status PlanWith(const TestServer& server, const std::string& ca,
                               const CertificatePem& own, const std::string& token = "") {
    const auto channel = grpc::CreateChannel(
        server.server().grpc_addresses()[0],
        grpc::SslCredentials(
            {.pem_root_certs = ca, .pem_private_key = own.key, .pem_cert_chain = own.certificate}));
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    v1::PlanRunResponse response;
    return v1::PlanningService::NewStub(channel)->PlanRun(&context, TestServer::GoodRequest(),
                                                          &response);
  }

  const TestAuthority authority_{"fleet"};
  ServerOptions options_;
};

TEST_F(Tls, AnswersCallersWithACertificateOfItsAuthority) {
  const TestServer server(options_);
  const grpc::Status status = PlanWith(server, authority_.pem(), Scheduler());
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(Tls, EndsTheHandshakeOfWrongCallers) {
  const TestServer server(options_);
  const TestAuthority stranger("stranger");
  EXPECT_EQ(PlanWith(server, authority_.pem(), {}).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(
      PlanWith(server, authority_.pem(), stranger.Sign({.common_name = "node1"})).error_code(),
      grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(PlanWith(server, authority_.pem(),
                     authority_.Sign({.common_name = "node1", .valid_seconds = -60}))
                .error_code(),
            grpc::StatusCode::UNAVAILABLE);
  // The server's certificate is not of the caller's authority.
  EXPECT_EQ(PlanWith(server, stranger.pem(), Scheduler()).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  v1::PlanRunResponse response;  // in plain text
  EXPECT_EQ(server.PlanRun(TestServer::GoodRequest(), &response).error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(Tls, RefusesAKnownCallerThatIsNotOnTheList) {
  options_.access_file = Write("access", absl::StrCat("* ", kScheduler, "\n"));
  const TestServer server(options_);
  EXPECT_TRUE(PlanWith(server, authority_.pem(), Scheduler()).ok());
  const grpc::Status refused =
      PlanWith(server, authority_.pem(), authority_.Sign({.common_name = "node2"}));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("node2"));
  EXPECT_EQ(RefusalReasonOf(refused), "IDENTITY_REFUSED");
}

TEST_F(Tls, LogsTheNameOfACallerInAscii) {
  options_.log_calls = CallLogLevel::kAll;
  const TestServer server(options_);
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(
      PlanWith(server, authority_.pem(), authority_.Sign({.common_name = "caf\xc3\xa9\x1b[31m\n"}))
          .ok());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("\"caller\":\"caf\\u00e9\\u001b[31m\\n\""));
}

// An authority that checks common names less than URIs may have signed it.
TEST_F(Tls, TakesNoCommonNameForAUri) {
  options_.access_file = Write("access", absl::StrCat("* ", kScheduler, "\n"));
  const TestServer server(options_);
  EXPECT_EQ(
      PlanWith(server, authority_.pem(), authority_.Sign({.common_name = kScheduler})).error_code(),
      grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(Tls, TakesATokenInPlaceOfACertificate) {
  options_.tls_client_ca = "";
  options_.token_file =
      Write("tokens", "slurm 0123456789abcdef\nk8s fedcba9876543210 2020-01-01T00:00:00Z\n");
  const TestServer server(options_);
  EXPECT_TRUE(PlanWith(server, authority_.pem(), {}, "0123456789abcdef").ok());
  const grpc::Status expired = PlanWith(server, authority_.pem(), {}, "fedcba9876543210");
  EXPECT_EQ(expired.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(RefusalReasonOf(expired), "IDENTITY_MISSING");
  EXPECT_EQ(PlanWith(server, authority_.pem(), {}).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(Tls, ShowsANewCertificateWithoutARestart) {
  const TestServer server(options_);
  const TestAuthority next("next");
  Write("certificate", "half-written");
  EXPECT_TRUE(PlanWith(server, authority_.pem(), Scheduler()).ok());
  WriteServersFiles(next.Sign({.common_name = "sextantd"}));
  while (!PlanWith(server, next.pem(), Scheduler()).ok()) {
  }
}

// Certificates of tests begin an hour ago.
TEST_F(Tls, ShowsWhenItsCertificateExpires) {
  const auto expiry = [](const TlsContext& tls) { return tls.Collect().at(0).metric.at(0).gauge; };
  const auto tls = TlsContext::Load(
      {.certificate = options_.tls_certificate, .key = options_.tls_key, .client_ca = ""});
  ASSERT_TRUE(tls.ok()) << tls.status();
  const double first = expiry(**tls).value;
  const double left = first - absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  EXPECT_GT(left, 0);
  EXPECT_LE(left, 3600);
  WriteServersFiles(authority_.Sign({.common_name = "sextantd", .valid_seconds = 86400}));
  const auto renewed = TlsContext::Load(
      {.certificate = options_.tls_certificate, .key = options_.tls_key, .client_ca = ""});
  EXPECT_NEAR(expiry(**renewed).value - first, 86400 - 3600, 60);
}

TEST(NameOfHolder, IsAUriOrACommonNameThatIsNone) {
  EXPECT_EQ(NameOfHolder(kScheduler, "node1"), kScheduler);
  for (const char* name : {"node1", "10.0.0.1", ":80", "1a:b", "a b:c", "*.fleet", ""}) {
    EXPECT_EQ(NameOfHolder("", name), name);
  }
  for (const char* name : {kScheduler, "urn:x", "SPIFFE:x", "a+b-c.1:x"}) {
    EXPECT_EQ(NameOfHolder("", name), "") << name;
  }
}

TEST_F(Tls, WillNotStartWithFilesThatAreWrong) {
  const auto reason = [this] { return std::string(Server::Start(options_).status().message()); };
  WriteServersFiles(authority_.Sign({.valid_seconds = -60}));
  EXPECT_THAT(reason(), HasSubstr("the certificate has expired"));
  WriteServersFiles(authority_.Sign({}));
  options_.tls_client_crl = Write("crl", "nothing");
  EXPECT_THAT(reason(), HasSubstr("--tls_client_crl="));
  Write("crl", authority_.Revocations(-60));
  EXPECT_THAT(reason(), HasSubstr("a list has expired"));
  Write("ca", "nothing");
  EXPECT_THAT(reason(), HasSubstr("--tls_client_ca="));
  Write("key", authority_.Sign({}).key);
  EXPECT_THAT(reason(), HasSubstr("--tls_key="));
  Write("certificate", "nothing");
  EXPECT_THAT(reason(), HasSubstr("--tls_certificate="));
}

TEST_F(Tls, LeavesUnixSocketsPlain) {
  options_.listen = {"unix:" + TemporaryFile("socket"), "127.0.0.1:0"};
  const TestServer server(options_);
  v1::PlanRunResponse response;
  EXPECT_TRUE(server.PlanRun(TestServer::GoodRequest(), &response).ok());
}

TEST_F(Tls, HoldsForTheHttpPortButHealthIsOpen) {
  const TestServer server(options_);
  const std::string address = "https://" + server.server().http_address();
  const auto statuses = [&](httplib::Client& client) {
    client.set_ca_cert_path(options_.tls_client_ca);
    std::vector<int> out;
    for (const char* page : {"/healthz", "/readyz", "/metrics", "/"}) {
      const auto answer = client.Get(page);
      out.push_back(answer ? answer->status : -1);
    }
    return out;
  };
  const CertificatePem pem = Scheduler();
  httplib::Client known(address, Write("own", pem.certificate), Write("own_key", pem.key));
  EXPECT_THAT(statuses(known), ::testing::ElementsAre(200, 200, 200, 200));
  httplib::Client unknown(address);
  EXPECT_THAT(statuses(unknown), ::testing::ElementsAre(200, 200, 401, 200));
  const CertificatePem strange = TestAuthority("stranger").Sign({.common_name = "node1"});
  httplib::Client wrong(address, Write("wrong", strange.certificate),
                        Write("wrong_key", strange.key));
  EXPECT_THAT(statuses(wrong), ::testing::ElementsAre(-1, -1, -1, -1));
  httplib::Client plain("http://" + server.server().http_address());
  EXPECT_FALSE(plain.Get("/healthz"));
}

TEST_F(Tls, LooksUpEachAuthorityAboveACaller) {
  const TestAuthority rack("rack", &authority_);
  const std::string own = rack.Sign({.common_name = "node1"}).certificate;
  const auto lets_in = [&](const std::string& lists) {
    const auto tls = TlsContext::Load({.certificate = options_.tls_certificate,
                                       .key = options_.tls_key,
                                       .client_ca = options_.tls_client_ca,
                                       .client_crl = Write("crl", lists)});
    EXPECT_TRUE(tls.ok()) << tls.status();
    return (*tls)->LetsIn(own, rack.pem());
  };
  EXPECT_TRUE(lets_in(authority_.Revocations(3600) + rack.Revocations(3600)));
  EXPECT_FALSE(lets_in(authority_.Revocations(3600)));
  EXPECT_FALSE(lets_in(rack.Revocations(3600)));
}

// By the same names as on the gRPC port.
TEST_F(Tls, KnowsCallersOfTheHttpPort) {
  options_.access_file = Write("access", absl::StrCat("metrics ", kScheduler, "\n"));
  const TestServer server(options_);
  const auto status_for = [&](const CertificatePem& pem) {
    httplib::Client client("https://" + server.server().http_address(),
                           Write("own", pem.certificate), Write("own_key", pem.key));
    client.set_ca_cert_path(options_.tls_client_ca);
    const auto answer = client.Get("/metrics");
    return answer ? answer->status : -1;
  };
  EXPECT_EQ(status_for(Scheduler()), 200);
  EXPECT_EQ(status_for(authority_.Sign({.common_name = "node2"})), 403);
  EXPECT_EQ(status_for(authority_.Sign({.common_name = kScheduler})), 401);
}

}  // namespace
}  // namespace sextant::server
