// PlanRun of layouts, given and searched for, over gRPC.
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

using ::testing::AllOf;
using ::testing::HasSubstr;

// Llama-3-8B on 32 devices, tensor 4 x pipeline 4 x data 2.
v1::PlanRunRequest RunWithLayout() {
  v1::PlanRunRequest request = Llama8b(32);
  request.mutable_training()->set_sequence_length(4096);
  request.mutable_cluster()->clear_node_type();
  v1::ParallelLayout* parallel = request.mutable_layout()->mutable_parallel();
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  parallel->set_tensor_parallel_size(4);
  parallel->set_pipeline_parallel_size(4);
  return request;
}

TEST(PlanningServiceLayouts, EstimatesMemoryByStage) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_options()->set_include_ledger(true);
  v1::PlanRunResponse response = server.Planned(request);
  EXPECT_EQ(response.plan().verdict(), v1::VERDICT_FITS);
  EXPECT_EQ(response.plan().memory().data_parallel_size(), 2);
  ASSERT_EQ(response.plan().memory().stages_size(), 4);
  for (v1::StageMemory& stage : *response.mutable_plan()->mutable_memory()->mutable_stages()) {
    EXPECT_EQ(stage.layer_count(), 8);
    EXPECT_GT(stage.ledger_size(), 20);
    stage.clear_ledger();
  }
  // The answer without rows is otherwise the same, but for the sources that rows cite.
  request.mutable_options()->clear_include_ledger();
  v1::PlanRunResponse sums = server.Planned(request);
  for (v1::PlanRunResponse* answer : {&sums, &response}) {
    answer->mutable_plan()->clear_sources();
    for (v1::RateUsed& rate : *answer->mutable_plan()->mutable_rates()) rate.clear_source_number();
  }
  EXPECT_EQ(sums.SerializeAsString(), response.SerializeAsString());
}

// Rows of 500 stages fit into gRPC's default limits; rows of 2,000 are refused as a whole, since
// sums would no longer match the rows.
TEST(PlanningServiceLayouts, RefusesLedgersOfTooManyRows) {
  const PlanningServer server = WithSample();
  // 32 layers on `stages` stages, with all their rows.
  const auto on_stages = [](int stages) {
    v1::PlanRunRequest out = RunWithLayout();
    out.mutable_cluster()->set_device_count(4 * stages);
    out.mutable_options()->set_include_ledger(true);
    v1::ParallelLayout* parallel = out.mutable_layout()->mutable_parallel();
    parallel->set_pipeline_parallel_size(stages);
    for (int i = 0; i < stages; ++i) parallel->add_layers_per_chunk(i < 32 ? 1 : 0);
    return out;
  };
  int64_t rows = 0;
  const v1::Plan plan = server.Planned(on_stages(500)).plan();
  for (const v1::StageMemory& stage : plan.memory().stages()) {
    rows += stage.ledger_size();
  }
  EXPECT_GT(rows, 2'000);
  EXPECT_LE(rows, 10'000);
  v1::PlanRunRequest request = on_stages(2'000);
  EXPECT_THAT(server.Refused(request).error_message(),
              AllOf(HasSubstr("options.include_ledger"),
                    HasSubstr("more than 10000 rows over 2000 stages: leave it out, or plan fewer "
                              "stages")));
  request.mutable_options()->clear_include_ledger();
  EXPECT_EQ(server.Planned(request).plan().memory().stages_size(), 2'000);
}

// Plans that may take long occupy no thread of gRPC's; those of few stages wait for no worker.
TEST(PlanningServiceLayouts, LooksAtManyStagesOnItsWorkers) {
  PlanningServer server = WithSample();
  std::promise<void> released;
  server.workers().Post("", [&released](const absl::Status&) { released.get_future().wait(); });
  v1::PlanRunRequest with_ledger = RunWithLayout();
  with_ledger.mutable_options()->set_include_ledger(true);
  v1::PlanRunRequest of_many_chunks = RunWithLayout();
  of_many_chunks.mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(17);
  v1::PlanRunResponse response;
  for (const v1::PlanRunRequest& request : {with_ledger, of_many_chunks}) {
    EXPECT_EQ(server.PlanRun(request, &response, 0.2).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_TRUE(server.PlanRun(RunWithLayout(), &response).ok());
  released.set_value();
  EXPECT_TRUE(server.PlanRun(with_ledger, &response).ok());
}

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

// Neither waits for the other: a search may take seconds.
TEST(PlanningServiceSearch, HasThreadsOfItsOwn) {
  v1::PlanRunRequest planned = Searching(v1::LAYOUT_SEARCH_NONE);
  planned.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(8);
  for (const bool plans_wait : {true, false}) {
    std::promise<void> released;  // outlives the server's threads
    PlanningServer server = WithSample();
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
}

// Without servers that are known, no step is predicted: the default plans state alone, and says
// why. A search that is asked for is refused (refusals.jsonl).
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
  EXPECT_EQ(status.error_details(), server.Refused(request).error_details());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace sextant::server
