// PlanRun of layouts over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <string>

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

// A matrix of 4096 x 28672 in 8 layers, over 4 ranks: n = 7168, 2 x 4096 x 7168 x 4096 FLOPs.
TEST(PlanningServiceLayouts, ListsWhatEachStageComputes) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_options()->set_include_operations(true);
  const v1::Plan plan = server.Planned(request).plan();
  ASSERT_EQ(plan.compute().stages_size(), 3);  // the first, two that are alike, the last
  const auto& operations = plan.compute().stages(1).operations();
  const auto gate_up =
      std::find_if(operations.begin(), operations.end(), [](const v1::TimedOperation& each) {
        return each.name() == "gate_up" && each.pass() == v1::OPERATION_PASS_FORWARD;
      });
  ASSERT_NE(gate_up, operations.end());
  EXPECT_EQ(gate_up->launches(), 8);
  EXPECT_EQ(gate_up->matmul().n(), 7168);
  EXPECT_EQ(gate_up->flops(), 8 * 2.0 * 4096 * 7168 * 4096);
  EXPECT_LE(gate_up->source_number(), plan.sources_size());

  request.mutable_options()->set_view(v1::PLAN_VIEW_BASIC);
  EXPECT_THAT(server.Refused(request).error_message(),
              AllOf(HasSubstr("options.include_operations"),
                    HasSubstr("leave it out, or set options.view to PLAN_VIEW_FULL")));
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

// All violations of a layout are returned together, under the request's names.
TEST(PlanningServiceLayouts, NamesWhatIsWrongWithALayout) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_training()->clear_sequence_length();
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(0);
  request.mutable_layout()->mutable_kernels()->set_loss_chunk_tokens(5);
  request.mutable_layout()->mutable_framework()->set_context_bytes(-1);
  request.mutable_layout()->mutable_framework()->set_fragmentation_ratio(-1);
  request.mutable_layout()->set_schedule(static_cast<v1::PipelineSchedule>(99));
  request.mutable_layout()->set_context_parallel_kind(static_cast<v1::ContextParallelKind>(7));
  const grpc::Status status = server.Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  for (const char* field : {"training.sequence_length", "layout.parallel.tensor_parallel_size",
                            "layout.kernels.loss_chunk_tokens", "layout.framework.context_bytes",
                            "layout.framework.fragmentation_ratio", "layout.schedule",
                            "layout.context_parallel_kind"}) {
    EXPECT_THAT(status.error_message(), HasSubstr(field));
  }
  request = RunWithLayout();
  request.mutable_cluster()->set_device_count(65);
  EXPECT_THAT(server.Refused(request).error_message(), HasSubstr("cluster.device_count"));
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

}  // namespace
}  // namespace sextant::server
