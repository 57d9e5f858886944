// `sextant rates` from its arguments to its exit codes.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "client/report/kernel_rates_text.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_kernel_rates.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string AsItIs(const std::string& field) { return field; }

HardwareHandlers HoldsRates(v1::GetKernelRatesRequest* asked) {
  return {.get_kernel_rates = [=](grpc::ServerContext*, const v1::GetKernelRatesRequest& request,
                                  v1::GetKernelRatesResponse* response) {
    *asked = request;
    *response = SampleKernelRates();
    return grpc::Status::OK;
  }};
}

TEST(Rates, AreTextOrJson) {
  v1::GetKernelRatesRequest asked;
  const FakeServer server(HoldsRates(&asked));
  const Ran text =
      RunWith({"rates", "toy", "--dtype=bf16", "--dtype=fp8_e4m3", "--address", server.address()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, KernelRatesText(SampleKernelRates(), AsItIs));
  EXPECT_EQ(asked.device().accelerator(), "toy");
  EXPECT_THAT(asked.data_types(), ElementsAre(v1::DATA_TYPE_BF16, v1::DATA_TYPE_FP8_E4M3));
  const Ran json = RunWith({"rates", "toy", "--output=json", "--address", server.address()});
  v1::GetKernelRatesResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json.out, &read).ok()) << json.out;
  EXPECT_TRUE(MessageDifferencer::Equals(read, SampleKernelRates()));
}

TEST(Rates, NameDevicesOfTheServer) {
  v1::GetKernelRatesRequest asked;
  const FakeServer server(HoldsRates(&asked));
  const Ran ran = RunWith({"rates", "GPU-1", "host", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(asked.device().host_devices().devices(), ElementsAre("GPU-1", "host"));
}

TEST(Rates, AreDrawnIntoAFile) {
  v1::GetKernelRatesRequest asked;
  const FakeServer server(HoldsRates(&asked));
  const std::string file = TemporaryFile("rates.svg");
  const Ran ran = RunWith({"rates", "toy", "--svg", file, "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  std::ifstream in(file);
  std::stringstream svg;
  svg << in.rdbuf();
  EXPECT_THAT(svg.str(), HasSubstr("toy: square matmul"));
}

TEST(Rates, AreOfADeviceThatIsNamedOnce) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"rates"},
                                               {"rates", "h100-sxm", "h200-sxm"},
                                               {"rates", "h100-sxm", "GPU-1"},
                                               {"rates", "GPU-1", "h100-sxm"},
                                               {"rates", "h100-sxm", "--dtype=bf17"}}) {
    const Ran ran = RunWith(args);
    EXPECT_NE(ran.exit_code, 0);
    EXPECT_FALSE(ran.err.empty());
  }
}

TEST(Rates, PassOnTheServersError) {
  const FakeServer server(HardwareHandlers{.get_kernel_rates = [](grpc::ServerContext*,
                                                                  const v1::GetKernelRatesRequest&,
                                                                  v1::GetKernelRatesResponse*) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such accelerator");
  }});
  const Ran ran = RunWith({"rates", "toy", "--address", server.address()});
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_THAT(ran.err, HasSubstr("no such accelerator"));
}

TEST(KernelRatesText, SaysTimesIntervalsSourcesAndErrors) {
  const std::string text = KernelRatesText(SampleKernelRates(), AsItIs);
  for (const char* part :
       {"Kernels of toy", "square matmul, bf16: n of n x n x n", "16,384", "10.00 ms", "80.00 %",
        "measured shapes around it", "reference, a table <A & B>",
        "40 measured shapes, each unseen: 3.10 % off in the median", "datasheet, published share",
        "datasheet, a sheet\n", "form: roofline\n", "\nWarnings\n  - No measured toy is left.\n",
        "\nAssumptions\n  - Times are of short bursts.\n"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

}  // namespace
}  // namespace sextant::client
