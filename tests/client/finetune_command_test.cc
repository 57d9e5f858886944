// `sextant finetune`, against a fake server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/report/planned_run.h"
#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using AskedPlans = Answering<v1::BatchPlanRunsRequest, v1::BatchPlanRunsResponse>;

v1::PlannedRun Tuned(v1::Verdict verdict, int64_t trained, double gib) {
  auto out = FromText<v1::PlannedRun>(R"pb(
    plan {
      model_name: "toy"
      device: "h100-sxm"
      device_count: 8
      token_count: 1000000
      parameters { total: 8030261248 }
      memory { peak_bytes {} }
      step_time { seconds { expected: 0.5 } }
      whole_run { basis: ESTIMATE_KIND_PREDICTED }
      estimates {
        kind: ESTIMATE_KIND_PREDICTED
        elapsed_seconds { expected: 7200 }
        device_hours: 4
        cost_usd: 10
      }
      search {
        chosen {
          recompute: RECOMPUTE_POLICY_NONE
          layout {
            parallel { tensor_parallel_size: 1 pipeline_parallel_size: 1 virtual_stage_count: 1 }
            context_parallel_size: 1
            sharding { zero_stage: ZERO_STAGE_NONE }
            micro_batch_size: 2
          }
        }
      }
    }
  )pb");
  out.mutable_plan()->set_verdict(verdict);
  out.mutable_plan()->mutable_memory()->mutable_peak_bytes()->set_expected(gib * (1 << 30));
  if (trained > 0) out.mutable_plan()->mutable_parameters()->set_trainable(trained);
  return out;
}

// The requests of the command line `args`.
std::vector<v1::PlanRunRequest> AskedBy(std::vector<std::string> args) {
  AskedPlans asked;
  for (int i = 0; i < 3; ++i) *asked.response.add_runs() = Tuned(v1::VERDICT_FITS, 0, 1);
  const FakeServer server(PlanningHandlers{.batch_plan_runs = asked.handler()});
  args.insert(args.begin(), {"--address", server.address(), "finetune", "toy", "--tokens=1M"});
  const Ran ran = RunWith(args);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return {asked.request.runs().begin(), asked.request.runs().end()};
}

TEST(Finetune, AsksForThreeMethods) {
  const auto runs = AskedBy({"--accelerator=h100-sxm", "--devices=4"});
  ASSERT_EQ(runs.size(), 3u);
  for (const v1::PlanRunRequest& run : runs) {
    EXPECT_EQ(run.model().preset(), "toy");
    EXPECT_EQ(run.training().sequence_length(), 1024);
    EXPECT_EQ(run.layout().global_batch_size(), 32);  // 8 a device
    EXPECT_EQ(run.layout().framework().kind(), v1::FrameworkMemory::KIND_DEEPSPEED);
    EXPECT_EQ(run.options().search(), v1::LAYOUT_SEARCH_EXHAUSTIVE);
  }
  EXPECT_FALSE(runs[0].model().changes().has_adapters());
  EXPECT_FALSE(runs[0].model().changes().base_frozen());
  for (const size_t i : {size_t{1}, size_t{2}}) {
    EXPECT_TRUE(runs[i].model().changes().base_frozen());
    EXPECT_EQ(runs[i].model().changes().adapters().rank(), 16);
    EXPECT_THAT(runs[i].model().changes().adapters().targets(), ElementsAre("all-linear"));
  }
  EXPECT_FALSE(runs[0].layout().has_storage());
  EXPECT_FALSE(runs[1].layout().has_storage());
  const v1::WeightStorage& storage = runs[2].layout().storage();
  EXPECT_EQ(storage.frozen_data_type(), v1::DATA_TYPE_FP4);
  EXPECT_EQ(storage.frozen_block_size(), 64);
  EXPECT_TRUE(storage.double_quantization());
}

TEST(Finetune, KeepsWhatFlagsSay) {
  const auto runs = AskedBy({"--devices=4", "--gbs=16", "--sequence-length=512", "--lora-rank=64",
                             "--frozen-data-type=int8", "--framework=pytorch-fsdp"});
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].layout().global_batch_size(), 16);
  EXPECT_EQ(runs[0].training().sequence_length(), 512);
  EXPECT_EQ(runs[0].layout().framework().kind(), v1::FrameworkMemory::KIND_PYTORCH_FSDP);
  EXPECT_EQ(runs[1].model().changes().adapters().rank(), 64);
  EXPECT_THAT(runs[1].model().changes().adapters().targets(), ElementsAre("all-linear"));
  EXPECT_EQ(runs[2].layout().storage().frozen_data_type(), v1::DATA_TYPE_INT8);
  EXPECT_FALSE(runs[2].layout().storage().double_quantization());
  const auto targeted = AskedBy({"--devices=4", "--lora-targets=attention.query"});
  ASSERT_EQ(targeted.size(), 3u);
  EXPECT_THAT(targeted[1].model().changes().adapters().targets(), ElementsAre("attention.query"));
}

// A server that plans every run to fit.
struct TuningServer {
  TuningServer() {
    *batch.response.add_runs() = Tuned(v1::VERDICT_FITS, 0, 1);
    *plan.response.mutable_plan() = batch.response.runs(0).plan();
    plan.response.mutable_plan()->clear_search();
    count.response.mutable_architecture();
  }

  Ran Run(std::vector<std::string> args) {
    args.insert(args.begin(), {"finetune", "toy", "--tokens=1M", "--devices=8", "--gbs=64",
                               "--address", server.address()});
    return RunWith(args);
  }

  AskedPlans batch;
  Answering<v1::PlanRunRequest, v1::PlanRunResponse> plan;
  Answering<v1::CountModelRequest, v1::CountModelResponse> count;
  FakeServer server{
      PlanningHandlers{.plan_run = plan.handler(), .batch_plan_runs = batch.handler()},
      {},
      {.count_model = count.handler()}};
};

TEST(Finetune, WritesTheFileOfOneMethod) {
  TuningServer server;
  const Ran ran = server.Run({"--method=qlora", "--emit=deepspeed"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"train_batch_size\": 64"));
  EXPECT_THAT(ran.err, HasSubstr("--lora-rank, --lora-targets, --freeze-base, "
                                 "--frozen-data-type\n"));
  EXPECT_EQ(server.plan.request.layout().storage().frozen_data_type(), v1::DATA_TYPE_FP4);
  EXPECT_THAT(server.Run({"--emit=deepspeed"}).err, HasSubstr("give --method too"));
  const Ran refused = server.Run({"--method=lora", "--emit=megatron"});
  EXPECT_EQ(refused.exit_code, kExitBadRequest);
  EXPECT_THAT(refused.err, HasSubstr("Megatron-LM cannot express this run. --lora-rank=16: it has "
                                     "no setting for that"));
}

TEST(Finetune, NamesTheLaunchersOfEachMethod) {
  TuningServer server;
  EXPECT_THAT(server.Run({"--method=full"}).out,
              HasSubstr("files  full: --emit=megatron, megatron-bridge, torchtitan, "
                        "torchtitan-python, deepspeed,\n         accelerate, axolotl\n"));
  EXPECT_THAT(server.Run({"--method=lora"}).out,
              HasSubstr("files  lora: --emit=deepspeed, accelerate, axolotl\n"));
  EXPECT_THAT(server.Run({"--method=lora", "--freeze=norm"}).out,
              HasSubstr("files  lora: no launcher that --emit knows can express it\n"));
}

TEST(FinetuneText, StandsSideBySide) {
  v1::BatchPlanRunsRequest batch;
  for (int i = 0; i < 2; ++i) {
    *batch.add_runs() = FromText<v1::PlanRunRequest>(R"pb(
      training { token_count: 1000000 sequence_length: 1024 }
      cluster { device_count: 8 }
      layout { global_batch_size: 64 }
    )pb");
  }
  v1::ModelChanges& changes = *batch.mutable_runs(1)->mutable_model()->mutable_changes();
  changes.mutable_adapters()->set_rank(16);
  changes.mutable_adapters()->add_targets("all-linear");
  v1::BatchPlanRunsResponse response;
  *response.add_runs() = Tuned(v1::VERDICT_DOES_NOT_FIT, 0, 128);
  *response.add_runs() = Tuned(v1::VERDICT_FITS, 41'943'040, 20);
  EXPECT_EQ(
      FinetuneText({{"full", {"deepspeed"}}, {"lora", {}}}, batch, response, absl::UnixEpoch()),
      "Fine-tuning toy on 1,000,000 tokens, 8 x h100-sxm: 64 sequences of 1,024 tokens a "
      "step\n"
      "  method  trains  fits     GiB    step        time  dev-hours    USD\n"
      "  full    8.030B  no    128.00  500 ms  2.00 hours          4  10.00\n"
      "  lora    41.94M  yes    20.00  500 ms  2.00 hours          4  10.00\n"
      "  full   --tp=1 --cp=1 --pp=1 --vpp=1 --zero=0 --mbs=2 --recompute=none\n"
      "  lora   --tp=1 --cp=1 --pp=1 --vpp=1 --zero=0 --mbs=2 --recompute=none\n"
      "  adapt  rank 16 on all-linear, the rest frozen\n"
      "  files  full: --emit=deepspeed; lora: no launcher that --emit knows can express it\n");
  response.mutable_runs(1)->mutable_plan()->add_unread_config_fields("gating");
  EXPECT_THAT(FinetuneText({{"full", {}}, {"lora", {}}}, batch, response, absl::UnixEpoch()),
              HasSubstr("tokens a step\n  model  not read: gating; "));
}

TEST(Finetune, FailsWhereNoMethodIsPlanned) {
  AskedPlans asked;
  for (int i = 0; i < 3; ++i) {
    google::rpc::Status& status = *asked.response.add_runs()->mutable_status();
    status.set_code(static_cast<int>(grpc::StatusCode::NOT_FOUND));
    status.set_message("model \"toy\" is not known");
  }
  const FakeServer server(PlanningHandlers{.batch_plan_runs = asked.handler()});
  const Ran ran = RunWith({"finetune", "toy", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, kExitBadRequest);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("model \"toy\" is not known"));
  *asked.response.mutable_runs(1) = Tuned(v1::VERDICT_FITS, 0, 1);
  const Ran partly = RunWith({"finetune", "toy", "--address", server.address()});
  EXPECT_EQ(partly.exit_code, kExitFits);
  EXPECT_THAT(partly.out, HasSubstr("\n  full   model \"toy\" is not known\n"));
}

}  // namespace
}  // namespace sextant::client
