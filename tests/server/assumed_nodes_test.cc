// Every call assumes the same servers and network, and answers as if they had been given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/planning_server.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;

enum class Nodes { kGiven, kLeftOut };

v1::PlanRunRequest RunOn(int64_t devices, Nodes nodes) {
  v1::PlanRunRequest out = Llama8b(devices);
  out.mutable_layout()->set_global_batch_size(256);
  out.mutable_cluster()->clear_node_type();
  if (nodes == Nodes::kLeftOut) return out;
  out.mutable_cluster()->set_node_type("dgx-h100");
  out.mutable_cluster()->mutable_network()->set_name("ib-ndr");
  return out;
}

v1::PlanRunRequest LaidOut(Nodes nodes) {
  v1::PlanRunRequest out = RunOn(64, nodes);
  out.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(4);
  return out;
}

// Takes the note of what was assumed out of `plan`. Returns its names.
std::vector<std::string> TakeAssumed(v1::Plan* plan) {
  std::vector<std::string> out;
  auto* const warnings = plan->mutable_warnings();
  for (int i = warnings->size() - 1; i >= 0; --i) {
    const v1::Note& note = warnings->Get(i);
    if (note.kind() != v1::NOTE_KIND_NODES_ASSUMED) continue;
    out.insert(out.end(), note.names().begin(), note.names().end());
    warnings->DeleteSubrange(i, 1);
  }
  return out;
}

// Both answers are the same, but for the note of the first.
void ExpectAssumed(v1::Plan* assumed, v1::Plan* given) {
  EXPECT_TRUE(given->has_step_time());
  EXPECT_THAT(TakeAssumed(assumed), ElementsAre("dgx-h100", "ib-ndr"));
  EXPECT_THAT(TakeAssumed(given), ElementsAre());
  EXPECT_EQ(assumed->SerializeAsString(), given->SerializeAsString());
}

TEST(AssumedNodes, PlanALayoutAsIfTheyWereGiven) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse assumed = server.Planned(LaidOut(Nodes::kLeftOut));
  v1::PlanRunResponse given = server.Planned(LaidOut(Nodes::kGiven));
  ExpectAssumed(assumed.mutable_plan(), given.mutable_plan());
}

TEST(AssumedNodes, SearchAsIfTheyWereGiven) {
  const PlanningServer server = WithSample();
  for (const v1::LayoutSearch search : {v1::LAYOUT_SEARCH_UNSPECIFIED, v1::LAYOUT_SEARCH_BOUNDED}) {
    v1::PlanRunRequest assumed = RunOn(64, Nodes::kLeftOut);
    v1::PlanRunRequest given = RunOn(64, Nodes::kGiven);
    assumed.mutable_options()->set_search(search);
    given.mutable_options()->set_search(search);
    v1::PlanRunResponse of_assumed = server.Planned(assumed);
    v1::PlanRunResponse of_given = server.Planned(given);
    EXPECT_TRUE(of_given.plan().has_search());
    ExpectAssumed(of_assumed.mutable_plan(), of_given.mutable_plan());
  }
}

TEST(AssumedNodes, CompareAsIfTheyWereGiven) {
  const PlanningServer server = WithSample();
  v1::BatchPlanRunsRequest request;
  *request.add_runs() = LaidOut(Nodes::kLeftOut);
  *request.add_runs() = LaidOut(Nodes::kGiven);
  v1::BatchPlanRunsResponse out;
  ASSERT_TRUE(server.Call(&v1::PlanningService::Stub::BatchPlanRuns, request, &out).ok());
  ASSERT_TRUE(out.runs(0).has_plan()) << out.runs(0).status().message();
  ExpectAssumed(out.mutable_runs(0)->mutable_plan(), out.mutable_runs(1)->mutable_plan());
}

v1::SizedCluster Sized(const PlanningServer& server, Nodes nodes) {
  v1::SizeClusterRequest request;
  *request.mutable_run() = RunOn(0, nodes);
  request.mutable_max_duration()->set_seconds(86'400 * 60);
  v1::SizeClusterResponse out;
  const grpc::Status status = server.Call(&v1::PlanningService::Stub::SizeCluster, request, &out);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return out.clusters_size() == 1 ? out.clusters(0) : v1::SizedCluster();
}

TEST(AssumedNodes, SizeAClusterAsIfTheyWereGiven) {
  const PlanningServer server = WithSample();
  v1::SizedCluster assumed = Sized(server, Nodes::kLeftOut);
  v1::SizedCluster given = Sized(server, Nodes::kGiven);
  EXPECT_TRUE(given.met());
  EXPECT_GT(given.server_count(), 1);
  ExpectAssumed(assumed.mutable_plan(), given.mutable_plan());
  EXPECT_EQ(assumed.SerializeAsString(), given.SerializeAsString());
}

v1::SizeModelResponse SizedModel(const PlanningServer& server, Nodes nodes) {
  v1::SizeModelRequest request;
  *request.mutable_run() = RunOn(16, nodes);
  request.mutable_run()->mutable_training()->clear_token_count();
  request.set_tokens_per_parameter(20);
  request.mutable_max_duration()->set_seconds(86'400 * 30);
  v1::SizeModelResponse out;
  const grpc::Status status = server.Call(&v1::PlanningService::Stub::SizeModel, request, &out);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return out;
}

TEST(AssumedNodes, SizeAModelAsIfTheyWereGiven) {
  const PlanningServer server = WithSample();
  v1::SizeModelResponse assumed = SizedModel(server, Nodes::kLeftOut);
  v1::SizeModelResponse given = SizedModel(server, Nodes::kGiven);
  EXPECT_TRUE(given.met());
  ExpectAssumed(assumed.mutable_plan(), given.mutable_plan());
  EXPECT_EQ(assumed.parameter_count(), given.parameter_count());
}

// The usual server is what a run on one server was always taken to be on.
TEST(AssumedNodes, AreNoneOnOneServer) {
  v1::PlanRunRequest request = LaidOut(Nodes::kLeftOut);
  request.mutable_cluster()->set_device_count(8);
  v1::PlanRunResponse out = WithSample().Planned(request);
  EXPECT_TRUE(out.plan().has_step_time());
  EXPECT_THAT(TakeAssumed(out.mutable_plan()), ElementsAre());
}

}  // namespace
}  // namespace sextant::server
