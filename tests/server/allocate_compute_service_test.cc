// AllocateCompute, from a client's request to its answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "server/convert/allocate_compute.h"
#include "tests/server/device_finder.h"
#include "tests/server/json_call.h"
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

// Table 3 of Hoffmann et al. 2022: 10 billion parameters and 205.1 billion tokens.
TEST_F(AllocateComputeServiceTest, AnswersByOneRule) {
  const json answer = AskFor({{"flops", 1.23e22}, {"rule", "SCALING_RULE_CHINCHILLA_1"}});
  ASSERT_THAT(answer["allocations"], SizeIs(1));
  const json& allocation = answer["allocations"][0];
  EXPECT_NEAR(NumberAt(allocation, "/optimum/parameter_count"), 1e10, 0.003e10);
  EXPECT_NEAR(NumberAt(allocation, "/optimum/token_count"), 205.1e9, 0.5e9);
  EXPECT_EQ(NumberAt(allocation, "/fitted_range/low_parameter_count"), 70e6);
  EXPECT_EQ(NumberAt(allocation, "/fitted_range/high_parameter_count"), 10e9);
  EXPECT_EQ(NumberAt(allocation, "/law/power/anchor_parameter_count"), 4e8);
  EXPECT_EQ(NumberAt(allocation, "/law/power/anchor_flops"), 1.92e19);
  EXPECT_FALSE(answer["budget"].contains("devices"));
  EXPECT_FALSE(answer.contains("rates"));
}

TEST_F(AllocateComputeServiceTest, FlagsWhatIsExtrapolated) {
  const json answer = AskFor({{"flops", 5.76e23}, {"rule", "SCALING_RULE_KAPLAN_2020"}});
  EXPECT_EQ(answer["allocations"][0]["optimum"]["extrapolated"], true);
  EXPECT_EQ(answer["allocations"][0]["excludes_embeddings"], true);
  const json within = AskFor({{"flops", 1e21}, {"rule", "SCALING_RULE_CHINCHILLA_2"}});
  EXPECT_FALSE(within["allocations"][0]["optimum"].contains("extrapolated"));
  EXPECT_EQ(NumberAt(within, "/allocations/0/fitted_range/low_flops"), 6e18);
  EXPECT_EQ(NumberAt(within, "/allocations/0/fitted_range/high_flops"), 3e21);
}

// Every field of the longer trained models.
TEST_F(AllocateComputeServiceTest, TrainsForLonger) {
  const json answer = AskFor({{"flops", 1.2e25},
                              {"rule", "SCALING_RULE_CHINCHILLA_3"},
                              {"served_token_count", 2e12},
                              {"tokens_per_parameter", 200}});
  const json& allocation = answer["allocations"][0];
  const json& serving = allocation["serving"];
  const double parameters = NumberAt(serving, "/model/parameter_count");
  const double optimum = NumberAt(allocation, "/optimum/parameter_count");
  EXPECT_LT(parameters, optimum);
  EXPECT_NEAR(NumberAt(serving, "/serving_flops") / (2 * parameters * 2e12), 1, 1e-9);
  EXPECT_GT(NumberAt(serving, "/model/training_flops"), 1.2e25);
  EXPECT_EQ(NumberAt(serving, "/model/loss"), NumberAt(allocation, "/optimum/loss"));
  EXPECT_DOUBLE_EQ(NumberAt(serving, "/total_flops"), NumberAt(serving, "/model/training_flops") +
                                                          NumberAt(serving, "/serving_flops"));
  const double before = 1.2e25 + 2 * optimum * 2e12;
  EXPECT_NEAR(NumberAt(serving, "/saved_flops"), before - NumberAt(serving, "/total_flops"),
              1e-9 * before);
  EXPECT_NEAR(NumberAt(serving, "/saved_ratio"), NumberAt(serving, "/saved_flops") / before, 1e-9);
  const json& ratio = allocation["at_ratio"];
  EXPECT_EQ(NumberAt(ratio, "/model/parameter_count"), 1e11);  // (1.2e25 / 6 / 200)^(1/2)
  EXPECT_EQ(NumberAt(ratio, "/model/token_count"), 2e13);
  EXPECT_EQ(NumberAt(ratio, "/model/training_flops"), 1.2e25);
  EXPECT_NEAR(NumberAt(ratio, "/model/loss"),
              NumberAt(allocation, "/optimum/loss") + NumberAt(ratio, "/loss_increase"), 1e-12);
  EXPECT_LT(NumberAt(ratio, "/equal_loss_flops"), 1.2e25);
  ASSERT_THAT(allocation["off_optimum"], SizeIs(4));
  EXPECT_EQ(NumberAt(allocation, "/off_optimum/0/parameter_ratio"), 0.25);
  EXPECT_GT(NumberAt(allocation, "/off_optimum/0/loss_increase"), 0);
}

// 1000 USD at 2 USD an hour are 500 device hours, whatever the number of devices.
TEST_F(AllocateComputeServiceTest, CountsMoneyAndDeadlines) {
  json money = Week();
  money.erase("duration");
  json deadline = money;
  money["economics"] = {{"budget_usd", 1000}, {"device_hour_price_usd", 2}};
  json answer = AskFor(money);
  EXPECT_EQ(NumberAt(answer, "/budget/devices/cost_usd"), 1000);
  EXPECT_EQ(NumberAt(answer, "/budget/devices/device_hours"), 500);
  EXPECT_DOUBLE_EQ(NumberAt(answer, "/budget/flops"), 500 * 3600 * 989.5e12 * 0.5);
  deadline["economics"] = {{"start_time", "2040-01-01T00:00:00Z"},
                           {"deadline", "2040-01-08T00:00:00Z"}};
  answer = AskFor(deadline);
  EXPECT_DOUBLE_EQ(NumberAt(answer, "/budget/flops"), 2.3937984e21);
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
