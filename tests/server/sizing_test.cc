// SizeCluster and SizeModel over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/model_weights.h"
#include "engine/model/presets/presets.h"
#include "google/rpc/error_details.pb.h"
#include "server/convert/architecture.h"
#include "tests/server/planning_server.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The textbook's 70e9 parameters on 15e12 tokens, at 989.5e12 FLOP/s and an MFU of 0.5.
v1::PlanRunRequest Textbook() {
  v1::PlanRunRequest run;
  run.mutable_model()->set_parameter_count(70'000'000'000);
  run.mutable_training()->set_token_count(15'000'000'000'000);
  run.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  run.mutable_cluster()->set_peak_flops_per_second(989.5e12);
  run.mutable_cluster()->set_device_memory_bytes(80'000'000'000);
  run.mutable_options()->set_assumed_mfu(0.5);
  return run;
}

v1::PlanRunRequest WithLayout() {
  v1::PlanRunRequest run = Llama8b(1);
  run.mutable_cluster()->clear_device_count();
  run.mutable_cluster()->clear_node_type();
  run.mutable_layout()->set_global_batch_size(256);
  run.mutable_layout()->mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  return run;
}

v1::SizeClusterRequest Asking(const v1::PlanRunRequest& run) {
  v1::SizeClusterRequest out;
  *out.mutable_run() = run;
  return out;
}

grpc::Status AskSizing(const v1::SizeClusterRequest& request, v1::SizeClusterResponse* out) {
  const PlanningServer server = WithSample();
  return server.Call(&v1::PlanningService::Stub::SizeCluster, request, out);
}

grpc::Status AskSizing(const v1::SizeModelRequest& request, v1::SizeModelResponse* out) {
  const PlanningServer server = WithSample();
  return server.Call(&v1::PlanningService::Stub::SizeModel, request, out);
}

template <typename Request>
std::string Refusal(const Request& request) {
  std::conditional_t<std::is_same_v<Request, v1::SizeClusterRequest>, v1::SizeClusterResponse,
                     v1::SizeModelResponse>
      out;
  const grpc::Status status = AskSizing(request, &out);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  return status.error_message();
}

TEST(SizeClusterService, AnswersTheTextbookBackwards) {
  v1::SizeClusterRequest request = Asking(Textbook());
  request.mutable_max_duration()->set_seconds(12'435'552);  // 143.93 days
  v1::SizeClusterResponse out;
  ASSERT_TRUE(AskSizing(request, &out).ok());
  ASSERT_EQ(out.clusters_size(), 1);
  const v1::SizedCluster& cluster = out.clusters(0);
  EXPECT_TRUE(cluster.met());
  EXPECT_EQ(cluster.device_count(), 1024);
  EXPECT_EQ(cluster.server_count(), 128);
  EXPECT_EQ(cluster.accelerator(), "h100-sxm");
  EXPECT_EQ(cluster.basis(), v1::SIZE_BASIS_STATE_ALONE);
  EXPECT_EQ(cluster.limit(), v1::SIZE_LIMIT_DEADLINE);
  EXPECT_EQ(cluster.plan().device_count(), 1024);
  EXPECT_FALSE(cluster.rates_fingerprint().empty());
}

TEST(SizeClusterService, AnswersForEachProduct) {
  v1::PlanRunRequest run = WithLayout();
  run.mutable_cluster()->clear_device();
  v1::SizeClusterRequest request = Asking(run);
  const char* const names[] = {"h100-sxm", "h200-smx", "h200-sxm"};
  for (const char* name : names) request.add_products()->set_accelerator(name);
  request.mutable_products(2)->set_device_hour_price_usd(3);
  v1::SizeClusterResponse out;
  ASSERT_TRUE(AskSizing(request, &out).ok());
  ASSERT_EQ(out.clusters_size(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(out.clusters(i).accelerator(), names[i]);
  EXPECT_TRUE(out.clusters(0).met());
  EXPECT_FALSE(out.clusters(0).plan().estimates(0).has_cost_usd());
  EXPECT_EQ(out.clusters(1).status().code(), static_cast<int>(grpc::StatusCode::NOT_FOUND));
  EXPECT_THAT(out.clusters(1).status().message(), HasSubstr("h200-sxm"));
  EXPECT_TRUE(out.clusters(2).plan().estimates(0).has_cost_usd());
  // More memory, no more devices.
  EXPECT_LE(out.clusters(2).device_count(), out.clusters(0).device_count());
}

// Two products at different prices; by hand: 6 x 70e9 x 15e12 FLOP at half the peak of each.
TEST(SizeClusterService, NamesTheBestProductByItsObjective) {
  v1::PlanRunRequest run = Textbook();
  run.mutable_cluster()->Clear();
  v1::SizeClusterRequest request = Asking(run);
  request.set_max_device_count(64);
  for (const char* name : {"h100-sxm", "a100-sxm-80"}) {
    request.add_products()->set_accelerator(name);
    // A100s have 312 of 989.4 TFLOP/s, and take 400 of 700 W.
    request.mutable_products()->rbegin()->set_device_hour_price_usd(
        std::string(name) == "h100-sxm" ? 3 : 0.9);
  }
  const auto best = [&request](v1::SizeObjective objective) {
    request.set_objective(objective);
    v1::SizeClusterResponse out;
    EXPECT_TRUE(AskSizing(request, &out).ok());
    EXPECT_TRUE(out.has_best());
    return std::pair(out.best(), out);
  };
  EXPECT_EQ(best(v1::SIZE_OBJECTIVE_LEAST_TIME).first, 0);
  // 3 / 989.4 = 0.00303 and 0.9 / 312 = 0.00288 dollars an hour and TFLOP/s.
  EXPECT_EQ(best(v1::SIZE_OBJECTIVE_LEAST_COST).first, 1);
  const auto [index, thrifty] = best(v1::SIZE_OBJECTIVE_LEAST_ENERGY);
  EXPECT_EQ(index, 0);
  for (const v1::SizedCluster& cluster : thrifty.clusters()) {
    for (const v1::TriedCount& tried : cluster.tried()) {
      EXPECT_EQ(tried.has_energy_joules(), tried.has_elapsed_seconds());
    }
  }
  request.mutable_run()->clear_economics();
  request.mutable_products(0)->clear_device_hour_price_usd();
  v1::SizeClusterResponse out;
  request.set_objective(v1::SIZE_OBJECTIVE_LEAST_COST);
  ASSERT_TRUE(AskSizing(request, &out).ok());
  EXPECT_THAT(out.clusters(0).status().message(), HasSubstr("run.economics.device_hour_price_usd"));
  EXPECT_EQ(out.best(), 1);
  request.set_objective(static_cast<v1::SizeObjective>(99));
  EXPECT_THAT(Refusal(request), HasSubstr("objective"));
}

TEST(SizeClusterService, RefusesByField) {
  v1::SizeClusterRequest request = Asking(Textbook());
  request.mutable_run()->mutable_cluster()->set_device_count(8);
  EXPECT_THAT(Refusal(request), HasSubstr("run.cluster.device_count: is what is asked for"));
  for (const int64_t seconds : {int64_t{0}, int64_t{-1}, int64_t{10'000'000'000}}) {
    request = Asking(Textbook());
    request.mutable_max_duration()->set_seconds(seconds);
    EXPECT_THAT(Refusal(request), HasSubstr("max_duration: must be a number above 0"));
  }
  for (const int64_t most : {int64_t{0}, int64_t{-1}, int64_t{1'000'001}}) {
    request = Asking(Textbook());
    request.set_max_device_count(most);
    EXPECT_THAT(Refusal(request), HasSubstr("max_device_count: "));
  }
  request = Asking(WithLayout());
  request.mutable_run()->mutable_layout()->clear_global_batch_size();
  request.mutable_run()->mutable_options()->set_search(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  request.mutable_run()->mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  EXPECT_THAT(Refusal(request),
              AllOf(HasSubstr("run.layout.global_batch_size: "), HasSubstr("run.options.search: "),
                    HasSubstr("run.options.view: ")));
  request = Asking(Textbook());
  request.add_products()->set_accelerator("h100-sxm");
  request.add_products();
  request.add_products()->set_accelerator("h100-sxm");
  EXPECT_THAT(Refusal(request), AllOf(HasSubstr("products: and run.cluster.device"),
                                      HasSubstr("products[1].accelerator: is required"),
                                      HasSubstr("products[2].accelerator: is named twice")));
  for (int i = 0; i < 14; ++i) request.add_products();
  EXPECT_THAT(Refusal(request), HasSubstr("products: are 17"));
  EXPECT_THAT(Refusal(v1::SizeClusterRequest()), HasSubstr("run.model: "));
}

TEST(SizeClusterService, EndsAtTheCallsDeadline) {
  const PlanningServer server = WithSample();
  v1::SizeClusterResponse out;
  v1::SizeClusterRequest request = Asking(WithLayout());
  request.mutable_run()->mutable_model()->set_preset("llama-3.1-405b");
  EXPECT_EQ(server.Call(&v1::PlanningService::Stub::SizeCluster, request, &out, 0.005).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST(SizeModelService, HoldsTheTextbooksLargest) {
  v1::SizeModelRequest request;
  *request.mutable_run() = Textbook();
  request.mutable_run()->clear_model();
  request.mutable_run()->mutable_cluster()->set_device_count(8);
  v1::SizeModelResponse out;
  ASSERT_TRUE(AskSizing(request, &out).ok());
  EXPECT_TRUE(out.met());
  EXPECT_EQ(out.parameter_count(), 40'000'000'000);
  EXPECT_EQ(out.limit(), v1::SIZE_LIMIT_MEMORY);
  EXPECT_FALSE(out.has_architecture());
  EXPECT_EQ(out.plan().verdict(), v1::VERDICT_STATE_FITS);
}

TEST(SizeModelService, AnswersWithAShapeThatCanBePlanned) {
  v1::SizeModelRequest request;
  *request.mutable_run() = WithLayout();
  request.mutable_run()->mutable_training()->clear_token_count();
  request.mutable_run()->mutable_cluster()->set_device_count(16);
  request.mutable_run()->mutable_cluster()->set_node_type("dgx-h100");
  request.set_tokens_per_parameter(20);
  request.mutable_max_duration()->set_seconds(86'400 * 30);
  v1::SizeModelResponse out;
  ASSERT_TRUE(AskSizing(request, &out).ok());
  ASSERT_TRUE(out.met());
  EXPECT_EQ(out.token_count(), 20 * out.parameter_count());
  v1::PlanRunRequest run = request.run();
  run.mutable_model()->clear_preset();
  *run.mutable_model()->mutable_architecture() = out.architecture();
  run.mutable_training()->set_token_count(out.token_count());
  run.mutable_options()->set_search(v1::LAYOUT_SEARCH_BOUNDED);
  v1::PlanRunResponse plan;
  const PlanningServer server = WithSample();
  const grpc::Status planned = server.PlanRun(run, &plan);
  ASSERT_TRUE(planned.ok()) << planned.error_message();
  EXPECT_EQ(plan.plan().parameters().total(), out.parameter_count());
  EXPECT_EQ(plan.plan().verdict(), v1::VERDICT_FITS);
  EXPECT_EQ(plan.plan().estimates(0).elapsed_seconds().expected(),
            out.plan().estimates(0).elapsed_seconds().expected());
}

TEST(SizeModelService, RefusesByField) {
  v1::SizeModelRequest request;
  EXPECT_THAT(Refusal(request), HasSubstr("run.cluster.device"));
  *request.mutable_run() = Textbook();
  request.mutable_run()->mutable_cluster()->set_device_count(8);
  EXPECT_THAT(Refusal(request), HasSubstr("run.model.parameter_count: is what is asked for"));
  request.mutable_run()->clear_model();
  request.mutable_max_duration()->set_seconds(-1);
  request.set_tokens_per_parameter(std::nan(""));
  EXPECT_THAT(Refusal(request), AllOf(HasSubstr("max_duration: must be"),
                                      HasSubstr("tokens_per_parameter: must be a number")));
}

// ArchitectureFrom() reads all that ArchitectureTo() writes.
TEST(Sizing, WritesEveryPresetsShape) {
  for (const ModelPreset& preset : ModelPresets()) {
    v1::Architecture wire;
    ArchitectureTo(preset.architecture, &wire);
    FieldViolations violations;
    const ArchitectureSpec read = ArchitectureFrom(wire, "model.architecture", violations);
    ASSERT_TRUE(violations.empty()) << preset.name << violations.ToStatus();
    v1::Architecture again;
    ArchitectureTo(read, &again);
    EXPECT_EQ(again.SerializeAsString(), wire.SerializeAsString()) << preset.name;
    ASSERT_EQ(read.layer_kinds.size(), preset.architecture.layer_kinds.size());
    for (size_t i = 0; i < read.layer_kinds.size(); ++i) {
      EXPECT_TRUE(IsAlike(read.layer_kinds[i], preset.architecture.layer_kinds[i])) << preset.name;
    }
    EXPECT_EQ(CountWeights(WeightsOf(read), "model")->all,
              CountWeights(WeightsOf(preset.architecture), "model")->all)
        << preset.name;
  }
}

}  // namespace
}  // namespace sextant::server
