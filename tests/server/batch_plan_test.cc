// BatchPlanRuns over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_join.h"
#include "tests/server/planning_server.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;

v1::PlanRunRequest Searching(int64_t devices) {
  v1::PlanRunRequest request = Llama8b(devices);
  request.mutable_layout()->set_global_batch_size(256);
  request.mutable_options()->set_search(v1::LAYOUT_SEARCH_BOUNDED);
  return request;
}

v1::BatchPlanRunsRequest Batch(const std::vector<v1::PlanRunRequest>& runs) {
  v1::BatchPlanRunsRequest out;
  for (const v1::PlanRunRequest& run : runs) *out.add_runs() = run;
  return out;
}

grpc::Status Ask(const PlanningServer& server, const v1::BatchPlanRunsRequest& batch,
                 v1::BatchPlanRunsResponse* out, double timeout_seconds = 60) {
  return server.Call(&v1::PlanningService::Stub::BatchPlanRuns, batch, out, timeout_seconds);
}

std::string RefusalOf(const v1::PlanRunRequest& run) {
  const PlanningServer server = WithSample();
  v1::BatchPlanRunsResponse out;
  EXPECT_TRUE(Ask(server, Batch({Llama8b(8), run}), &out).ok());
  EXPECT_EQ(out.runs_size(), 2);
  if (out.runs_size() < 2) return "";
  EXPECT_TRUE(out.runs(0).has_plan());
  EXPECT_FALSE(out.runs(0).has_status());
  EXPECT_FALSE(out.runs(1).has_plan());
  EXPECT_EQ(out.runs(1).status().code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  return absl::StrJoin(FaultsOf(out.runs(1).status()), "\n");
}

TEST(BatchPlanRuns, PlansEachAsPlanRunDoes) {
  const PlanningServer server = WithSample();
  const std::vector<v1::PlanRunRequest> runs = {Llama8b(8), Searching(16), Searching(64),
                                                Llama8b(1)};
  v1::BatchPlanRunsResponse out;
  ASSERT_TRUE(Ask(server, Batch(runs), &out).ok());
  ASSERT_EQ(out.runs_size(), 4);
  EXPECT_FALSE(out.engine_version().empty());
  for (int i = 0; i < 4; ++i) {
    v1::PlanRunResponse alone;
    ASSERT_TRUE(server.PlanRun(runs[static_cast<size_t>(i)], &alone).ok());
    EXPECT_EQ(out.runs(i).plan().SerializeAsString(), alone.plan().SerializeAsString()) << i;
    EXPECT_EQ(out.runs(i).rates_fingerprint(), alone.rates_fingerprint());
  }
}

TEST(BatchPlanRuns, ABadRunCostsNoOtherItsPlan) {
  v1::PlanRunRequest run = Searching(16);
  run.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(0);
  run.mutable_cluster()->set_device_count(-8);
  const std::string refusal = RefusalOf(run);
  EXPECT_THAT(refusal, HasSubstr("runs[1].layout.parallel.tensor_parallel_size: "));
  EXPECT_THAT(refusal, HasSubstr("runs[1].cluster.device_count: must be 1 to 1000000, not -8"));
}

TEST(BatchPlanRuns, NamesNearProducts) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest run = Llama8b(8);
  run.mutable_cluster()->mutable_device()->set_accelerator("h100-smx");
  run.mutable_cluster()->clear_node_type();
  v1::BatchPlanRunsResponse out;
  ASSERT_TRUE(Ask(server, Batch({run, Llama8b(8)}), &out).ok());
  EXPECT_EQ(out.runs(0).status().code(), static_cast<int>(grpc::StatusCode::NOT_FOUND));
  EXPECT_THAT(out.runs(0).status().message(), HasSubstr("h100-sxm"));
  EXPECT_TRUE(out.runs(1).has_plan());
}

TEST(BatchPlanRuns, RefusesWhatOneCallAnswers) {
  v1::PlanRunRequest run = Searching(16);
  run.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  run.mutable_options()->set_include_derivation(true);
  run.mutable_options()->set_include_ledger(true);
  run.mutable_options()->set_include_operations(true);
  run.mutable_options()->set_search(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  const std::string refusal = RefusalOf(run);
  for (const char* field : {"view", "include_derivation", "include_ledger", "include_operations"}) {
    EXPECT_THAT(refusal, HasSubstr(std::string("runs[1].options.") + field + ": "));
  }
  EXPECT_THAT(refusal, HasSubstr("runs[1].options.search: must be LAYOUT_SEARCH_BOUNDED at most"));
  EXPECT_THAT(refusal, testing::Not(HasSubstr("set options.view")));
}

TEST(BatchPlanRuns, RefusesNumbersThatAreNone) {
  for (const double value :
       {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300}) {
    v1::PlanRunRequest run = Llama8b(8);
    run.mutable_cluster()->set_peak_flops_per_second(value);
    EXPECT_THAT(RefusalOf(run), HasSubstr("runs[1].cluster.peak_flops_per_second: ")) << value;
  }
  EXPECT_THAT(RefusalOf(v1::PlanRunRequest()), HasSubstr("runs[1].model: "));
}

TEST(BatchPlanRuns, TakesOneTo256Runs) {
  const PlanningServer server = WithSample();
  v1::BatchPlanRunsResponse out;
  for (const size_t count : {size_t{0}, size_t{257}}) {
    const grpc::Status refused =
        Ask(server, Batch(std::vector<v1::PlanRunRequest>(count, Llama8b(8))), &out);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(refused.error_message(), HasSubstr("256 "));
  }
  // Each with a layout, a step and its time: the largest answers there are, but for the search.
  v1::PlanRunRequest run = Llama8b(8);
  run.mutable_layout()->set_global_batch_size(256);
  run.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(8);
  const std::vector<v1::PlanRunRequest> most(256, run);
  ASSERT_TRUE(Ask(server, Batch(most), &out).ok());
  EXPECT_EQ(out.runs_size(), 256);
  EXPECT_LT(out.ByteSizeLong(), size_t{2} << 20);
}

TEST(BatchPlanRuns, EndsAtTheCallsDeadline) {
  const PlanningServer server = WithSample();
  v1::BatchPlanRunsResponse out;
  const std::vector<v1::PlanRunRequest> runs(256, Searching(1024));
  const auto start = std::chrono::steady_clock::now();
  const grpc::Status ended = Ask(server, Batch(runs), &out, 0.05);
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  // The worker is free again long before all 256 searches could be done.
  v1::PlanRunResponse next;
  ASSERT_TRUE(server.PlanRun(Searching(8), &next).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

}  // namespace
}  // namespace sextant::server
