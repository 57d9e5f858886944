// PlanningService.Admit: the words of strangers, judged within a budget.
#include "server/convert/admit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/server/admit_requests.h"
#include "tests/server/planning_server.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

TEST(AdmitQuestion, IsInDoubtWhereTheSchedulerAndTheWordsDiffer) {
  const auto doubt_of = [](const v1::AdmitRequest& request) {
    return AdmitQuestionFrom(request).value().doubt;
  };
  EXPECT_THAT(doubt_of(AdmitRequestOf("gpt2")), IsEmpty());
  EXPECT_THAT(doubt_of(AdmitRequestOf("gpt2 --devices=8 --accelerator=H100-SXM")), IsEmpty());
  EXPECT_THAT(doubt_of(AdmitRequestOf(" \n")), "nothing was asked: the words are empty");
  EXPECT_THAT(doubt_of(AdmitRequestOf("gpt2 --devices=16")),
              "the words ask for 16 devices, and the scheduler gives 8");
  EXPECT_THAT(doubt_of(AdmitRequestOf("gpt2", 4294967294)),  // Slurm's NO_VAL
              HasSubstr("gives 4294967294 devices, which can't be"));
  EXPECT_THAT(doubt_of(AdmitRequestOf("gpt2", 0)), HasSubstr("gives 0 devices"));
  EXPECT_THAT(doubt_of(AdmitRequestOf("gpt2 accelerator=a100-sxm-80")),
              "the words ask for a100-sxm-80, and the scheduler gives h100-sxm");
  v1::AdmitRequest request = AdmitRequestOf("gpt2");
  request.clear_device_count();
  EXPECT_THAT(doubt_of(request), HasSubstr("how many devices the job gets is not known"));
  request = AdmitRequestOf("gpt2");
  request.clear_accelerator();
  EXPECT_THAT(doubt_of(request), HasSubstr("which devices the job gets is not known"));
  request.set_accelerator("gpu:h100:8");  // of Slurm
  EXPECT_THAT(doubt_of(request), IsEmpty());
  request.set_accelerator("h101");
  EXPECT_THAT(doubt_of(request), HasSubstr("\"h101\" is not known"));
  request = AdmitRequestOf("gpt2 --node-type=hgx-h100");
  request.set_node_type("dgx-h100");
  EXPECT_THAT(doubt_of(request), HasSubstr("scheduler gives dgx-h100"));
  request = AdmitRequestOf("gpt2");
  request.set_node_type("dgx-h101");
  EXPECT_THAT(doubt_of(request), HasSubstr("\"dgx-h101\" is not known"));
}

TEST(AdmitQuestion, NamesTheFieldsThatAreWrong) {
  v1::AdmitRequest request = AdmitRequestOf("--svg=x");
  request.mutable_budget()->set_seconds(11);
  request.mutable_caller()->set_scheduler(static_cast<v1::AdmitCaller::Scheduler>(99));
  request.mutable_caller()->set_user(std::string(257, 'u'));
  std::vector<std::string> fields;
  for (const auto& each : FieldViolationsOf(AdmitQuestionFrom(request).status())) {
    fields.push_back(each.field);
  }
  EXPECT_THAT(fields, UnorderedElementsAre("budget", "caller.scheduler", "caller.user", "words"));
}

TEST(AdmitQuestion, TakesCountsUpToAMillion) {
  const auto violations_of = [](int64_t unanswered, int64_t errors) {
    v1::AdmitRequest request = AdmitRequestOf("gpt2");
    request.mutable_caller()->set_unanswered_count(unanswered);
    request.mutable_caller()->set_error_count(errors);
    std::vector<std::string> out;
    for (const auto& each : FieldViolationsOf(AdmitQuestionFrom(request).status())) {
      out.push_back(absl::StrCat(each.field, " ", each.description));
    }
    return out;
  };
  EXPECT_THAT(violations_of(0, 1'000'000), IsEmpty());
  EXPECT_THAT(violations_of(1'000'000, 0), IsEmpty());
  EXPECT_THAT(violations_of(1'000'001, -1),
              ElementsAre("caller.unanswered_count must be 0 to 1000000, not 1000001",
                          "caller.error_count must be 0 to 1000000, not -1"));
  EXPECT_THAT(violations_of(-1, 1'000'001), SizeIs(2));
}

grpc::Status Admit(const PlanningServer& server, const v1::AdmitRequest& request,
                   v1::AdmitResponse* response) {
  return server.Call(&v1::PlanningService::Stub::Admit, request, response);
}

v1::AdmitResponse Admitted(const PlanningServer& server, const v1::AdmitRequest& request) {
  v1::AdmitResponse out;
  const grpc::Status status = Admit(server, request, &out);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return out;
}

TEST(Admit, SaysWhatFits) {
  const PlanningServer server = WithSample();
  const v1::AdmitResponse answer = Admitted(server, AdmitRequestOf(kWordsThatFit));
  EXPECT_EQ(answer.verdict(), v1::AdmitResponse::VERDICT_FITS) << answer.message();
  EXPECT_THAT(answer.message(), AllOf(StartsWith("FITS: llama-3.1-8b, 8 x h100-sxm: 1 node x 8; "),
                                      HasSubstr(" usable"), HasSubstr(" predicted")));
  EXPECT_THAT(answer.change(), IsEmpty());
  EXPECT_THAT(answer.layout(),
              UnorderedElementsAre(Pair("SEXTANT_DEVICES", "8"), Pair("SEXTANT_TP", "8"),
                                   Pair("SEXTANT_GBS", "64")));
  // The plan's own figure, at the plan's own address.
  v1::PlanRunRequest run = Llama8b(8);
  run.mutable_cluster()->clear_node_type();
  run.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(8);
  run.mutable_layout()->set_global_batch_size(64);
  const v1::Plan plan = server.Planned(run).plan();
  EXPECT_EQ(answer.time_limit().seconds(),
            static_cast<int64_t>(std::ceil(plan.estimates(0).elapsed_seconds().high())));
  EXPECT_THAT(answer.plan_url(),
              StartsWith("/sextant.v1.PlanningService/PlanRun?connect=v1&encoding=json&message=%7B"
                         "%22model%22%3A%7B%22preset%22%3A%22llama-3.1-8b%22%7D"));
}

TEST(Admit, SaysWhatDoesNotFitAndTheCheapestChange) {
  const PlanningServer server = WithSample();
  const v1::AdmitResponse answer =
      Admitted(server, AdmitRequestOf("llama-3.1-8b tp=1 gbs=64 sequence-length=8192 "
                                      "--framework=megatron-lm",
                                      16));
  EXPECT_EQ(answer.verdict(), v1::AdmitResponse::VERDICT_DOES_NOT_FIT) << answer.message();
  EXPECT_THAT(answer.message(),
              StartsWith("DOES NOT FIT: llama-3.1-8b, 16 x h100-sxm: 2 nodes x 8; "));
  EXPECT_THAT(answer.change(), AllOf(StartsWith("--"), HasSubstr(" (now "), HasSubstr(" GiB")));
  EXPECT_FALSE(answer.has_time_limit());  // no tokens
}

TEST(Admit, KeepsTightTight) {
  const PlanningServer server = WithSample();
  // No chance is above 1, or below 0: what may fit at all is tight.
  const v1::AdmitResponse answer = Admitted(
      server, AdmitRequestOf("llama-3.1-8b tp=8 gbs=64 sequence-length=8192 --fits-chance=1 "
                             "--does-not-fit-chance=0 --reserved-memory-bytes=55GiB"));
  EXPECT_EQ(answer.verdict(), v1::AdmitResponse::VERDICT_TIGHT) << answer.message();
  EXPECT_THAT(answer.message(), StartsWith("TIGHT: "));
}

TEST(Admit, DoesNotJudgeStateAlone) {
  const PlanningServer server = WithSample();
  const v1::AdmitResponse answer = Admitted(server, AdmitRequestOf("llama-3.1-8b"));
  EXPECT_EQ(answer.verdict(), v1::AdmitResponse::VERDICT_UNKNOWN);
  EXPECT_THAT(answer.message(), AllOf(StartsWith("UNKNOWN: no layout is given"),
                                      HasSubstr("STATE FITS: llama-3.1-8b, 8 x h100-sxm")));
  EXPECT_THAT(answer.layout(), IsEmpty());
  // State that is too large needs no layout to be too large.
  EXPECT_EQ(Admitted(server, AdmitRequestOf("llama-3.1-405b")).verdict(),
            v1::AdmitResponse::VERDICT_DOES_NOT_FIT);
}

TEST(Admit, LooksForALayoutWhereTheBatchIsGiven) {
  const PlanningServer server = WithSample();
  const v1::AdmitResponse answer = Admitted(
      server, AdmitRequestOf("llama-3.1-8b gbs=64 sequence-length=4096 --framework=megatron-lm"));
  EXPECT_EQ(answer.verdict(), v1::AdmitResponse::VERDICT_FITS) << answer.message();
  EXPECT_EQ(answer.layout().count("SEXTANT_TP"), 1);
  EXPECT_EQ(answer.layout().count("SEXTANT_PP"), 1);
  EXPECT_EQ(answer.layout().at("SEXTANT_FRAMEWORK"), "megatron-lm");
}

// The violations of a refused call, by field.
std::vector<std::pair<std::string, std::string>> ViolationsOf(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& any : details.details()) {
    google::rpc::BadRequest bad;
    if (!any.UnpackTo(&bad)) continue;
    for (const auto& v : bad.field_violations()) out.emplace_back(v.field(), v.description());
  }
  return out;
}

TEST(Admit, NamesTheWordsThatARunCannotHave) {
  const PlanningServer server = WithSample();
  v1::AdmitResponse response;
  grpc::Status status = Admit(server, AdmitRequestOf("lama-3.1-8b"), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(ViolationsOf(status), ElementsAre(Pair("words", HasSubstr("llama-3.1-8b"))));
  status = Admit(server, AdmitRequestOf("llama-3.1-8b tp=0 --fits-chance=2 --sequence-length=8"),
                 &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(ViolationsOf(status),
              UnorderedElementsAre(Pair("words", StartsWith("--tp: ")),
                                   Pair("words", StartsWith("--fits-chance: "))));
}

TEST(Admit, DoesNotBlameTheWordsForTheScheduler) {
  const PlanningServer server = WithSample();
  v1::AdmitRequest request = AdmitRequestOf(kWordsThatFit);
  request.set_node_type("dgx-a100");  // which has no H100s
  const v1::AdmitResponse answer = Admitted(server, request);
  EXPECT_EQ(answer.verdict(), v1::AdmitResponse::VERDICT_UNKNOWN);
  EXPECT_THAT(answer.message(), HasSubstr("the scheduler's cluster.node_type: is dgx-a100"));
}

// Keeps a pool's only thread.
class HeldPool {
 public:
  explicit HeldPool(WorkerPool& pool) {
    pool.Post("holder", [this](const absl::Status&) { released_.get_future().wait(); });
  }
  ~HeldPool() { released_.set_value(); }

 private:
  std::promise<void> released_;
};

TEST(Admit, AnswersAtTheEndOfItsBudget) {
  PlanningServer server = WithSample();
  {
    const HeldPool plans(server.workers());
    const HeldPool searches(server.searches());
    // Experts can be divided in many ways: no short plan.
    v1::AdmitRequest request = AdmitRequestOf("mixtral-8x7b tp=8 gbs=64 sequence-length=4096");
    request.mutable_budget()->set_seconds(0);
    request.mutable_budget()->set_nanos(20'000'000);
    v1::AdmitResponse answer = Admitted(server, request);
    EXPECT_EQ(answer.verdict(), v1::AdmitResponse::VERDICT_UNKNOWN);
    EXPECT_THAT(answer.message(),
                StartsWith("UNKNOWN: no answer within 20ms: the planner is busy"));
    request.set_words("llama-3.1-8b gbs=64 sequence-length=4096");
    answer = Admitted(server, request);
    EXPECT_EQ(answer.verdict(), v1::AdmitResponse::VERDICT_UNKNOWN);
    EXPECT_THAT(answer.message(), HasSubstr("no layout is given"));
    // A short plan takes no thread of theirs.
    EXPECT_EQ(Admitted(server, AdmitRequestOf(kWordsThatFit)).verdict(),
              v1::AdmitResponse::VERDICT_FITS);
  }
  EXPECT_EQ(
      Admitted(server, AdmitRequestOf("mixtral-8x7b tp=8 gbs=64 sequence-length=4096")).verdict(),
      v1::AdmitResponse::VERDICT_DOES_NOT_FIT);
}

}  // namespace
}  // namespace sextant::server
