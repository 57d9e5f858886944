// `sextant allocate` from its arguments to its exit codes.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/report/allocation_text.h"
#include "tests/client/fake_server.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

using Allocations = Answering<v1::AllocateComputeRequest, v1::AllocateComputeResponse>;

Allocations OneRule() {
  Allocations out;
  v1::RuleAllocation* answer = out.response.add_allocations();
  answer->set_rule(v1::SCALING_RULE_CHINCHILLA_1);
  answer->mutable_optimum()->set_parameter_count(67'000'000'000);
  return out;
}

std::string SameWords(const std::string& field) { return field; }

v1::AllocateComputeRequest Read(const std::string& text) {
  v1::AllocateComputeRequest out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &out)) << text;
  return out;
}

// The request that the command line sends.
v1::AllocateComputeRequest AskedBy(std::vector<std::string> args) {
  Allocations allocations = OneRule();
  const FakeServer server(PlanningHandlers{.allocate_compute = allocations.handler()});
  args.insert(args.begin(), "allocate");
  args.insert(args.end(), {"--address", server.address()});
  const Ran ran = RunWith(args);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, AllocationText(allocations.request, allocations.response, SameWords));
  return allocations.request;
}

TEST(Allocate, AsksForWhatIsWritten) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"5.76e23"}, "flops: 5.76e23"},
      {{"--flops=1e21", "--rule=besiroglu-2024"}, "flops: 1e21 rule: SCALING_RULE_BESIROGLU_2024"},
      {{"1e21", "--served-tokens=2T", "--tokens-per-parameter=200",
        "--flops-per-parameter-token=8"},
       "flops: 1e21 served_token_count: 2000000000000 tokens_per_parameter: 200 "
       "flops_per_parameter_token: 8"},
      {{"--accelerator=h100-sxm", "--devices=8", "--duration=7d", "--mfu=0.5",
        "--peak-flops-per-second=989.5e12", "--compute-data-type=fp8"},
       "cluster { device { accelerator: 'h100-sxm' } device_count: 8 "
       "peak_flops_per_second: 989.5e12 } duration { seconds: 604800 } assumed_mfu: 0.5 "
       "compute_data_type: DATA_TYPE_FP8"},
      {{"--device=host", "--devices=1", "--budget-usd=1000", "--device-hour-price-usd=2",
        "--minimum-source=measured-device", "--maximum-age=36h"},
       "cluster { device { host_devices { devices: 'host' } } device_count: 1 } "
       "economics { budget_usd: 1000 device_hour_price_usd: 2 } "
       "rate_requirement { minimum_source: RATE_SOURCE_MEASURED_DEVICE "
       "maximum_age { seconds: 129600 } }"},
      {{"--device=host", "--start=2040-01-01", "--deadline=2040-01-02"},
       "cluster { device { host_devices { devices: 'host' } } } "
       "economics { start_time { seconds: 2208988800 } deadline { seconds: 2209075200 } }"}};
  for (const auto& [args, request] : cases) {
    const v1::AllocateComputeRequest asked = AskedBy(args);
    EXPECT_TRUE(MessageDifferencer::Equals(asked, Read(request))) << asked.DebugString();
  }
}

// The server has no clock: without --start the client's is used.
TEST(Allocate, StartsNowWhereADeadlineIsGivenAlone) {
  const v1::AllocateComputeRequest asked = AskedBy({"--device=host", "--deadline=2040-01-01"});
  EXPECT_EQ(asked.economics().start_time().seconds(), kNowUnixSeconds);
  EXPECT_FALSE(AskedBy({"--device=host", "--budget-usd=5"}).economics().has_start_time());
}

TEST(Allocate, ReadsCalibrations) {
  const std::string file = TemporaryFile("allocate.json");
  std::ofstream(file) << R"({"device": {"uuid": "GPU-1"}})";
  const v1::AllocateComputeRequest asked =
      AskedBy({"--calibration", file, "--devices=64", "--duration=1d"});
  ASSERT_EQ(asked.cluster().device().calibrations().calibrations_size(), 1);
  EXPECT_EQ(asked.cluster().device().calibrations().calibrations(0).device().uuid(), "GPU-1");
  EXPECT_EQ(asked.cluster().device_count(), 64);
}

// A request that --print-request wrote, with flags that override it.
TEST(Allocate, ReadsARequestThatFlagsOverride) {
  const std::string file = TemporaryFile("allocate_request.json");
  std::ofstream(file) << RunWith({"allocate", "--device=host", "--devices=8", "--duration=7d",
                                  "--rule=besiroglu-2024", "--print-request"})
                             .out;
  const std::string request = absl::StrCat("--request=", file);
  const auto expect = [&](const std::vector<std::string>& args, const char* text) {
    const v1::AllocateComputeRequest asked = AskedBy(args);
    EXPECT_TRUE(MessageDifferencer::Equals(asked, Read(text))) << asked.DebugString();
  };
  expect({request},
         "cluster { device { host_devices { devices: 'host' } } device_count: 8 } "
         "duration { seconds: 604800 } rule: SCALING_RULE_BESIROGLU_2024");
  expect({request, "--accelerator=h100-sxm", "--duration=1d", "--mfu=0.5"},
         "cluster { device { accelerator: 'h100-sxm' } device_count: 8 } "
         "duration { seconds: 86400 } rule: SCALING_RULE_BESIROGLU_2024 assumed_mfu: 0.5");
  std::remove(file.c_str());
  EXPECT_EQ(RunWith({"allocate", request}).exit_code, 2);
}

TEST(Allocate, PrintsJsonAndSources) {
  Allocations allocations = OneRule();
  const FakeServer server(PlanningHandlers{.allocate_compute = allocations.handler()});
  const Ran json = RunWith({"allocate", "1e21", "--output=json", "--address", server.address()});
  v1::AllocateComputeResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json.out, &read).ok()) << json.out;
  EXPECT_TRUE(MessageDifferencer::Equals(read, allocations.response));
  const Ran sources = RunWith({"allocate", "1e21", "--sources", "--address", server.address()});
  EXPECT_THAT(sources.out, HasSubstr("\nSources\n  chinchilla-1: "));
}

TEST(Allocate, SaysFaultsInTheWordsOfTheCommandLine) {
  for (const auto& [field, words] :
       {std::pair("flops", "--flops"),
        {"cluster", "--accelerator"},
        {"cluster.device", "--accelerator"},
        {"cluster.device.accelerator", "--accelerator"},
        {"cluster.device.host_devices.devices[0]", "--device, entry 1"},
        {"cluster.device.calibrations.calibrations[1].matmuls", "--calibration[1].matmuls"},
        {"cluster.device_count", "--devices"},
        {"economics.budget_usd", "--budget"},
        {"assumed_mfu", "--mfu"},
        {"served_token_count", "--served-tokens"},
        {"future", "future"}}) {
    Allocations allocations = {.status =
                                   FieldInvalid(field, "is wrong: give tokens_per_parameter")};
    const FakeServer server(PlanningHandlers{.allocate_compute = allocations.handler()});
    const Ran ran = RunWith({"allocate", "1e21", "--address", server.address()});
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_THAT(ran.err,
                HasSubstr(absl::StrCat("\n  ", words, ": is wrong: give --tokens-per-parameter\n")))
        << field;
  }
}

TEST(Allocate, RefusesWrongArguments) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"allocate", "many"},
        {"allocate", "1e21", "--rule=moore"},
        {"allocate", "--device=host", "--duration=7"},
        {"allocate", "--calibration=/no/such"},
        {"allocate", "--accelerator=h100-sxm", "--device=host", "--devices=1"}}) {
    const Ran ran = RunWith(args);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_FALSE(ran.err.empty());
  }
}

TEST(Allocate, TakesNoAnswerWithoutRules) {
  Allocations allocations;
  const FakeServer server(PlanningHandlers{.allocate_compute = allocations.handler()});
  const Ran ran = RunWith({"allocate", "1e21", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_THAT(ran.err, HasSubstr("the answer holds no allocations"));
}

}  // namespace
}  // namespace sextant::client
