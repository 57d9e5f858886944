#include "server/fleet/prometheus_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <fstream>
#include <latch>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/server/test_certificates.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::chrono::milliseconds kLong(20'000);

constexpr char kOneSample[] =
    R"({"status":"success","data":{"resultType":"vector","result":[)"
    R"({"metric":{"__name__":"up","UUID":"GPU-1"},"value":[1769860800.1,"6.125e+14"]}]}})";

// An HTTP server in the place of Prometheus.
class FakePrometheus {
 public:
  using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;

  explicit FakePrometheus(Handler handler, const char* path = "/api/v1/query") {
    server_.Post(path, std::move(handler));
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~FakePrometheus() {
    server_.stop();
    thread_.join();
  }

  std::string url() const { return absl::StrCat("http://127.0.0.1:", port_); }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

absl::StatusOr<std::vector<PrometheusSample>> AskPrometheus(
    PrometheusOptions options, std::chrono::milliseconds limit = kLong) {
  auto api = PrometheusApi::Of(options);
  if (!api.ok()) return api.status();
  return (*api)->Query("up{a=\"b&c\"} + 1", limit);
}

FakePrometheus::Handler Answering(std::string text, int status = 200) {
  return [text = std::move(text), status](const httplib::Request&, httplib::Response& response) {
    response.status = status;
    response.set_content(text, "application/json");
  };
}

TEST(PrometheusApi, PostsTheQueryAndReadsSamples) {
  std::string query;
  std::string timeout;
  const FakePrometheus fake([&](const httplib::Request& request, httplib::Response& response) {
    query = request.get_param_value("query");
    timeout = request.get_param_value("timeout");
    response.set_content(kOneSample, "application/json");
  });
  const auto samples = AskPrometheus({.url = fake.url()});
  ASSERT_THAT(samples, IsOk());
  EXPECT_EQ(query, "up{a=\"b&c\"} + 1");
  EXPECT_EQ(timeout, "20000ms");
  ASSERT_THAT(*samples, SizeIs(1));
  EXPECT_EQ(samples->front().Label("UUID"), "GPU-1");
  EXPECT_EQ(samples->front().Label("none"), "");
  EXPECT_EQ(samples->front().value, 6.125e14);
}

TEST(PrometheusApi, KeepsThePathBeforeTheApis) {
  const FakePrometheus fake(Answering(kOneSample), "/prometheus/api/v1/query");
  EXPECT_THAT(AskPrometheus({.url = fake.url() + "/prometheus/"}), IsOk());
  EXPECT_EQ(AskPrometheus({.url = fake.url()}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// The token is read again for each query.
TEST(PrometheusApi, SendsTokenAndTenant) {
  std::string authorization;
  std::string tenant;
  const FakePrometheus fake([&](const httplib::Request& request, httplib::Response& response) {
    authorization = request.get_header_value("Authorization");
    tenant = request.get_header_value("X-Scope-OrgID");
    response.set_content(kOneSample, "application/json");
  });
  const std::string file = TemporaryFile("fleet_token");
  std::ofstream(file) << "first\n";
  const auto api = PrometheusApi::Of({.url = fake.url(), .token_file = file, .tenant = "team-7"});
  ASSERT_THAT(api, IsOk());
  EXPECT_THAT((*api)->Query("up", kLong), IsOk());
  EXPECT_EQ(authorization, "Bearer first");
  EXPECT_EQ(tenant, "team-7");
  std::ofstream(file) << "second\n";
  EXPECT_THAT((*api)->Query("up", kLong), IsOk());
  EXPECT_EQ(authorization, "Bearer second");
}

TEST(PrometheusApi, ATokenFileWithoutATokenIsAnErrorThatQuotesNone) {
  const FakePrometheus fake(Answering(kOneSample));
  EXPECT_FALSE(AskPrometheus({.url = fake.url(), .token_file = "/nowhere/token"}).ok());
  const std::string file = TemporaryFile("no_token");
  for (const char* text :
       {"", " \n", "secret\nHost: secret\n", "secret secret", "secret\xc3\xa9"}) {
    std::ofstream(file) << text;
    const absl::Status refused = AskPrometheus({.url = fake.url(), .token_file = file}).status();
    EXPECT_THAT(std::string(refused.message()), HasSubstr("--fleet_token_file=" + file)) << text;
    EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("secret"))) << text;
  }
}

TEST(PrometheusApi, ErrorsHaveKindsAndWords) {
  const auto code_and_text = [](int status, const char* body) {
    const FakePrometheus fake(Answering(body, status));
    return AskPrometheus({.url = fake.url()}).status();
  };
  const absl::Status refused = code_and_text(
      422, R"({"status":"error","errorType":"execution","error":"too many samples"})");
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(), "Prometheus answers 422: too many samples");
  EXPECT_EQ(code_and_text(401, "").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code_and_text(403, "no").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code_and_text(503, "down").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code_and_text(302, "").code(), absl::StatusCode::kFailedPrecondition);
}

TEST(PrometheusApi, WhatIsNoInstantVectorIsRefused) {
  for (const char* body :
       {"", "no JSON", "[]", "null", "{}", R"({"data":7})", R"({"data":{"resultType":"matrix"}})",
        R"({"data":{"resultType":"vector"}})", R"({"data":{"resultType":"vector","result":7}})",
        R"({"data":{"resultType":"vector","result":[7]}})",
        R"({"data":{"resultType":"vector","result":[{}]}})",
        R"({"data":{"resultType":"vector","result":[{"metric":{},"value":[1]}]}})",
        R"({"data":{"resultType":"vector","result":[{"metric":{},"value":[1,2]}]}})",
        R"({"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"x"]}]}})",
        R"({"data":{"resultType":"vector","result":[{"metric":{"a":1},"value":[1,"2"]}]}})",
        "{\"data\":{\"resultType\":\"vector\",\"result\":[{\"metric\":{\"a\":\"\xff\"}}]}}"}) {
    const FakePrometheus fake(Answering(body));
    EXPECT_EQ(AskPrometheus({.url = fake.url()}).status().code(), absl::StatusCode::kDataLoss)
        << body;
  }
  const FakePrometheus empty(Answering(R"({"data":{"resultType":"vector","result":[]}})"));
  const auto samples = AskPrometheus({.url = empty.url()});
  ASSERT_THAT(samples, IsOk());
  EXPECT_THAT(*samples, IsEmpty());
}

// Thanos: one of its stores did not answer.
TEST(PrometheusApi, AnAnswerInPartIsRefused) {
  std::string partial;
  const FakePrometheus fake([&](const httplib::Request& request, httplib::Response& response) {
    partial = request.get_param_value("partial_response");
    response.set_content(R"({"status":"success","warnings":["store-2: unavailable"],)"
                         R"("data":{"resultType":"vector","result":[]}})",
                         "application/json");
  });
  const absl::Status status = AskPrometheus({.url = fake.url()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "Prometheus' answer may be incomplete: store-2: unavailable");
  EXPECT_EQ(partial, "false");
}

// In chunks, as Go's servers send what is long.
TEST(PrometheusApi, ReadsChunks) {
  const FakePrometheus fake([](const httplib::Request&, httplib::Response& response) {
    response.set_chunked_content_provider(
        "application/json", [](size_t at, httplib::DataSink& sink) {
          const std::string text = kOneSample;
          if (at == text.size()) {
            sink.done();
            return true;
          }
          return sink.write(text.data() + at, std::min<size_t>(17, text.size() - at));
        });
  });
  const auto samples = AskPrometheus({.url = fake.url()});
  ASSERT_THAT(samples, IsOk());
  EXPECT_THAT(*samples, SizeIs(1));
}

TEST(PrometheusApi, AnAnswerThatEndsEarlyIsRefused) {
  for (const bool in_chunks : {false, true}) {
    const FakePrometheus fake([&](const httplib::Request&, httplib::Response& response) {
      const auto start = [](httplib::DataSink& sink) {
        const absl::string_view empty = R"({"data":{"resultType":"vector","result":[]}})";
        sink.write(empty.data(), empty.size());
        return false;
      };
      if (in_chunks) {
        response.set_chunked_content_provider(
            "application/json", [=](size_t, httplib::DataSink& sink) { return start(sink); });
      } else {
        response.set_content_provider(
            100, "application/json",
            [=](size_t, size_t, httplib::DataSink& sink) { return start(sink); });
      }
    });
    EXPECT_EQ(AskPrometheus({.url = fake.url()}).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(PrometheusApi, AnEndlessAnswerIsCutOff) {
  const FakePrometheus fake([](const httplib::Request&, httplib::Response& response) {
    response.set_content_provider("application/json", [](size_t, httplib::DataSink& sink) {
      const std::string spaces(size_t{1} << 16, ' ');
      return sink.write(spaces.data(), spaces.size());
    });
  });
  EXPECT_EQ(AskPrometheus({.url = fake.url()}).status().code(), absl::StatusCode::kDataLoss);
}

// It answers when the caller has given up.
TEST(PrometheusApi, GivesUpOnASilentServer) {
  std::latch given_up(1);
  const FakePrometheus fake([&](const httplib::Request&, httplib::Response& response) {
    given_up.wait();
    response.set_content(kOneSample, "application/json");
  });
  const absl::Status status =
      AskPrometheus({.url = fake.url()}, std::chrono::milliseconds(50)).status();
  given_up.count_down();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(PrometheusApi, NobodyThereIsUnavailable) {
  std::string url;
  { url = FakePrometheus(Answering("")).url(); }
  const absl::Status status = AskPrometheus({.url = url}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("Prometheus can't be reached"));
}

std::string FileWith(const std::string& name, const std::string& text) {
  std::string path = TemporaryFile(name);
  std::ofstream(path) << text;
  return path;
}

TEST(PrometheusApi, TrustsWhomTheCaFileSays) {
  const TestAuthority ours("ours");
  const TestAuthority others("others");
  const CertificatePem pem = ours.Sign({.common_name = "localhost"});
  httplib::SSLServer server(FileWith("fleet_certificate.pem", pem.certificate).c_str(),
                            FileWith("fleet_key.pem", pem.key).c_str());
  ASSERT_TRUE(server.is_valid());
  server.Post("/api/v1/query", Answering(kOneSample));
  const std::string url = absl::StrCat("https://localhost:", server.bind_to_any_port("127.0.0.1"));
  std::thread thread([&] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();
  EXPECT_THAT(AskPrometheus({.url = url, .ca_file = FileWith("fleet_ca.pem", ours.pem())}), IsOk());
  const absl::Status refused =
      AskPrometheus({.url = url, .ca_file = FileWith("fleet_other_ca.pem", others.pem())}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(refused.message(), HasSubstr("certificate is not signed by --fleet_ca_file"));
  EXPECT_FALSE(AskPrometheus({.url = url}).ok());  // the system trusts neither
  server.stop();
  thread.join();
}

TEST(PrometheusApi, RefusesWhatIsNoUrl) {
  for (const char* url : {"", "prometheus:9090", "ftp://a", "http://", "https:///path",
                          "http://a b", "http://a/?x=1", "http://a#b"}) {
    EXPECT_THAT(PrometheusApi::Of({.url = url}).status().message(),
                HasSubstr("--fleet_prometheus_url="))
        << url;
  }
  for (const char* url : {"https://me:secret@a", "me:secret@a:9090", "ftp://me:secret@a?x"}) {
    const absl::Status refused = PrometheusApi::Of({.url = url}).status();
    EXPECT_THAT(std::string(refused.message()), HasSubstr("give --fleet_token_file"));
    EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("secret"))) << url;
  }
}

}  // namespace
}  // namespace sextant::server
