// Kubernetes' webhook without a server: what is said of calls that end in all ways.
#include "server/connect/kubernetes_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"
#include "server/listen/http_head.h"
#include "tests/server/scripted_service.h"

namespace sextant::server {
namespace {

using ReviewJson = nlohmann::json;
using ::testing::HasSubstr;

constexpr char kDeny[] = "/v1/hooks/kubernetes/deny";

// A review of a Job with the annotation.
std::string ReviewOf(const std::string& words) {
  return absl::StrCat(
      R"({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
    "uid": "u1", "namespace": "team", "name": "run", "userInfo": {"username": "ada"}, "object": {
      "kind": "Job", "metadata": {"annotations": {"sextant.dev/plan": ")",
      words, R"("}}, "spec": {"parallelism": 2, "template": {"spec": {"containers": [
        {"resources": {"limits": {"nvidia.com/gpu": "8"}}}]}}}}}})");
}

class KubernetesHookTest : public ConnectTest {
 protected:
  // Has Admit answer `response`, or end with `status`; keeps the request.
  void AnswerAdmit(const absl::Status& status, const v1::AdmitResponse& response = {}) {
    service_.unary = [this, status, response](Method& method, UnaryTransport& transport) {
      AnswerAfter<v1::AdmitRequest, v1::AdmitResponse>(
          method, transport, AtOnce(),
          [this, status, response](const v1::AdmitRequest& in, v1::AdmitResponse* out) {
            asked_ = in;
            *out = response;
            return status;
          });
    };
  }

  // The response part of the answer.
  ReviewJson Reviewed(FakeExchange& exchange) const {
    Answer(exchange);
    EXPECT_EQ(exchange.answer.status, 200) << exchange.answer.body;
    const ReviewJson answer = ReviewJson::parse(exchange.answer.body);
    EXPECT_EQ(answer["kind"], "AdmissionReview");
    EXPECT_EQ(answer["apiVersion"], "admission.k8s.io/v1");
    EXPECT_EQ(answer["response"]["uid"], "u1");
    return answer["response"];
  }
  ReviewJson Reviewed(const std::string& body, const char* path = kDeny) const {
    FakeExchange exchange({.path = path, .body = body});
    return Reviewed(exchange);
  }

  v1::AdmitRequest asked_;
};

ReviewJson Lines(const std::vector<std::string>& lines) { return ReviewJson(lines); }

v1::AdmitResponse Verdict(v1::AdmitResponse::Verdict verdict) {
  v1::AdmitResponse out;
  out.set_verdict(verdict);
  out.set_message("the line");
  return out;
}

TEST_F(KubernetesHookTest, AsksWhatTheObjectSays) {
  AnswerAdmit(absl::OkStatus(), Verdict(v1::AdmitResponse::VERDICT_FITS));
  const ReviewJson answer = Reviewed(ReviewOf("llama --tp=2"));
  EXPECT_EQ(answer["allowed"], true);
  EXPECT_EQ(answer["warnings"], Lines({"sextant: the line"}));
  EXPECT_EQ(asked_.words(), "llama --tp=2");
  EXPECT_EQ(asked_.device_count(), 16);
  EXPECT_EQ(asked_.caller().scheduler(), v1::AdmitCaller::SCHEDULER_KUBERNETES);
  EXPECT_EQ(asked_.caller().job_name(), "team/run");
  EXPECT_EQ(asked_.caller().user(), "ada");
  EXPECT_EQ(asked_.budget().nanos(), 800'000'000);  // of the second until the answer
}

TEST_F(KubernetesHookTest, RefusesWhatDoesNotFitWhereItDenies) {
  v1::AdmitResponse response = Verdict(v1::AdmitResponse::VERDICT_DOES_NOT_FIT);
  response.set_change("--tp=8");
  AnswerAdmit(absl::OkStatus(), response);
  const ReviewJson denied = Reviewed(ReviewOf("llama"));
  EXPECT_EQ(denied["allowed"], false);
  EXPECT_EQ(denied["status"]["code"], 403);
  EXPECT_EQ(denied["status"]["reason"], "Forbidden");
  EXPECT_EQ(denied["status"]["message"], "sextant: the line; --tp=8");
  const ReviewJson warned = Reviewed(ReviewOf("llama"), kHookPath);
  EXPECT_EQ(warned["allowed"], true);
  EXPECT_EQ(warned["warnings"], Lines({"sextant: the line", "sextant: --tp=8"}));
  AnswerAdmit(InvalidField("words", "are wrong"));
  EXPECT_EQ(Reviewed(ReviewOf("llama"))["status"]["message"], "sextant: words: are wrong");
}

TEST_F(KubernetesHookTest, AllowsWithOneWarningInAnyDoubt) {
  const absl::Status busy = WithReason(absl::ResourceExhaustedError("too many"), "SERVER_BUSY");
  for (const absl::Status& status : {busy, absl::InternalError("broken")}) {
    AnswerAdmit(status);
    const ReviewJson answer = Reviewed(ReviewOf("llama"));
    EXPECT_EQ(answer["allowed"], true);
    EXPECT_EQ(answer["warnings"],
              Lines({absl::StrCat("sextant: not planned: ", status.message())}));
  }
  AnswerAdmit(absl::OkStatus(), Verdict(v1::AdmitResponse::VERDICT_UNKNOWN));
  FakeExchange full({.path = kDeny, .body = ReviewOf("llama")});
  full.no_place = absl::UnavailableError("all places are taken");
  EXPECT_EQ(Reviewed(full)["warnings"], Lines({"sextant: not planned: the planner is busy"}));
  EXPECT_EQ(asked_.words(), "");  // nothing is planned without a place
}

// The call's handler answers nothing until the test ends.
TEST_F(KubernetesHookTest, AnswersBeforeKubernetesGivesUp) {
  UnaryTransport* waiting = nullptr;
  service_.unary = [&waiting](Method&, UnaryTransport& transport) { waiting = &transport; };
  FakeExchange exchange(
      {.path = kDeny, .body = ReviewOf("llama"), .parameters = {{"timeout", "200ms"}}});
  const auto start = std::chrono::steady_clock::now();
  const ReviewJson answer = Reviewed(exchange);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(90));
  EXPECT_EQ(answer["allowed"], true);
  ASSERT_EQ(answer["warnings"].size(), 1u);
  EXPECT_THAT(answer["warnings"][0].get<std::string>(), HasSubstr("sextant: not planned: "));
  waiting->End(absl::CancelledError("late"), "");
}

TEST_F(KubernetesHookTest, RefusesWhatIsNoReview) {
  AnswerAdmit(absl::OkStatus());
  for (const char* const body : {"", "{", "[]", "{}", R"({"kind": "AdmissionReview"})",
                                 R"({"kind": "Pod", "request": {"uid": "u1"}})"}) {
    FakeExchange exchange({.path = kDeny, .body = body});
    Answer(exchange);
    EXPECT_EQ(exchange.answer.status, 400) << body;
  }
  FakeExchange get({.method = "GET", .path = kDeny});
  Answer(get);
  EXPECT_EQ(get.answer.status, 405);
  FakeExchange other({.path = "/v1/hooks/kubernetes/other"});
  EXPECT_FALSE(port_->Answer(other));
}

TEST_F(KubernetesHookTest, WarnsOfObjectsThatSayTooLittle) {
  AnswerAdmit(absl::OkStatus(), Verdict(v1::AdmitResponse::VERDICT_UNKNOWN));
  for (const char* const object : {"null", "5", R"({"kind": "Pod"})", R"({"kind": "Job"})"}) {
    const ReviewJson answer = Reviewed(absl::StrCat(
        R"({"kind": "AdmissionReview", "request": {"uid": "u1", "object": )", object, "}}"));
    EXPECT_EQ(answer["allowed"], true);
    EXPECT_EQ(answer["warnings"].size(), 1u) << answer;
    EXPECT_EQ(asked_.words(), "");
  }
}

}  // namespace
}  // namespace sextant::server
