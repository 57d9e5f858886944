// Which calls gRPC's own threads answer.
#include <gtest/gtest.h>

#include <string>

#include "server/handler/accounting_service.h"
#include "server/handler/planning_service.h"

namespace sextant::server {
namespace {

v1::PlanRunRequest LaidOut(const char* preset) {
  v1::PlanRunRequest out;
  out.mutable_model()->set_preset(preset);
  out.mutable_training()->set_sequence_length(8192);
  out.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  out.mutable_layout()->mutable_parallel()->set_pipeline_parallel_size(16);
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  return out;
}

template <typename Change>
v1::PlanRunRequest With(Change change) {
  v1::PlanRunRequest out = LaidOut("llama-3.1-70b");
  change(out);
  return out;
}

void AddKinds(int count, v1::ModelSpec* model) {
  for (int i = 0; i < count; ++i) model->mutable_architecture()->add_layer_kinds();
}

TEST(ShortPlan, HasFewStagesAndTokensAndNoExperts) {
  EXPECT_TRUE(IsShort(LaidOut("llama-3.1-70b")));
  EXPECT_FALSE(IsShort(LaidOut("deepseek-v3")));
  EXPECT_FALSE(IsShort(With(
      [](auto& run) { run.mutable_layout()->mutable_parallel()->set_virtual_stage_count(2); })));
  EXPECT_TRUE(IsShort(With([](auto& run) { run.mutable_layout()->set_micro_batch_size(128); })));
  EXPECT_FALSE(IsShort(With([](auto& run) { run.mutable_layout()->set_micro_batch_size(129); })));
  EXPECT_FALSE(
      IsShort(With([](auto& run) { run.mutable_options()->set_include_operations(true); })));
  EXPECT_FALSE(IsShort(
      With([](auto& run) { run.mutable_options()->set_search(v1::LAYOUT_SEARCH_BOUNDED); })));
}

TEST(ShortPlan, WithoutALayoutIsOfFewKindsAndBytes) {
  v1::PlanRunRequest run = LaidOut("deepseek-v3");
  run.clear_layout();
  EXPECT_TRUE(IsShort(run));
  run.mutable_model()->set_preset(std::string(16'384, 'x'));
  EXPECT_FALSE(IsShort(run));
  run.mutable_model()->clear_preset();
  AddKinds(16, run.mutable_model());
  EXPECT_TRUE(IsShort(run));
  AddKinds(1, run.mutable_model());
  EXPECT_FALSE(IsShort(run));
}

TEST(ShortCount, IsOfFewKindsAndStages) {
  v1::CountModelRequest count;
  count.mutable_layout()->set_pipeline_parallel_size(64);
  AddKinds(16, count.mutable_model());
  EXPECT_TRUE(IsShort(count));
  count.mutable_layout()->set_pipeline_parallel_size(65);
  EXPECT_FALSE(IsShort(count));
  count.mutable_layout()->set_pipeline_parallel_size(1);
  AddKinds(1, count.mutable_model());
  EXPECT_FALSE(IsShort(count));
}

TEST(ShortCall, HasNothingMeasured) {
  v1::AllocateComputeRequest allocate;
  EXPECT_TRUE(IsShort(allocate));
  allocate.mutable_cluster()->mutable_device()->mutable_calibrations();
  EXPECT_FALSE(IsShort(allocate));
  v1::AnalyzeOperationRequest operation;
  operation.mutable_operation()->mutable_matmul();
  EXPECT_TRUE(IsShort(operation));
  operation.mutable_device();
  EXPECT_FALSE(IsShort(operation));
}

}  // namespace
}  // namespace sextant::server
