// PlanRun with a search for the layout, over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "tests/server/planning_server.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;

v1::PlanRunRequest Searching(v1::LayoutSearch search) {
  v1::PlanRunRequest request = Llama8b(16);
  request.mutable_training()->set_sequence_length(4096);
  request.mutable_layout()->set_global_batch_size(64);
  request.mutable_layout()->mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  request.mutable_options()->set_search(search);
  return request;
}

v1::PlanRunResponse Answer(const v1::PlanRunRequest& request) {
  return WithSample().Planned(request);
}

grpc::Status Refusal(const v1::PlanRunRequest& request) { return WithSample().Refused(request); }

// Neither waits for the other: a search may take seconds.
TEST(PlanningServiceSearch, HasThreadsOfItsOwn) {
  v1::PlanRunRequest planned = Searching(v1::LAYOUT_SEARCH_NONE);
  planned.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(8);
  for (const bool plans_wait : {true, false}) {
    PlanningServer server = WithSample();
    std::promise<void> released;
    WorkerPool& held = plans_wait ? server.workers() : server.searches();
    held.Post("", [&released](const absl::Status&) { released.get_future().wait(); });
    v1::PlanRunResponse out;
    if (plans_wait) {
      EXPECT_TRUE(server.PlanRun(Searching(v1::LAYOUT_SEARCH_BOUNDED), &out).ok());
      EXPECT_TRUE(server.PlanRun(Searching(v1::LAYOUT_SEARCH_UNSPECIFIED), &out).ok());
    } else {
      EXPECT_TRUE(server.PlanRun(planned, &out).ok());
    }
    released.set_value();
  }
}

TEST(PlanningServiceSearch, TheChosenLayoutGetsTheSamePlan) {
  for (const v1::LayoutSearch search : {v1::LAYOUT_SEARCH_BOUNDED, v1::LAYOUT_SEARCH_EXHAUSTIVE}) {
    v1::PlanRunRequest request = Searching(search);
    v1::PlanRunResponse searched = Answer(request);
    const v1::LayoutSearchResult found = searched.plan().search();
    EXPECT_TRUE(found.chosen().tie());
    EXPECT_EQ(found.chosen().step_seconds().expected(),
              searched.plan().step_time().seconds().expected());
    EXPECT_EQ(found.chosen().peak_bytes().expected(),
              searched.plan().memory().peak_bytes().expected());
    EXPECT_EQ(found.alternatives_size(), 0);  // BASIC
    *request.mutable_layout() = found.chosen().layout();
    request.mutable_training()->set_recompute(found.chosen().recompute());
    request.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
    searched.mutable_plan()->clear_search();
    EXPECT_EQ(Answer(request).SerializeAsString(), searched.SerializeAsString());
  }
}

TEST(PlanningServiceSearch, CountsAddUp) {
  v1::PlanRunRequest request = Searching(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  const v1::LayoutSearchResult found = Answer(request).plan().search();
  EXPECT_TRUE(found.exhaustive());
  EXPECT_EQ(found.alternatives_size(), 9);
  EXPECT_GE(found.front_size(), 2);
  int64_t sum = found.evaluated_count();
  for (const v1::PrunedLayouts& each : found.pruned()) sum += each.count();
  EXPECT_EQ(sum, found.considered_count());
  for (const v1::LayoutOption& option : found.alternatives()) {
    EXPECT_GE(option.step_seconds().expected(), found.chosen().step_seconds().expected());
  }
  for (const v1::ChoiceSensitivity& each : found.sensitivities()) {
    EXPECT_NE(each.rate(), v1::StepSensitivity::RATE_UNSPECIFIED);
    EXPECT_GE(each.slowness(), 0.5);
    EXPECT_LE(each.slowness(), 2);
    EXPECT_GE(each.alternative(), 0);
    EXPECT_LT(each.alternative(), found.alternatives_size());
  }
}

// A request that gives nothing of how devices share the run, and one that gives a size.
TEST(PlanningServiceSearch, IsBoundedByDefaultWhereTheLayoutIsOpen) {
  const v1::PlanRunRequest open = Searching(v1::LAYOUT_SEARCH_UNSPECIFIED);
  const v1::PlanRunResponse bounded = Answer(Searching(v1::LAYOUT_SEARCH_BOUNDED));
  EXPECT_EQ(Answer(open).SerializeAsString(), bounded.SerializeAsString());
  EXPECT_GT(bounded.plan().search().lower_bound_seconds(), 0);
  EXPECT_LT(bounded.plan().search().lower_bound_seconds(),
            bounded.plan().search().chosen().step_seconds().expected());
  v1::PlanRunRequest laid_out = open;
  laid_out.mutable_layout()->set_micro_batch_size(1);
  EXPECT_FALSE(Answer(laid_out).plan().has_search());
  v1::PlanRunRequest unknown_length = open;
  unknown_length.mutable_training()->clear_sequence_length();
  EXPECT_EQ(Refusal(unknown_length).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

// Without servers that are known, no step is predicted: the default plans state alone, and says
// why; a search that was asked for is refused.
TEST(PlanningServiceSearch, PlansStateAloneWhereTheDefaultCanTimeNothing) {
  v1::PlanRunRequest request = Searching(v1::LAYOUT_SEARCH_UNSPECIFIED);
  request.mutable_cluster()->mutable_device()->set_accelerator("rtx-3090");
  request.mutable_cluster()->clear_node_type();
  const v1::Plan plan = Answer(request).plan();
  EXPECT_FALSE(plan.has_search());
  EXPECT_EQ(plan.verdict(), v1::VERDICT_STATE_FITS);
  EXPECT_TRUE(std::any_of(plan.warnings().begin(), plan.warnings().end(), [](const auto& each) {
    return each.text().find("No layout was searched for") != std::string::npos;
  }));
  request.mutable_options()->set_search(v1::LAYOUT_SEARCH_BOUNDED);
  EXPECT_EQ(Refusal(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(Refusal(request).error_details(), HasSubstr("cluster.node_type"));
}

TEST(PlanningServiceSearch, ChoosesKernelsThatTheRequestLeavesOpen) {
  v1::PlanRunRequest request = Searching(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  request.mutable_layout()->clear_framework();
  const int64_t one = Answer(request).plan().search().considered_count();
  request.mutable_options()->set_search_kernels(true);
  const v1::PlanRunResponse all = Answer(request);
  EXPECT_GT(all.plan().search().considered_count(), 8 * one);
  const v1::LayoutOption chosen = all.plan().search().chosen();
  EXPECT_EQ(chosen.layout().kernels().attention(), v1::KernelChoices::ATTENTION_FLASH);
  EXPECT_NE(chosen.layout().kernels().loss(), v1::KernelChoices::LOSS_UNSPECIFIED);
  *request.mutable_layout() = chosen.layout();
  request.mutable_training()->set_recompute(chosen.recompute());
  request.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  EXPECT_EQ(Answer(request).plan().step_time().seconds().expected(),
            all.plan().step_time().seconds().expected());
}

TEST(PlanningServiceSearch, SaysWhatKeepsItFromSearching) {
  v1::PlanRunRequest request = Searching(v1::LAYOUT_SEARCH_BOUNDED);
  request.clear_layout();
  EXPECT_EQ(Refusal(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(Refusal(request).error_details(), HasSubstr("layout.global_batch_size"));
  request = Searching(v1::LAYOUT_SEARCH_BOUNDED);
  request.mutable_model()->set_parameter_count(8'000'000'000);
  EXPECT_THAT(Refusal(request).error_details(), HasSubstr("options.search"));
  request = Searching(v1::LAYOUT_SEARCH_BOUNDED);
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(3);
  EXPECT_EQ(Refusal(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(Refusal(request).error_details(), HasSubstr("not a multiple of"));
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(-8);
  EXPECT_EQ(Refusal(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(1'000'000'000'000);
  EXPECT_EQ(Refusal(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(WatchPlanRun, StreamsProgressAndThenTheAnswerOfPlanRun) {
  v1::PlanRunRequest request = Searching(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  request.mutable_cluster()->set_device_count(64);
  std::atomic<int64_t> seconds = kMeasured + 3600;  // a clock that never shows a time twice
  const PlanningServer server(SnapshotOf({}),
                              [&seconds] { return absl::FromUnixSeconds(++seconds); });
  std::vector<v1::WatchPlanRunResponse> events;
  const grpc::Status status = server.WatchPlanRun(request, &events);
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_GE(events.size(), 2U);
  v1::PlanRunResponse answer;
  ASSERT_TRUE(server.PlanRun(request, &answer).ok());
  EXPECT_EQ(events.back().answer().SerializeAsString(), answer.SerializeAsString());
  events.pop_back();
  int64_t searched = 0;
  for (const v1::WatchPlanRunResponse& event : events) {
    const v1::SearchProgress& progress = event.progress();
    EXPECT_GT(progress.searched_count(), searched);
    EXPECT_LT(progress.searched_count(), progress.layout_count());
    if (progress.has_best()) {
      EXPECT_GE(progress.best().step_seconds().expected(),
                answer.plan().search().chosen().step_seconds().expected());
      EXPECT_GT(progress.best().layout().micro_batch_size(), 0);
    }
    searched = progress.searched_count();
  }
}

TEST(WatchPlanRun, EndsWithTheErrorOfPlanRun) {
  v1::PlanRunRequest request = Searching(v1::LAYOUT_SEARCH_BOUNDED);
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(3);
  const PlanningServer server = WithSample();
  std::vector<v1::WatchPlanRunResponse> events;
  const grpc::Status status = server.WatchPlanRun(request, &events);
  EXPECT_EQ(status.error_details(), Refusal(request).error_details());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace sextant::server
