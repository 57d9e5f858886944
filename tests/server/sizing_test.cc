// SizeCluster, SizeModel and AllocateCompute: what devices, time and money allow;
// refusals.jsonl has what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/convert/allocate_compute.h"
#include "tests/server/json_call.h"
#include "tests/server/message_matchers.h"
#include "tests/server/planning_server.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

using nlohmann::json;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
  request.mutable_run()->mutable_model()->set_parameter_count(5'000'000'000);
  request.clear_max_duration();
  ASSERT_TRUE(AskSizing(request, &out).ok());
  EXPECT_EQ(out.clusters(0).server_count(), 1);  // for 80e9 bytes, one device
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
    return out.best();
  };
  EXPECT_EQ(best(v1::SIZE_OBJECTIVE_LEAST_TIME), 0);
  // 3 / 989.4 = 0.00303 and 0.9 / 312 = 0.00288 dollars an hour and TFLOP/s.
  EXPECT_EQ(best(v1::SIZE_OBJECTIVE_LEAST_COST), 1);
  EXPECT_EQ(best(v1::SIZE_OBJECTIVE_LEAST_ENERGY), 0);
  EXPECT_EQ(best(v1::SIZE_OBJECTIVE_FEWEST_DEVICES), 0);
  EXPECT_EQ(best(v1::SIZE_OBJECTIVE_UNSPECIFIED), 1);
  request.mutable_run()->clear_economics();
  request.mutable_products(0)->clear_device_hour_price_usd();
  v1::SizeClusterResponse out;
  request.set_objective(v1::SIZE_OBJECTIVE_LEAST_COST);
  ASSERT_TRUE(AskSizing(request, &out).ok());
  EXPECT_THAT(out.clusters(0).status().message(), HasSubstr("run.economics.device_hour_price_usd"));
  EXPECT_EQ(out.best(), 1);
}

// Money where every product has a price, of its own or the run's; else the fewest devices.
TEST(SizeClusterService, HasLeastCostAsItsObjectiveWhereAllIsPriced) {
  v1::PlanRunRequest run = Textbook();
  run.mutable_cluster()->Clear();
  v1::SizeClusterRequest request = Asking(run);
  request.mutable_run()->clear_economics();
  for (const char* name : {"h100-sxm", "a100-sxm-80"}) {
    request.add_products()->set_accelerator(name);
  }
  const auto objective = [&request] {
    v1::SizeClusterResponse out;
    EXPECT_TRUE(AskSizing(request, &out).ok());
    return out.objective();
  };
  EXPECT_EQ(objective(), v1::SIZE_OBJECTIVE_FEWEST_DEVICES);
  request.mutable_products(0)->set_device_hour_price_usd(3);
  EXPECT_EQ(objective(), v1::SIZE_OBJECTIVE_FEWEST_DEVICES);
  request.mutable_products(1)->set_device_hour_price_usd(0.9);
  EXPECT_EQ(objective(), v1::SIZE_OBJECTIVE_LEAST_COST);
  request.mutable_products(0)->clear_device_hour_price_usd();
  request.mutable_run()->mutable_economics()->set_device_hour_price_usd(2);
  EXPECT_EQ(objective(), v1::SIZE_OBJECTIVE_LEAST_COST);
  request.set_objective(v1::SIZE_OBJECTIVE_LEAST_TIME);
  EXPECT_EQ(objective(), v1::SIZE_OBJECTIVE_LEAST_TIME);
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

// 8 H100s for a week at half of 989.5e12 FLOP/s.
json Week() {
  return json::parse(R"({"cluster": {"device": {"accelerator": "h100-sxm"}, "device_count": 8,
      "peak_flops_per_second": 989.5e12}, "duration": "604800s", "assumed_mfu": 0.5})");
}

// The textbook's week, in one call: the FLOPs and the models that they buy.
TEST(AllocateCompute, SaysWhatAWeekBuys) {
  const TestServer server;
  const json answer = Ask(server, "PlanningService/AllocateCompute", Week());
  EXPECT_DOUBLE_EQ(NumberAt(answer, "/budget/flops"), 2.3937984e21);
  EXPECT_EQ(NumberAt(answer, "/budget/flops_per_parameter_token"), 6);
  const json& devices = answer["budget"]["devices"];
  EXPECT_EQ(devices["device"], "h100-sxm");
  EXPECT_EQ(NumberAt(devices, "/device_count"), 8);
  EXPECT_EQ(NumberAt(devices, "/duration_seconds"), 604800);
  EXPECT_EQ(NumberAt(devices, "/device_hours"), 1344);
  EXPECT_EQ(devices["basis"], "ESTIMATE_KIND_TEXTBOOK");
  EXPECT_EQ(devices["mfu_basis"], "MFU_BASIS_REQUEST");
  EXPECT_FALSE(devices.contains("cost_usd"));
  ASSERT_THAT(answer["allocations"], SizeIs(6));
  EXPECT_EQ(answer["allocations"][0]["rule"], "SCALING_RULE_KAPLAN_2020");
  EXPECT_EQ(answer["allocations"][5]["rule"], "SCALING_RULE_BESIROGLU_2024");
  for (const json& allocation : answer["allocations"]) {
    const double product = NumberAt(allocation, "/optimum/parameter_count") *
                           NumberAt(allocation, "/optimum/token_count");
    EXPECT_NEAR(6 * product / 2.3937984e21, 1, 1e-9) << allocation["rule"];
    EXPECT_THAT(SourceOf(answer, allocation), HasSubstr("arXiv 2"));
    EXPECT_EQ(allocation["optimum"].contains("loss"), allocation["law"].contains("loss"));
    EXPECT_NE(allocation["law"].contains("power"), allocation["law"].contains("loss"));
  }
  EXPECT_EQ(answer["rates"][0]["source"], "RATE_SOURCE_REQUEST");
  EXPECT_THAT(answer["rates_fingerprint"].get<std::string>(), SizeIs(16));
  EXPECT_TRUE(answer.contains("engine_version"));
}

// 1.6e12 FLOP/s, sustained, of the host's processor for 1000 s.
TEST(AllocateCompute, StandsOnThisHostsMeasurement) {
  const PlanningServer server = WithSample();
  v1::AllocateComputeRequest request;
  request.mutable_cluster()->mutable_device()->mutable_host_devices()->add_devices("host");
  request.mutable_cluster()->set_device_count(1);
  request.mutable_duration()->set_seconds(1000);
  v1::AllocateComputeResponse response;
  const auto ask = [&] {
    return server.Call(&v1::PlanningService::Stub::AllocateCompute, request, &response);
  };
  const grpc::Status status = ask();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_DOUBLE_EQ(response.budget().flops(), 1.6e15);
  EXPECT_EQ(response.budget().devices().device(), "Some Processor 9000");
  EXPECT_EQ(response.budget().devices().basis(), v1::ESTIMATE_KIND_MEASURED_BOUND);
  EXPECT_FALSE(response.budget().devices().has_mfu());
  ASSERT_EQ(response.rates_size(), 1);
  EXPECT_EQ(response.rates(0).source(), v1::RATE_SOURCE_MEASURED_DEVICE);
  EXPECT_EQ(response.rates(0).device_uuid(), "CPU-0123456789abcdef");
  // Older than allowed.
  request.mutable_rate_requirement()->mutable_maximum_age()->set_seconds(60);
  EXPECT_EQ(ask().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

// A different value in every field.
TEST(ComputeAllocationTo, CarriesEveryField) {
  ScalingRuleFacts power;
  power.rule = ScalingRule::kChinchilla1;
  power.source = "a paper";
  power.remark = "a remark";
  power.excludes_embeddings = true;
  power.allocation = {.anchor_flops = Flops(1), .anchor_parameters = 2, .exponent = 0.3};
  power.range.flops = FittedSpan{.low = 4, .high = 5};
  power.range.parameters = FittedSpan{.low = 6, .high = 7};
  power.range.tokens = FittedSpan{.low = 8, .high = 9};
  ScalingRuleFacts with_loss;
  with_loss.rule = ScalingRule::kBesiroglu2024;
  with_loss.loss = LossLaw{.irreducible = 10,
                           .parameter_coefficient = 11,
                           .parameter_exponent = 0.25,
                           .token_coefficient = 13,
                           .token_exponent = 0.75};
  ComputeAllocation allocation;
  allocation.budget = Flops(14);
  allocation.flops_per_parameter_token = 15;
  allocation.devices = DeviceBudget{.device = "h100-sxm",
                                    .device_count = 16,
                                    .duration = Seconds(3600),
                                    .basis = EstimateKind::kMeasuredBound,
                                    .mfu_basis = MfuBasis::kRequest,
                                    .rate = FlopsPerSecond(17),
                                    .mfu = 0.18,
                                    .cost = Dollars(19)};
  RuleAllocation& first = allocation.rules.emplace_back();
  first.rule = &power;
  first.optimum = {.parameters = 20, .tokens = 40};
  RuleAllocation& second = allocation.rules.emplace_back();
  second.rule = &with_loss;
  second.optimum = {.parameters = 22, .tokens = 66};
  second.loss = 2.3;
  second.extrapolated = true;
  second.off_optimum = {{.parameter_ratio = 24, .loss_increase = 0.25}};
  second.serving = ServingAllocation{.size = {.parameters = 26, .tokens = 104},
                                     .training = Flops(27),
                                     .serving = Flops(28),
                                     .saved = Flops(29),
                                     .saved_ratio = 0.3};
  second.at_ratio = RatioAllocation{.size = {.parameters = 31, .tokens = 155},
                                    .loss = 3.2,
                                    .loss_increase = 0.33,
                                    .equal_loss = Flops(34)};
  v1::AllocateComputeResponse wire;
  ComputeAllocationTo(std::move(allocation), &wire);
  EXPECT_THAT(wire, EqualsText(R"(
      budget {
        flops: 14 flops_per_parameter_token: 15
        devices { device: "h100-sxm" device_count: 16 duration_seconds: 3600 device_hours: 16
                  basis: ESTIMATE_KIND_MEASURED_BOUND flops_per_second: 17 mfu: 0.18
                  mfu_basis: MFU_BASIS_REQUEST cost_usd: 19 } }
      allocations {
        rule: SCALING_RULE_CHINCHILLA_1
        optimum { parameter_count: 20 token_count: 40 tokens_per_parameter: 2 training_flops: 14 }
        law { exponent: 0.3 power { anchor_flops: 1 anchor_parameter_count: 2 } }
        fitted_range { low_flops: 4 high_flops: 5 low_parameter_count: 6 high_parameter_count: 7
                       low_token_count: 8 high_token_count: 9 }
        excludes_embeddings: true source_number: 1 remark: "a remark" }
      allocations {
        rule: SCALING_RULE_BESIROGLU_2024
        optimum { parameter_count: 22 token_count: 66 tokens_per_parameter: 3 training_flops: 14
                  loss: 2.3 extrapolated: true }
        off_optimum { parameter_ratio: 24 loss_increase: 0.25 }
        serving {
          model { parameter_count: 26 token_count: 104 tokens_per_parameter: 4 training_flops: 27
                  loss: 2.3 }
          serving_flops: 28 total_flops: 55 saved_flops: 29 saved_ratio: 0.3 }
        at_ratio {
          model { parameter_count: 31 token_count: 155 tokens_per_parameter: 5 training_flops: 14
                  loss: 3.2 }
          loss_increase: 0.33 equal_loss_flops: 34 }
        law { exponent: 0.75 loss {
          irreducible_loss: 10 parameter_coefficient: 11 parameter_exponent: 0.25
          token_coefficient: 13 token_exponent: 0.75 } }
        fitted_range {} }
      sources: "a paper")"));
  EXPECT_THAT(UnsetFields(wire), ElementsAre("sextant.v1.AllocateComputeResponse.assumptions",
                                             "sextant.v1.AllocateComputeResponse.engine_version",
                                             "sextant.v1.AllocateComputeResponse.rates",
                                             "sextant.v1.AllocateComputeResponse.rates_fingerprint",
                                             "sextant.v1.AllocateComputeResponse.warnings"));
}

// Each field with a value of its own, so that a dropped or swapped one is detected.
TEST(AllocationSpecFrom, CarriesEveryField) {
  v1::AllocateComputeRequest request;
  request.set_flops(1e12);
  request.mutable_cluster()->mutable_device()->set_accelerator("a");
  request.mutable_cluster()->set_device_count(2);
  request.mutable_cluster()->set_peak_flops_per_second(3);
  request.mutable_duration()->set_seconds(4);
  request.mutable_economics()->set_device_hour_price_usd(5);
  request.mutable_economics()->set_budget_usd(6);
  request.set_assumed_mfu(0.7);
  request.set_compute_data_type(v1::DATA_TYPE_FP8);
  request.mutable_rate_requirement()->set_minimum_source(v1::RATE_SOURCE_REFERENCE);
  request.set_rule(v1::SCALING_RULE_CHINCHILLA_3_UNROUNDED);
  request.set_flops_per_parameter_token(8);
  request.set_served_token_count(9);
  request.set_tokens_per_parameter(10);
  SuppliedCalibrations supplied;
  FieldViolations violations;
  const AllocationSpec spec = AllocationSpecFrom(request, FinderOf(supplied), violations);
  EXPECT_THAT(violations.all(), IsEmpty());
  EXPECT_TRUE(spec.devices_given);
  EXPECT_EQ(spec.run.cluster.device.accelerator, "a");
  EXPECT_THAT(
      Numbers(spec.flops, spec.run.cluster.device_count, spec.run.cluster.peak_flops_per_second,
              spec.duration_seconds, spec.run.economics.device_hour_price_usd,
              spec.run.economics.budget_usd, spec.run.options.assumed_mfu,
              spec.flops_per_parameter_token, spec.served_token_count, spec.tokens_per_parameter),
      ElementsAre(1e12, 2, 3, 4, 5, 6, 0.7, 8, 9, 10));
  EXPECT_EQ(spec.run.training.precision.compute_data_type, DataType::kFp8);
  EXPECT_EQ(spec.run.rate_requirement.minimum_source, RateSource::kReference);
  EXPECT_EQ(spec.rule, ScalingRule::kChinchilla3Unrounded);
  // An absent field stays absent.
  const AllocationSpec none = AllocationSpecFrom({}, FinderOf(supplied), violations);
  EXPECT_FALSE(none.devices_given);
  EXPECT_THAT(Numbers(none.flops, none.duration_seconds, none.rule, none.served_token_count),
              Each(kAbsent));
}

}  // namespace
}  // namespace sextant::server
