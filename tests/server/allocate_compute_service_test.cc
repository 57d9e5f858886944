// AllocateCompute, from a client's request to its answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "server/convert/allocate_compute.h"
#include "tests/server/device_finder.h"
#include "tests/server/json_call.h"
#include "tests/server/message_matchers.h"
#include "tests/server/planning_server.h"

namespace sextant::server {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr char kMethod[] = "PlanningService/AllocateCompute";

// 8 H100s for a week at half of 989.5e12 FLOP/s.
json Week() {
  return json::parse(R"({"cluster": {"device": {"accelerator": "h100-sxm"}, "device_count": 8,
      "peak_flops_per_second": 989.5e12}, "duration": "604800s", "assumed_mfu": 0.5})");
}

class AllocateComputeServiceTest : public ::testing::Test {
 protected:
  json AskFor(const json& request) const { return Ask(server_, kMethod, request); }
  std::vector<std::string> FaultsOf(const json& request) const {
    return Faults(server_, kMethod, request);
  }

  const TestServer server_;
};

// The textbook's week, in one call: the FLOPs and the models that they buy.
TEST_F(AllocateComputeServiceTest, SaysWhatAWeekBuys) {
  const json answer = AskFor(Week());
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

TEST_F(AllocateComputeServiceTest, RefusesByField) {
  EXPECT_THAT(FaultsOf(json::object()), ElementsAre(StartsWith("flops: is required, or cluster")));
  for (const json& flops : {json(0), json(-1), json("NaN"), json("Infinity"), json(1e300)}) {
    EXPECT_THAT(FaultsOf({{"flops", flops}}), ElementsAre(StartsWith("flops: must be a number")));
  }
  json both = Week();
  both["flops"] = 1e21;
  EXPECT_THAT(FaultsOf(both),
              UnorderedElementsAre(StartsWith("cluster: is of a budget of devices"),
                                   StartsWith("duration: is of a budget of devices"),
                                   StartsWith("assumed_mfu: is of a budget of devices")));
  json wrong = Week();
  wrong["duration"] = "-1s";
  wrong["assumed_mfu"] = 1.5;
  wrong["rule"] = 99;
  wrong["compute_data_type"] = "DATA_TYPE_INT8";
  wrong["served_token_count"] = -1;
  wrong["cluster"]["device_count"] = 0;
  EXPECT_THAT(FaultsOf(wrong),
              UnorderedElementsAre(StartsWith("duration: "), StartsWith("assumed_mfu: "),
                                   StartsWith("rule: "), StartsWith("compute_data_type: "),
                                   StartsWith("served_token_count: "),
                                   StartsWith("cluster.device_count: ")));
  json no_start = Week();
  no_start.erase("duration");
  no_start["economics"] = {{"deadline", "2040-01-08T00:00:00Z"}};
  EXPECT_THAT(FaultsOf(no_start), ElementsAre(StartsWith("economics.start_time: is required")));
  json start = Week();
  start["economics"] = {{"start_time", "2040-01-01T00:00:00Z"}};
  EXPECT_THAT(FaultsOf(start), ElementsAre(StartsWith("economics.start_time: is the start of")));
  json no_device = Week();
  no_device["cluster"].erase("device");
  EXPECT_THAT(FaultsOf(no_device), ElementsAre(StartsWith("cluster.device: ")));
}

TEST_F(AllocateComputeServiceTest, SaysWhichDeviceIsUnknown) {
  json request = Week();
  request["cluster"]["device"]["accelerator"] = "h100-smx";
  json response;
  EXPECT_EQ(CallJson(server_, kMethod, request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

// 1.6e12 FLOP/s, sustained, of the host's processor for 1000 s.
TEST(AllocateCompute, StandsOnThisHostsMeasurement) {
  const PlanningServer server = WithSample();
  v1::AllocateComputeRequest request;
  request.mutable_cluster()->mutable_device()->mutable_host_devices()->add_devices("host");
  request.mutable_cluster()->set_device_count(1);
  request.mutable_duration()->set_seconds(1000);
  v1::AllocateComputeResponse response;
  const grpc::Status status = server.AllocateCompute(request, &response);
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
  EXPECT_EQ(server.AllocateCompute(request, &response).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
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
  request.set_flops(1);
  request.mutable_cluster()->mutable_device()->set_accelerator("a");
  request.mutable_cluster()->set_device_count(2);
  request.mutable_cluster()->set_peak_flops_per_second(3);
  request.mutable_duration()->set_seconds(4);
  request.mutable_economics()->set_device_hour_price_usd(5);
  request.mutable_economics()->set_budget_usd(6);
  request.set_assumed_mfu(7);
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
  EXPECT_EQ(spec.flops, 1);
  EXPECT_TRUE(spec.devices_given);
  EXPECT_EQ(spec.run.cluster.device.accelerator, "a");
  EXPECT_EQ(spec.run.cluster.device_count, 2);
  EXPECT_EQ(spec.run.cluster.peak_flops_per_second, 3);
  EXPECT_EQ(spec.duration_seconds, 4);
  EXPECT_EQ(spec.run.economics.device_hour_price_usd, 5);
  EXPECT_EQ(spec.run.economics.budget_usd, 6);
  EXPECT_EQ(spec.run.options.assumed_mfu, 7);
  EXPECT_EQ(spec.run.training.precision.compute_data_type, DataType::kFp8);
  EXPECT_EQ(spec.run.rate_requirement.minimum_source, RateSource::kReference);
  EXPECT_EQ(spec.rule, ScalingRule::kChinchilla3Unrounded);
  EXPECT_EQ(spec.flops_per_parameter_token, 8);
  EXPECT_EQ(spec.served_token_count, 9);
  EXPECT_EQ(spec.tokens_per_parameter, 10);
  // An absent field stays absent.
  const AllocationSpec none = AllocationSpecFrom({}, FinderOf(supplied), violations);
  EXPECT_FALSE(none.flops.has_value());
  EXPECT_FALSE(none.devices_given);
  EXPECT_FALSE(none.duration_seconds.has_value());
  EXPECT_FALSE(none.rule.has_value());
  EXPECT_FALSE(none.served_token_count.has_value());
}

}  // namespace
}  // namespace sextant::server
