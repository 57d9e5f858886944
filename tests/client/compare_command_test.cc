// `sextant compare`: the runs that it asks for, and the table of their plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "client/report/planned_run.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_answers.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using Asked = Answering<v1::BatchPlanRunsRequest, v1::BatchPlanRunsResponse>;

Ran Compare(Asked& asked, std::vector<std::string> args, const std::string& input = "") {
  const FakeServer server(PlanningHandlers{.batch_plan_runs = asked.handler()});
  args.insert(args.begin(), {"--address", server.address(), "compare"});
  return RunWith(args, input);
}

v1::PlannedRun Planned(v1::Verdict verdict, double days, double usd) {
  v1::PlannedRun out;
  out.mutable_plan()->set_verdict(verdict);
  out.mutable_plan()->mutable_memory()->mutable_peak_bytes()->set_expected(64424509440);
  out.mutable_plan()->mutable_whole_run()->set_basis(v1::ESTIMATE_KIND_PREDICTED);
  v1::TimeEstimate* estimate = out.mutable_plan()->add_estimates();
  estimate->set_kind(v1::ESTIMATE_KIND_PREDICTED);
  estimate->mutable_elapsed_seconds()->set_expected(days * 86400);
  estimate->set_device_hours(1234.5);
  estimate->set_cost_usd(usd);
  estimate->set_mfu(0.451);
  return out;
}

v1::PlannedRun Refused(const std::string& field, const std::string& description) {
  v1::PlannedRun out;
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  violation->set_field(field);
  violation->set_description(description);
  out.mutable_status()->set_code(3);
  out.mutable_status()->set_message(field);
  out.mutable_status()->add_details()->PackFrom(bad);
  return out;
}

TEST(CompareCommand, AsksForTheCrossProductInOrder) {
  Asked asked;
  for (int i = 0; i < 6; ++i) *asked.response.add_runs() = Planned(v1::VERDICT_FITS, i + 1, 1);
  const Ran ran = Compare(asked, {"llama-3.1-8b", "--tokens=1T", "--gbs=64", "--devices=8",
                                  "--each=accelerator=h100-sxm,h200-sxm", "--each=tp=1,2,4"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_EQ(asked.request.runs_size(), 6);
  for (int i = 0; i < 6; ++i) {
    const v1::PlanRunRequest& run = asked.request.runs(i);
    EXPECT_EQ(run.model().preset(), "llama-3.1-8b");
    EXPECT_EQ(run.cluster().device().accelerator(), i < 3 ? "h100-sxm" : "h200-sxm");
    EXPECT_EQ(run.layout().parallel().tensor_parallel_size(), 1 << i % 3);
    EXPECT_EQ(run.options().search(), v1::LAYOUT_SEARCH_UNSPECIFIED);  // laid out by --tp
    EXPECT_EQ(run.options().view(), v1::PLAN_VIEW_UNSPECIFIED);
  }
}

// A few runs are searched as `plan` searches one: in full where the service may.
TEST(CompareCommand, SearchesAFewRunsInFull) {
  Asked asked;
  for (int i = 0; i < 2; ++i) *asked.response.add_runs() = Planned(v1::VERDICT_FITS, 1, 1);
  Compare(asked, {"llama-3.1-8b", "--gbs=64", "--each=devices=8,16"});
  ASSERT_EQ(asked.request.runs_size(), 2);
  EXPECT_EQ(asked.request.runs(1).options().search(), v1::LAYOUT_SEARCH_EXHAUSTIVE);
  EXPECT_EQ(asked.request.runs(1).cluster().device_count(), 16);
}

TEST(CompareCommand, VariesARequestFromAFile) {
  Asked asked;
  for (int i = 0; i < 2; ++i) *asked.response.add_runs() = Planned(v1::VERDICT_FITS, 1, 1);
  const Ran ran = Compare(asked, {"--request=-", "--each=parameters=7B,70B"},
                          R"({"model": {"preset": "gpt2"}, "options": {"view": "PLAN_VIEW_FULL",
                              "include_derivation": true}})");
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_EQ(asked.request.runs_size(), 2);
  EXPECT_EQ(asked.request.runs(0).model().parameter_count(), 7'000'000'000);
  EXPECT_EQ(asked.request.runs(1).model().preset(), "");  // the file's model is replaced
  EXPECT_FALSE(asked.request.runs(1).options().include_derivation());
  EXPECT_EQ(asked.request.runs(1).options().view(), v1::PLAN_VIEW_UNSPECIFIED);
}

TEST(CompareCommand, SaysWhatToWrite) {
  Asked asked;
  EXPECT_THAT(Compare(asked, {"gpt2"}).err, HasSubstr("--each=FLAG=VALUE,VALUE... is required"));
  EXPECT_THAT(Compare(asked, {"gpt2", "--each=speed=1,2"}).err, HasSubstr("is not a flag"));
  EXPECT_THAT(Compare(asked, {"gpt2", "--each=view=full"}).err, HasSubstr("is not a flag"));
  EXPECT_THAT(Compare(asked, {"gpt2", "--each=tp="}).err, HasSubstr("is not a flag"));
  EXPECT_THAT(Compare(asked, {"gpt2", "--each=tp=1", "--each=tensor-parallel-size=2"}).err,
              HasSubstr("is given twice"));
  EXPECT_THAT(Compare(asked, {"gpt2", "--each=tp=two"}).err, HasSubstr("--each=tp=two: "));
  std::string many = "--each=devices=1";
  for (int i = 2; i <= 257; ++i) absl::StrAppend(&many, ",", i);
  EXPECT_THAT(Compare(asked, {"gpt2", many}).err, HasSubstr("more than 256 runs"));
}

TEST(CompareCommand, ExitsByTheBestRun) {
  Asked asked;
  *asked.response.add_runs() = Refused("runs[0].model", "is wrong");
  *asked.response.add_runs() = Planned(v1::VERDICT_DOES_NOT_FIT, 1, 1);
  EXPECT_EQ(Compare(asked, {"gpt2", "--each=devices=1,2"}).exit_code, kExitDoesNotFit);
  *asked.response.mutable_runs(1) = Planned(v1::VERDICT_TIGHT, 1, 1);
  EXPECT_EQ(Compare(asked, {"gpt2", "--each=devices=1,2"}).exit_code, kExitTight);
  *asked.response.mutable_runs(1) = Refused("runs[1].model", "is wrong");
  EXPECT_EQ(Compare(asked, {"gpt2", "--each=devices=1,2"}).exit_code, kExitBadRequest);
  asked.response.mutable_runs()->RemoveLast();
  EXPECT_EQ(Compare(asked, {"gpt2", "--each=devices=1,2"}).exit_code, kExitInternal);
}

TEST(CompareText, MarksTheFastestAndTheCheapestThatFit) {
  const Comparison comparison = {.flags = {"tp"}, .values = {{"1"}, {"2"}, {"4"}, {"8"}, {"3"}}};
  v1::BatchPlanRunsResponse response;
  *response.add_runs() = Planned(v1::VERDICT_DOES_NOT_FIT, 1, 10);
  *response.add_runs() = Planned(v1::VERDICT_FITS, 20, 100);
  *response.add_runs() = Planned(v1::VERDICT_FITS, 10, 200);
  *response.add_runs() = Planned(v1::VERDICT_TIGHT, 1, 10);
  *response.add_runs() =
      Refused("runs[4].layout.parallel.tensor_parallel_size", "must divide the heads");
  EXPECT_EQ(CompareText(comparison, response, absl::UnixEpoch()),
            "   tp  fits       GiB  days  dev-hours  USD     MFU\n"
            "   1   no       60.00     1     1.234k   10  45.1 %\n"
            "*  2   yes      60.00    20     1.234k  100  45.1 %\n"
            ">  4   yes      60.00    10     1.234k  200  45.1 %\n"
            "   8   tight    60.00     1     1.234k   10  45.1 %\n"
            "   3   refused      -     -          -    -       -\n"
            "* the cheapest that fits: tp=2; > the fastest: tp=4\n"
            "days predicted\n"
            "refused tp=3: --tp must divide the heads\n");
}

TEST(CompareText, LeavesOutWhatMissesItsLimits) {
  const Comparison comparison = {.flags = {"tp"}, .values = {{"1"}, {"2"}, {"4"}}};
  v1::BatchPlanRunsResponse response;
  for (const double days : {30, 20, 10}) {
    *response.add_runs() = Planned(v1::VERDICT_FITS, days, 10 / days);
    auto* const estimate = response.mutable_runs()->rbegin()->mutable_plan()->mutable_estimates(0);
    estimate->mutable_deadline()->set_verdict(days > 25 ? v1::LimitCheck::VERDICT_MISSED
                                                        : v1::LimitCheck::VERDICT_MET);
    estimate->mutable_budget()->set_verdict(days < 15 ? v1::LimitCheck::VERDICT_MISSED
                                                      : v1::LimitCheck::VERDICT_MET);
  }
  EXPECT_THAT(CompareText(comparison, response, absl::UnixEpoch()),
              HasSubstr("* the cheapest that fits within its limits: tp=2; > the fastest: tp=2\n"));
  response.mutable_runs()->DeleteSubrange(1, 1);
  EXPECT_THAT(CompareText({.flags = {"tp"}, .values = {{"1"}, {"4"}}}, response, absl::UnixEpoch()),
              HasSubstr("none of these runs fits within its limits\n"));
}

// A time says by what it is, and a rate where it is from.
TEST(CompareText, NamesTheBasisAndTheSources) {
  const Comparison comparison = {.flags = {"tp"}, .values = {{"1"}, {"2"}}};
  v1::BatchPlanRunsResponse response;
  for (int i = 0; i < 2; ++i) {
    *response.add_runs() = Planned(v1::VERDICT_STATE_FITS, 1, 10);
    v1::RateUsed* const rate = response.mutable_runs(i)->mutable_plan()->add_rates();
    rate->set_quantity("peak_flops_per_second");
    rate->set_source(v1::RATE_SOURCE_DATASHEET);
  }
  const std::string alike = CompareText(comparison, response, absl::UnixEpoch());
  EXPECT_THAT(alike, HasSubstr("\ndays predicted\nstate model state fits; activations were not "
                               "counted: do not launch on it\nrates datasheet: peak flops\n"));
  v1::Plan& textbook = *response.mutable_runs(1)->mutable_plan();
  textbook.mutable_whole_run()->set_basis(v1::ESTIMATE_KIND_TEXTBOOK);
  textbook.mutable_estimates(0)->set_kind(v1::ESTIMATE_KIND_TEXTBOOK);
  textbook.mutable_rates(0)->set_source(v1::RATE_SOURCE_REQUEST);
  const std::string mixed = CompareText(comparison, response, absl::UnixEpoch());
  EXPECT_THAT(mixed, HasSubstr("MFU         days are\n"));
  EXPECT_THAT(mixed, HasSubstr("45.1 %  by the textbook\n"));
  EXPECT_THAT(mixed, HasSubstr("rates datasheet: peak flops\nrates request: peak flops\n"));
  EXPECT_THAT(mixed, Not(HasSubstr("not read")));
  textbook.add_unread_config_fields("gating");
  EXPECT_THAT(CompareText(comparison, response, absl::UnixEpoch()),
              StartsWith("model not read: gating; "));
}

v1::PlannedRun PlannedBy(v1::Verdict verdict, double days, double margin_days, double chance) {
  v1::PlannedRun out = Planned(verdict, days, 1);
  SetDeadline(margin_days * 86400, chance, out.mutable_plan());
  return out;
}

TEST(CompareCommand, SaysFirstByHowMuchTheBestRunIsLate) {
  Asked asked;
  *asked.response.add_runs() = PlannedBy(v1::VERDICT_FITS, 30, -20, 0);
  *asked.response.add_runs() = PlannedBy(v1::VERDICT_FITS, 13, -3, 0.2);
  *asked.response.add_runs() = PlannedBy(v1::VERDICT_DOES_NOT_FIT, 5, 5, 1);
  const std::vector<std::string> args = {"gpt2", "--each=devices=1,2,3"};
  const Ran late = Compare(asked, args);
  EXPECT_THAT(late.out,
              StartsWith("DEADLINE LIKELY MISSED by 3.00 days: devices=2 comes nearest\n"));
  EXPECT_THAT(late.out, HasSubstr("limits\n"));
  EXPECT_THAT(late.out, HasSubstr("45.1 %  likely missed\n"));
  EXPECT_EQ(late.exit_code, kExitLate);
  // Slower than the second, but in time.
  *asked.response.mutable_runs(0) = PlannedBy(v1::VERDICT_FITS, 30, 1, 0.6);
  const Ran open = Compare(asked, args);
  EXPECT_THAT(open.out, StartsWith("DEADLINE MAY BE MISSED: devices=1 comes nearest\n"));
  EXPECT_EQ(open.exit_code, kExitFits);
  *asked.response.mutable_runs(0) = PlannedBy(v1::VERDICT_FITS, 30, 1, 0.95);
  const Ran met = Compare(asked, args);
  EXPECT_THAT(met.out, Not(HasSubstr("DEADLINE")));
  EXPECT_EQ(met.exit_code, kExitFits);
}

TEST(CompareText, SaysThatNothingFits) {
  const Comparison comparison = {.flags = {"tp"}, .values = {{"1"}}};
  v1::BatchPlanRunsResponse response;
  *response.add_runs() = Planned(v1::VERDICT_DOES_NOT_FIT, 1, 10);
  EXPECT_THAT(CompareText(comparison, response, absl::UnixEpoch()),
              HasSubstr("none of these runs fits\n"));
}

}  // namespace
}  // namespace sextant::client
