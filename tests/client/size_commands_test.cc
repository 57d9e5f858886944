// `sextant size-cluster`, `sextant size-model` and `sextant allocate`, against a fake server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/flags/plan_flags.h"
#include "client/report/planned_run.h"
#include "client/report/size_text.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_answers.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

v1::SizeClusterResponse SampleClusters() {
  return FromText<v1::SizeClusterResponse>(R"pb(
    clusters {
      accelerator: "h100-sxm"
      met: true
      basis: SIZE_BASIS_LAYOUTS
      device_count: 1024
      network_known: true
    }
    clusters {
      accelerator: "a10"
      basis: SIZE_BASIS_LAYOUTS
      device_count: 4
      server_device_count: 8
      limit: SIZE_LIMIT_DEADLINE
      least_device_count: 5000
      tried { device_count: 2 misses: SIZE_LIMIT_MEMORY }
      tried { device_count: 4 misses: SIZE_LIMIT_DEADLINE elapsed_seconds: 864000000 }
    }
    clusters {
      accelerator: "h300"
      status { code: 5 message: "accelerator \"h300\" is not known" }
    }
  )pb");
}

Ran ClustersAnswer(std::vector<std::string> args, const v1::SizeClusterResponse& answer) {
  Answering<v1::SizeClusterRequest, v1::SizeClusterResponse> clusters;
  clusters.response = answer;
  const FakeServer server(PlanningHandlers{.size_cluster = clusters.handler()});
  args.insert(args.begin(), {"--address", server.address(), "size-cluster"});
  return RunWith(args);
}

TEST(SizeCluster, NamesItsObjective) {
  v1::SizeClusterResponse answer = SampleClusters();
  answer.set_objective(v1::SIZE_OBJECTIVE_FEWEST_DEVICES);
  EXPECT_THAT(ClustersAnswer({}, answer).out, HasSubstr("The fewest devices that fit"));
  answer.set_objective(v1::SIZE_OBJECTIVE_LEAST_COST);
  EXPECT_THAT(ClustersAnswer({}, answer).out,
              HasSubstr("The cheapest number of devices that fits"));
  answer.set_objective(v1::SIZE_OBJECTIVE_LEAST_TIME);
  EXPECT_THAT(ClustersAnswer({}, answer).out, HasSubstr("The fastest number of devices that fits"));
}

v1::SizedCluster Sized(const char* accelerator, double days, double usd) {
  auto out = FromText<v1::SizedCluster>(R"pb(
    met: true
    basis: SIZE_BASIS_LAYOUTS
    device_count: 8
    network_known: true
    plan {
      whole_run { basis: ESTIMATE_KIND_PREDICTED }
      estimates { kind: ESTIMATE_KIND_PREDICTED energy_joules: 3.6e12 }
    }
  )pb");
  out.set_accelerator(accelerator);
  v1::TimeEstimate& estimate = *out.mutable_plan()->mutable_estimates(0);
  estimate.mutable_elapsed_seconds()->set_expected(days * 86400);
  if (usd > 0) estimate.set_cost_usd(usd);
  return out;
}

TEST(SizeCluster, NamesTheBestTheCheapestAndTheFastest) {
  v1::SizeClusterResponse answer;
  *answer.add_clusters() = Sized("h100-sxm", 30, 7.71e6);
  *answer.add_clusters() = Sized("b200-sxm", 20, 10.92e6);
  answer.set_best(0);
  answer.set_objective(v1::SIZE_OBJECTIVE_LEAST_COST);
  EXPECT_THAT(
      ClustersAnswer({}, answer).out,
      HasSubstr("\n  Cheapest: h100-sxm, 8 devices (30 days, 7.71M USD); fastest: b200-sxm, "
                "8 devices (20 days,"));
  answer.set_best(1);
  answer.set_objective(v1::SIZE_OBJECTIVE_FEWEST_DEVICES);
  EXPECT_THAT(
      ClustersAnswer({}, answer).out,
      HasSubstr("\n  Fewest devices and fastest: b200-sxm, 8 devices (20 days, 10.92M USD); "
                "cheapest: h100-sxm"));
  answer.set_objective(v1::SIZE_OBJECTIVE_LEAST_ENERGY);
  EXPECT_THAT(
      ClustersAnswer({}, answer).out,
      HasSubstr("Least energy and fastest: b200-sxm, 8 devices (20 days, 10.92M USD, 1.00 GWh)"));
  answer.mutable_clusters(0)->mutable_plan()->mutable_estimates(0)->clear_cost_usd();
  EXPECT_THAT(ClustersAnswer({}, answer).out, Not(HasSubstr("cheapest")));
  answer.set_best(7);  // no index
  EXPECT_THAT(ClustersAnswer({}, answer).out, Not(HasSubstr("and fastest")));
}

TEST(SizeCluster, SaysWhatToWrite) {
  EXPECT_THAT(ClustersAnswer({"--products=h100-sxm:cheap"}, {}).err,
              HasSubstr("NAME[@SERVER][:USD]"));
}

TEST(SizeCluster, ExitsByItsAnswers) {
  v1::SizeClusterResponse answer = SampleClusters();
  EXPECT_EQ(ClustersAnswer({}, answer).exit_code, kExitFits);
  answer.mutable_clusters()->DeleteSubrange(0, 1);
  EXPECT_EQ(ClustersAnswer({}, answer).exit_code, kExitLate);
  answer.mutable_clusters(0)->set_limit(v1::SIZE_LIMIT_MEMORY);
  EXPECT_EQ(ClustersAnswer({}, answer).exit_code, kExitDoesNotFit);
  answer.mutable_clusters()->DeleteSubrange(0, 1);
  EXPECT_EQ(ClustersAnswer({}, answer).exit_code, kExitBadRequest);
  answer.clear_clusters();
  EXPECT_EQ(ClustersAnswer({}, answer).exit_code, kExitInternal);
}

TEST(SizeCluster, SaysFirstThatALimitIsMissed) {
  v1::SizeClusterResponse answer = SampleClusters();
  answer.mutable_clusters()->SwapElements(0, 2);  // refused, late, met
  SetDeadline(60, 0.6, answer.mutable_clusters(2)->mutable_plan());
  EXPECT_THAT(ClustersAnswer({}, answer).out, StartsWith("DEADLINE MAY BE MISSED. The fewest"));
  answer.mutable_clusters()->RemoveLast();
  EXPECT_THAT(ClustersAnswer({}, answer).out, StartsWith("DEADLINE MISSED. The fewest"));
  SetDeadline(-86400 * 3, 0, answer.mutable_clusters(1)->mutable_plan());
  EXPECT_THAT(ClustersAnswer({}, answer).out,
              StartsWith("DEADLINE MISSED by 3.00 days. The fewest"));
  answer.mutable_clusters(1)->set_limit(v1::SIZE_LIMIT_MEMORY);
  EXPECT_THAT(ClustersAnswer({}, answer).out, StartsWith("The fewest"));
}

TEST(SizeModel, ThatIsLateSaysSoFirstAndExitsByIt) {
  Answering<v1::SizeModelRequest, v1::SizeModelResponse> models;
  models.response.set_basis(v1::SIZE_BASIS_LAYOUTS);
  models.response.set_limit(v1::SIZE_LIMIT_BUDGET);
  const FakeServer server(PlanningHandlers{.size_model = models.handler()});
  const Ran ran = RunWith({"size-model", "--address", server.address()});
  EXPECT_THAT(ran.out, StartsWith("BUDGET MISSED. No model of"));
  EXPECT_EQ(ran.exit_code, kExitLate);
}

// 864,000,000 s are 10,000 days.
TEST(SizeCluster, SaysHowFarAProductIsFromIt) {
  const std::string text = SizeClusterText({}, SampleClusters(), absl::UnixEpoch(), PlanFieldWords);
  EXPECT_THAT(text, HasSubstr("  a10  nearest of 2 numbers tried: 4 devices, deadline missed, "
                              "10,000 days; fewer than 5,000 can't\n    be enough\n"));
  EXPECT_THAT(text, HasSubstr("  a10  no link beyond 8 devices is known"));
  EXPECT_THAT(text, HasSubstr("  h300  accelerator \"h300\" is not known"));
}

// Far from the 10 s of a call that plans one run.
TEST(SizeCluster, NamesFieldsThatWereNotRead) {
  v1::SizeClusterResponse answer = SampleClusters();
  for (v1::SizedCluster& cluster : *answer.mutable_clusters()) {
    cluster.mutable_plan()->add_unread_config_fields("gating");
  }
  EXPECT_THAT(SizeClusterText({}, answer, absl::UnixEpoch(), PlanFieldWords),
              HasSubstr("\n  model  not read: gating; "));
}

TEST(SizeModel, WaitsLongerUnlessToldHowLong) {
  absl::Duration left;
  const FakeServer server(
      PlanningHandlers{.size_model = [&](grpc::ServerContext* context, const v1::SizeModelRequest&,
                                         v1::SizeModelResponse* response) {
        left = absl::FromChrono(context->deadline()) - absl::Now();
        response->set_basis(v1::SIZE_BASIS_LAYOUTS);
        return grpc::Status::OK;
      }});
  EXPECT_EQ(RunWith({"size-model", "--address", server.address()}).exit_code, kExitDoesNotFit);
  EXPECT_GT(left, absl::Seconds(60));
  EXPECT_LE(left, absl::Seconds(121));
  RunWith({"size-model", "--timeout=1000", "--address", server.address()});
  EXPECT_GT(left, absl::Seconds(500));
}

TEST(SizeModel, SaysThatNoneFits) {
  v1::SizeModelResponse response;
  response.set_basis(v1::SIZE_BASIS_STATE_ALONE);
  response.set_parameter_count(1'000'000);
  response.set_token_count(20);
  response.set_limit(v1::SIZE_LIMIT_DEADLINE);
  EXPECT_THAT(
      SizeModelText({}, response, absl::UnixEpoch()),
      HasSubstr("DEADLINE MISSED. No model of 1,000,000 parameters or more fits: the "
                "nearest has 1,000,000\n  parameters, 20 tokens\n  limit   deadline missed\n"));
  response.mutable_architecture();
  EXPECT_THAT(SizeModelText({}, response, absl::UnixEpoch()),
              HasSubstr("No model of these proportions fits: the nearest has 1,000,000"));
}

TEST(ShortNumber, HasFourDigits) {
  EXPECT_EQ(ShortNumber(0), "0");
  EXPECT_EQ(ShortNumber(950.04), "950");
  EXPECT_EQ(ShortNumber(999.96), "1k");
  EXPECT_EQ(ShortNumber(12'345), "12.35k");
  EXPECT_EQ(ShortNumber(4'117'740), "4.118M");
  EXPECT_EQ(ShortNumber(999'999'999), "1G");
  EXPECT_EQ(ShortNumber(5e15), "5e+06G");
}

using Allocations = Answering<v1::AllocateComputeRequest, v1::AllocateComputeResponse>;

// The request that the command line sends.
v1::AllocateComputeRequest AskedBy(std::vector<std::string> args) {
  Allocations allocations;
  allocations.response.add_allocations();
  const FakeServer server(PlanningHandlers{.allocate_compute = allocations.handler()});
  args.insert(args.begin(), "allocate");
  args.insert(args.end(), {"--address", server.address()});
  const Ran ran = RunWith(args);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return allocations.request;
}

// The server has no clock: without --start the client's is used.
TEST(Allocate, StartsNowWhereADeadlineIsGivenAlone) {
  const v1::AllocateComputeRequest asked = AskedBy({"--device=host", "--deadline=2040-01-01"});
  EXPECT_EQ(asked.economics().start_time().seconds(), kNowUnixSeconds);
  EXPECT_FALSE(AskedBy({"--device=host", "--budget-usd=5"}).economics().has_start_time());
}

// The request that --print-request wrote, with the flags that override it.
TEST(Allocate, ReadsARequestThatFlagsOverride) {
  const std::string file = FileWith(
      "allocate.json", RunWith({"allocate", "--device=host", "--devices=8", "--duration=7d",
                                "--rule=besiroglu-2024", "--print-request"})
                           .out);
  const std::string request = absl::StrCat("--request=", file);
  v1::AllocateComputeRequest expected = FromText<v1::AllocateComputeRequest>(
      "cluster { device { host_devices { devices: 'host' } } device_count: 8 } "
      "duration { seconds: 604800 } rule: SCALING_RULE_BESIROGLU_2024");
  ExpectSame(AskedBy({request}), expected);
  expected.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  expected.mutable_duration()->set_seconds(86400);
  expected.set_assumed_mfu(0.5);
  ExpectSame(AskedBy({request, "--accelerator=h100-sxm", "--duration=1d", "--mfu=0.5"}), expected);
}

TEST(Allocate, RefusesWrongArguments) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"allocate", "many"},
        {"allocate", "1e21", "--rule=moore"},
        {"allocate", "--device=host", "--duration=7"},
        {"allocate", "--calibration=/no/such"},
        {"allocate", "--request=/no/such"},
        {"allocate", "--accelerator=h100-sxm", "--device=host", "--devices=1"}}) {
    const Ran ran = RunWith(args);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_FALSE(ran.err.empty());
  }
}

}  // namespace
}  // namespace sextant::client
