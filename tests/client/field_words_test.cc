// The words of each command line for fields that a server's errors name.
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

using Cases = std::vector<std::pair<std::string, std::string>>;

// Expects that `args`, where the server refuses a field, prints its words; `description` and
// `described` are the server's words about it and the command's. `server` answers with `status`.
template <typename Request, typename Response, typename Handlers>
void ExpectWords(std::vector<std::string> args, Handler<Request, Response> Handlers::*method,
                 const Cases& cases, const std::string& description = "is wrong",
                 const std::string& described = "is wrong") {
  Answering<Request, Response> refusing;
  Handlers handlers;
  handlers.*method = refusing.handler();
  const FakeServer server(std::move(handlers));
  args.insert(args.end(), {"--address", server.address()});
  for (const auto& [field, words] : cases) {
    refusing.status = FieldInvalid(field, description);
    const Ran ran = RunWith(args);
    EXPECT_EQ(ran.exit_code, 3);
    EXPECT_THAT(ran.err, HasSubstr(absl::StrCat("\n  ", words, ": ", described, "\n"))) << field;
  }
}

TEST(FieldWords, OfAllocate) {
  ExpectWords({"allocate", "1e21"}, &PlanningHandlers::allocate_compute,
              {{"flops", "--flops"},
               {"cluster", "--accelerator"},
               {"cluster.device", "--accelerator"},
               {"cluster.device.accelerator", "--accelerator"},
               {"cluster.device.host_devices.devices[0]", "--device, entry 1"},
               {"cluster.device.calibrations.calibrations[1].matmuls", "--calibration[1].matmuls"},
               {"cluster.device_count", "--devices"},
               {"economics.budget_usd", "--budget"},
               {"assumed_mfu", "--mfu"},
               {"served_token_count", "--served-tokens"},
               {"future", "future"}},
              "is wrong: give tokens_per_parameter", "is wrong: give --tokens-per-parameter");
}

TEST(FieldWords, OfLinks) {
  ExpectWords({"links", "h100-sxm"}, &HardwareHandlers::get_link_times,
              {{"nodes.node_type", "NODE"},
               {"nodes.device.accelerator", "NODE"},
               {"nodes.ranks_per_node", "--ranks-per-node"},
               {"nodes.node_count", "--node-count"},
               {"nodes.network", "--network"},
               {"nodes.network.name", "--network"},
               {"nodes.network.bytes_per_second", "--network-bytes-per-second"},
               {"nodes.device.calibrations.calibrations[1].matmuls", "--calibration[1].matmuls"},
               {"operations[0]", "--operation"},
               {"sizes_bytes[3]", "--size"},
               {"another", "another"}},
              "is wrong, or give bytes_per_second", "is wrong, or give --network-bytes-per-second");
}

TEST(FieldWords, OfRates) {
  ExpectWords({"rates", "toy"}, &HardwareHandlers::get_kernel_rates,
              {{"device.accelerator", "DEVICE"},
               {"device.host_devices.devices[1]", "DEVICE"},
               {"device.calibrations.calibrations[1].matmuls", "--calibration[1].matmuls"},
               {"device", "DEVICE"},
               {"data_types[0]", "--dtype"}});
}

TEST(FieldWords, OfTensor) {
  // The third step has an umlaut of two bytes where the line ends.
  const std::string third = "check " + std::string(57, 'a');
  const std::string cut = absl::StrCat("STEP 3, \"", third, "...\"");
  ExpectWords({"tensor", "4x8", "transpose 0 9", "check a", absl::StrCat(third, "\xc3\xa4", "b"),
               "--dtype=bf16"},
              &AccountingHandlers::analyze_tensor,
              {{"steps[0].transpose.axis_b", "STEP 1, \"transpose 0 9\" (axis b)"},
               {"steps[1].check_shape.expression", "STEP 2, \"check a\" (expression)"},
               {"steps[1]", "STEP 2, \"check a\""},
               {"steps[1].check_shape", "STEP 2, \"check a\""},
               {"steps[2].view", cut},
               {"steps[3].view", "steps[3].view"},  // there is no such step
               {"steps[x]", "steps[x]"},
               {"steps[1", "steps[1"},
               {"steps", "STEP"},
               {"tensor.shape[0]", "SHAPE"},
               {"tensor.strides", "--strides"},
               {"tensor.data_type", "--dtype"},
               {"tensor.offset_elements", "--offset"},
               {"tensor.storage_elements", "--storage"},
               {"future", "future"}});
}

TEST(FieldWords, OfTokens) {
  ExpectWords({"tokens", "5", "--bytes-per-id=2"}, &AccountingHandlers::describe_tokens,
              {{"token_count", "COUNT"},
               {"vocabulary_size", "--vocabulary"},
               {"bytes_per_id", "--bytes-per-id"},
               {"tokens_per_second", "--tokens-per-second"},
               {"future", "future"}});
}

TEST(FieldWords, OfSizes) {
  ExpectWords({"size-cluster"}, &PlanningHandlers::size_cluster,
              {{"run.economics.budget_usd", "--budget"},
               {"max_duration", "--max-duration"},
               {"products[1].accelerator", "--products, entry 2 (accelerator)"}},
              "needs economics.device_hour_price_usd", "needs --device-hour-price-usd");
  ExpectWords({"size-model"}, &PlanningHandlers::size_model,
              {{"run.training.token_count", "--tokens"},
               {"tokens_per_parameter", "--tokens-per-parameter"}});
}

}  // namespace
}  // namespace sextant::client
