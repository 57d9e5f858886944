// PlanRun with a search for the layout, over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/server/planning_server.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;

v1::PlanRunRequest Searching(v1::LayoutSearch search) {
  v1::PlanRunRequest request;
  request.mutable_model()->set_preset("llama-3.1-8b");
  request.mutable_training()->set_token_count(1'000'000'000);
  request.mutable_training()->set_sequence_length(4096);
  request.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  request.mutable_cluster()->set_device_count(16);
  request.mutable_cluster()->set_node_type("dgx-h100");
  request.mutable_layout()->set_global_batch_size(64);
  request.mutable_layout()->mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  request.mutable_options()->set_search(search);
  return request;
}

v1::PlanRunResponse Answer(const v1::PlanRunRequest& request) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse out;
  const grpc::Status status = server.PlanRun(request, &out);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return out;
}

grpc::Status Refusal(const v1::PlanRunRequest& request) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse out;
  return server.PlanRun(request, &out);
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
}

TEST(PlanningServiceSearch, KeepsWhatIsGiven) {
  v1::PlanRunRequest request = Searching(v1::LAYOUT_SEARCH_BOUNDED);
  request.mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(4);
  request.mutable_layout()->mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_NONE);
  request.mutable_training()->set_recompute(v1::RECOMPUTE_POLICY_FULL);
  const v1::LayoutOption chosen = Answer(request).plan().search().chosen();
  EXPECT_EQ(chosen.layout().parallel().pipeline_parallel_size(), 4);
  EXPECT_EQ(chosen.layout().sharding().zero_stage(), v1::ZERO_STAGE_NONE);
  EXPECT_EQ(chosen.recompute(), v1::RECOMPUTE_POLICY_FULL);
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
  EXPECT_THAT(Refusal(request).error_details(), HasSubstr("leaves no layout"));
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(-8);
  EXPECT_EQ(Refusal(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(1'000'000'000'000);
  EXPECT_EQ(Refusal(request).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace sextant::server
