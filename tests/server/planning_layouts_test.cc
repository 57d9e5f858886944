// PlanRun of layouts over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <string>

#include "tests/server/planning_server.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Llama-3-8B on 32 devices, tensor 4 x pipeline 4 x data 2.
v1::PlanRunRequest RunWithLayout() {
  v1::PlanRunRequest request;
  request.mutable_model()->set_preset("llama-3.1-8b");
  request.mutable_training()->set_token_count(1);
  request.mutable_training()->set_sequence_length(4096);
  request.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  request.mutable_cluster()->set_device_count(32);
  v1::ParallelLayout* parallel = request.mutable_layout()->mutable_parallel();
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  parallel->set_tensor_parallel_size(4);
  parallel->set_pipeline_parallel_size(4);
  return request;
}

// The time of a step names where its kernels' times are from.
TEST(PlanningServiceLayouts, AStepNamesTheSourcesOfItsKernels) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_cluster()->set_node_type("dgx-h100");
  request.mutable_layout()->set_global_batch_size(16);
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const v1::Plan& plan = response.plan();
  ASSERT_GT(plan.step_time().kernel_sources_size(), 0);
  std::map<v1::RateSource, double> shares;
  for (const v1::KernelTimeSource& each : plan.step_time().kernel_sources()) {
    shares[each.source()] += each.share();
    EXPECT_FALSE(each.has_measured_time());
    ASSERT_GT(each.source_number(), 0);
    EXPECT_NE(plan.sources(each.source_number() - 1), "");
  }
  // Products and attention are of published measurements, passes of the datasheet's bandwidth.
  EXPECT_GT(shares[v1::RATE_SOURCE_REFERENCE], 0.5);
  EXPECT_GT(shares[v1::RATE_SOURCE_DATASHEET], 0);
  EXPECT_NEAR(shares[v1::RATE_SOURCE_REFERENCE] + shares[v1::RATE_SOURCE_DATASHEET], 1, 1e-12);

  // A short answer names their kinds.
  request.mutable_options()->set_view(v1::PLAN_VIEW_BASIC);
  v1::PlanRunResponse basic;
  ASSERT_TRUE(server.PlanRun(request, &basic).ok());
  const v1::StepTime& step = basic.plan().step_time();
  ASSERT_EQ(step.kernel_sources_size(), plan.step_time().kernel_sources_size());
  for (int i = 0; i < step.kernel_sources_size(); ++i) {
    EXPECT_EQ(step.kernel_sources(i).source(), plan.step_time().kernel_sources(i).source());
    EXPECT_EQ(step.kernel_sources(i).share(), plan.step_time().kernel_sources(i).share());
    EXPECT_EQ(step.kernel_sources(i).source_number(), 0);
  }
}

void ExpectAddsUp(const v1::StageMemory& stage) {
  int64_t sums = 0;
  for (const v1::LedgerSum& sum : stage.sums()) {
    int64_t rows = 0;
    for (const v1::LedgerRow& row : stage.ledger()) {
      if (row.kind() == sum.kind()) rows += row.size_bytes();
    }
    EXPECT_EQ(rows, sum.size_bytes()) << stage.stage() << " " << v1::LedgerKind_Name(sum.kind());
    sums += sum.size_bytes();
  }
  EXPECT_EQ(sums, stage.total_bytes());
  EXPECT_EQ(stage.process_bytes().expected(), stage.total_bytes());
}

// Queries, keys, values and output to and fro; Transformer Engine's output once more. Of 8 heads of
// keys and values on 4 tensor parallel ranks each of 2 context parallel ranks has one: 2,048 tokens
// of 8 and of 2 heads of 128 are sent.
TEST(PlanningServiceLayouts, ContextParallelRanksExchangeHeads) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_layout()->set_context_parallel_size(2);
  request.mutable_layout()->set_context_parallel_kind(v1::CONTEXT_PARALLEL_KIND_ALL_TO_ALL);
  request.mutable_options()->set_include_operations(true);
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  int exchanges = 0;
  for (const v1::TimedOperation& op : response.plan().compute().stages(1).operations()) {
    if (!op.has_collective() || op.collective().group() != v1::CollectiveExtent::GROUP_CONTEXT) {
      continue;
    }
    ++exchanges;
    EXPECT_EQ(op.collective().kind(), v1::CollectiveExtent::KIND_ALL_TO_ALL);
    const bool keys = op.name() == "exchange_key" || op.name() == "exchange_value";
    EXPECT_EQ(op.collective().size_bytes(), 2.0 * 2048 * (keys ? 2 : 8) * 128) << op.name();
  }
  EXPECT_EQ(exchanges, 4 + 4 + 1);
  request.mutable_layout()->set_context_parallel_kind(static_cast<v1::ContextParallelKind>(7));
  EXPECT_EQ(server.PlanRun(request, &response).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.mutable_layout()->set_context_parallel_size(1);
  request.mutable_layout()->set_context_parallel_kind(v1::CONTEXT_PARALLEL_KIND_ALL_TO_ALL);
  EXPECT_TRUE(server.PlanRun(request, &response).ok());
}

TEST(PlanningServiceLayouts, EstimatesMemoryByStage) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_options()->set_include_ledger(true);
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const v1::Memory& memory = response.plan().memory();
  EXPECT_EQ(response.plan().verdict(), v1::VERDICT_FITS);
  EXPECT_EQ(memory.data_parallel_size(), 2);
  ASSERT_EQ(memory.stages_size(), 4);
  for (const v1::StageMemory& stage : memory.stages()) {
    EXPECT_EQ(stage.layer_count(), 8);
    EXPECT_GT(stage.ledger_size(), 20);
    ExpectAddsUp(stage);
  }
  // The answer without rows is otherwise the same.
  request.mutable_options()->clear_include_ledger();
  v1::PlanRunResponse sums;
  ASSERT_TRUE(server.PlanRun(request, &sums).ok());
  for (v1::StageMemory& stage : *response.mutable_plan()->mutable_memory()->mutable_stages()) {
    stage.clear_ledger();
  }
  // Rows cite sources, so their numbers differ.
  for (v1::PlanRunResponse* answer : {&sums, &response}) {
    answer->mutable_plan()->clear_sources();
    for (v1::RateUsed& rate : *answer->mutable_plan()->mutable_rates()) rate.clear_source_number();
  }
  EXPECT_EQ(sums.SerializeAsString(), response.SerializeAsString());
}

// The sums of `stage` are those of its operations.
void ExpectAddsUp(const v1::StageCompute& stage, int source_count) {
  int64_t launches = 0;
  double seconds = 0;
  double flops = 0;
  double share = 0;
  for (const v1::TimedOperation& operation : stage.operations()) {
    if (operation.has_collective()) continue;
    launches += operation.launches();
    seconds += operation.seconds().expected();
    flops += operation.flops();
    share += operation.share();
    EXPECT_GE(operation.source_number(), 1);
    EXPECT_LE(operation.source_number(), source_count);
  }
  EXPECT_EQ(launches, stage.host().launches());
  EXPECT_NEAR(seconds, stage.micro_batch_seconds().expected(), 1e-9);
  EXPECT_NEAR(flops, stage.flops(), 1e-9 * flops);
  EXPECT_NEAR(share, 1, 1e-9);
}

TEST(PlanningServiceLayouts, ListsWhatEachStageComputes) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_options()->set_include_operations(true);
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  const v1::Compute& compute = response.plan().compute();
  ASSERT_EQ(compute.stages_size(), 3);  // the first, two that are alike, the last
  EXPECT_EQ(compute.stages(1).first_stage(), 1);
  EXPECT_EQ(compute.stages(1).stage_count(), 2);
  for (const v1::StageCompute& stage : compute.stages()) {
    ExpectAddsUp(stage, response.plan().sources_size());
  }
  // A matrix of 4096 x 28672 in 8 layers, over 4 ranks: n = 7168, 2 x 4096 x 7168 x 4096 FLOPs.
  for (const v1::TimedOperation& operation : compute.stages(1).operations()) {
    if (operation.name() != "gate_up" || operation.pass() != v1::OPERATION_PASS_FORWARD) continue;
    EXPECT_EQ(operation.module(), "feed_forward");
    EXPECT_EQ(operation.launches(), 8);
    EXPECT_EQ(operation.matmul().m(), 4096);
    EXPECT_EQ(operation.matmul().n(), 7168);
    EXPECT_EQ(operation.matmul().k(), 4096);
    EXPECT_EQ(operation.flops(), 8 * 2.0 * 4096 * 7168 * 4096);
    return;
  }
  ADD_FAILURE() << "no gate_up";
}

TEST(PlanningServiceLayouts, RefusesOperationsInABasicView) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_options()->set_include_operations(true);
  request.mutable_options()->set_view(v1::PLAN_VIEW_BASIC);
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("options.include_operations"),
                    HasSubstr("leave it out, or set options.view to PLAN_VIEW_FULL")));
}

// Its 32 layers on `stages` stages, with all their rows.
v1::PlanRunRequest RunOnStages(int stages) {
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_cluster()->set_device_count(4 * stages);
  request.mutable_options()->set_include_ledger(true);
  v1::ParallelLayout* parallel = request.mutable_layout()->mutable_parallel();
  parallel->set_pipeline_parallel_size(stages);
  for (int i = 0; i < stages; ++i) parallel->add_layers_per_chunk(i < 32 ? 1 : 0);
  return request;
}

// Rows of 500 stages fit into gRPC's default limits; rows of 2,000 are refused as a whole, since
// sums would no longer match the rows.
TEST(PlanningServiceLayouts, RefusesLedgersOfTooManyRows) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse response;
  grpc::Status status = server.PlanRun(RunOnStages(500), &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  int64_t rows = 0;
  for (const v1::StageMemory& stage : response.plan().memory().stages()) {
    rows += stage.ledger_size();
    ExpectAddsUp(stage);
  }
  EXPECT_GT(rows, 2'000);
  EXPECT_LE(rows, 10'000);

  v1::PlanRunRequest request = RunOnStages(2'000);
  status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("options.include_ledger"),
                    HasSubstr("more than 10000 rows over 2000 stages: leave it out, or plan fewer "
                              "stages")));
  request.mutable_options()->clear_include_ledger();
  status = server.PlanRun(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.plan().memory().stages_size(), 2'000);
}

TEST(PlanningServiceLayouts, NamesWhatMakesALayoutFit) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_cluster()->set_device_memory_bytes(10'000'000'000);
  v1::PlanRunResponse response;
  ASSERT_TRUE(server.PlanRun(request, &response).ok());
  EXPECT_EQ(response.plan().verdict(), v1::VERDICT_DOES_NOT_FIT);
  const v1::Memory& memory = response.plan().memory();
  EXPECT_LT(memory.headroom_bytes().high(), 0);
  ASSERT_GT(memory.changes_size(), 0);
  for (const v1::FittingChange& change : memory.changes()) {
    EXPECT_LE(change.peak_bytes().high(), static_cast<double>(memory.capacity().usable_bytes()));
    EXPECT_GT(change.settings_size(), 0);
  }
}

// All violations of a layout are returned together, under the request's names.
TEST(PlanningServiceLayouts, NamesWhatIsWrongWithALayout) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = RunWithLayout();
  request.mutable_training()->clear_sequence_length();
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(0);
  request.mutable_layout()->mutable_kernels()->set_loss_chunk_tokens(5);
  request.mutable_layout()->mutable_framework()->set_context_bytes(-1);
  request.mutable_layout()->set_schedule(static_cast<v1::PipelineSchedule>(99));
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("training.sequence_length"),
                    HasSubstr("layout.parallel.tensor_parallel_size"),
                    HasSubstr("layout.kernels.loss_chunk_tokens"),
                    HasSubstr("layout.framework.context_bytes"), HasSubstr("layout.schedule")));
  v1::PlanRunRequest other = RunWithLayout();
  other.mutable_layout()->mutable_framework()->set_fragmentation_ratio(-1);
  other.mutable_layout()->mutable_framework()->set_context_bytes(-1);
  EXPECT_THAT(server.PlanRun(other, &response).error_message(),
              AllOf(HasSubstr("layout.framework.fragmentation_ratio"),
                    HasSubstr("layout.framework.context_bytes")));
}

TEST(PlanningServiceLayouts, NamesSizesThatDoNotGoTogether) {
  const PlanningServer server = WithSample();
  const auto refusal = [&server](void (*change)(v1::PlanRunRequest&)) {
    v1::PlanRunRequest request = RunWithLayout();
    change(request);
    v1::PlanRunResponse response;
    const grpc::Status status = server.PlanRun(request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  };
  EXPECT_THAT(refusal([](auto& run) { run.mutable_cluster()->set_device_count(65); }),
              HasSubstr("cluster.device_count"));
  EXPECT_THAT(refusal([](auto& run) { run.mutable_cluster()->set_device_count(1'000'000'000); }),
              HasSubstr("cluster.device_count"));
  EXPECT_THAT(refusal([](auto& run) {
                run.mutable_layout()->set_micro_batch_size(3);
                run.mutable_layout()->set_global_batch_size(64);
              }),
              HasSubstr("layout.global_batch_size"));
  EXPECT_THAT(refusal([](auto& run) { run.mutable_cluster()->set_node_type("hgx-h100"); }),
              HasSubstr("cluster.network"));
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
