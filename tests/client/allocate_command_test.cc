// `sextant allocate`, against a fake server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

using Allocations = Answering<v1::AllocateComputeRequest, v1::AllocateComputeResponse>;

// The request that the command line sends.
v1::AllocateComputeRequest AskedBy(std::vector<std::string> args) {
  Allocations allocations;
  allocations.response.add_allocations();
  const FakeServer server(PlanningHandlers{.allocate_compute = allocations.handler()});
  args.insert(args.begin(), "allocate");
  args.insert(args.end(), {"--address", server.address()});
  const Ran ran = RunWith(args);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return allocations.request;
}

// The server has no clock: without --start the client's is used.
TEST(Allocate, StartsNowWhereADeadlineIsGivenAlone) {
  const v1::AllocateComputeRequest asked = AskedBy({"--device=host", "--deadline=2040-01-01"});
  EXPECT_EQ(asked.economics().start_time().seconds(), kNowUnixSeconds);
  EXPECT_FALSE(AskedBy({"--device=host", "--budget-usd=5"}).economics().has_start_time());
}

// What --print-request wrote, with the flags that override it.
TEST(Allocate, ReadsARequestThatFlagsOverride) {
  const std::string file = FileWith(
      "allocate.json", RunWith({"allocate", "--device=host", "--devices=8", "--duration=7d",
                                "--rule=besiroglu-2024", "--print-request"})
                           .out);
  const std::string request = absl::StrCat("--request=", file);
  v1::AllocateComputeRequest expected = FromText<v1::AllocateComputeRequest>(
      "cluster { device { host_devices { devices: 'host' } } device_count: 8 } "
      "duration { seconds: 604800 } rule: SCALING_RULE_BESIROGLU_2024");
  ExpectSame(AskedBy({request}), expected);
  expected.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  expected.mutable_duration()->set_seconds(86400);
  expected.set_assumed_mfu(0.5);
  ExpectSame(AskedBy({request, "--accelerator=h100-sxm", "--duration=1d", "--mfu=0.5"}), expected);
}

TEST(Allocate, RefusesWrongArguments) {
  for (const std::vector<std::string>& args :
       {std::vector<std::string>{"allocate", "many"},
        {"allocate", "1e21", "--rule=moore"},
        {"allocate", "--device=host", "--duration=7"},
        {"allocate", "--calibration=/no/such"},
        {"allocate", "--request=/no/such"},
        {"allocate", "--accelerator=h100-sxm", "--device=host", "--devices=1"}}) {
    const Ran ran = RunWith(args);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_FALSE(ran.err.empty());
  }
}

}  // namespace
}  // namespace sextant::client
