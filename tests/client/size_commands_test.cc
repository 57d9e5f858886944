// `sextant size-cluster` and `sextant size-model`: their requests and reports.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/flags/plan_flags.h"
#include "client/report/planned_run.h"
#include "client/report/size_cluster_text.h"
#include "client/report/size_model_text.h"
#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Clusters = Answering<v1::SizeClusterRequest, v1::SizeClusterResponse>;
using Models = Answering<v1::SizeModelRequest, v1::SizeModelResponse>;

template <typename Message>
Message Read(const std::string& text) {
  Message out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &out));
  return out;
}

v1::SizeClusterResponse SampleClusters() {
  return Read<v1::SizeClusterResponse>(R"pb(
    clusters {
      accelerator: "h100-sxm"
      met: true
      basis: SIZE_BASIS_LAYOUTS
      device_count: 1024
      server_device_count: 8
      server_count: 128
      network_known: true
      limit: SIZE_LIMIT_DEADLINE
      least_device_count: 512
      plan {
        model_name: "parameters"
        parameters { total: 70000000000 }
        memory { peak_bytes { expected: 64424509440 } }
        whole_run { basis: ESTIMATE_KIND_PREDICTED }
        step_time { seconds { expected: 8 } }
        estimates {
          kind: ESTIMATE_KIND_PREDICTED
          elapsed_seconds { expected: 8640000 }
          device_hours: 2457600
          cost_usd: 4915200
          mfu: 0.45
        }
        search {
          chosen {
            layout {
              parallel { tensor_parallel_size: 1 pipeline_parallel_size: 4 virtual_stage_count: 1 }
              context_parallel_size: 1
              micro_batch_size: 1
            }
          }
        }
      }
    }
    clusters {
      accelerator: "a10"
      basis: SIZE_BASIS_LAYOUTS
      device_count: 4
      server_device_count: 8
      network_known: false
      limit: SIZE_LIMIT_DEADLINE
      least_device_count: 5000
      tried { device_count: 2 misses: SIZE_LIMIT_MEMORY }
      tried { device_count: 4 misses: SIZE_LIMIT_DEADLINE elapsed_seconds: 864000000 }
    }
    clusters {
      accelerator: "h300"
      status { code: 5 message: "accelerator \"h300\" is not known; near names: h200-sxm" }
    }
  )pb");
}

v1::SizeModelResponse SampleModel() {
  return Read<v1::SizeModelResponse>(R"pb(
    met: true
    basis: SIZE_BASIS_LAYOUTS
    parameter_count: 56863236096
    token_count: 1137264721920
    architecture {
      hidden_size: 8192
      layer_kinds {
        name: "dense"
        attention { head_count: 64 key_value_head_count: 8 query_key_head_size: 128 }
        feed_forward { size: 28672 }
      }
    }
    width_ratio: 2
    layer_count: 64
    limit: SIZE_LIMIT_MEMORY
    plan {
      device: "h100-sxm"
      device_count: 512
      memory { peak_bytes { expected: 64424509440 } }
      whole_run { basis: ESTIMATE_KIND_PREDICTED }
      estimates {
        kind: ESTIMATE_KIND_PREDICTED
        elapsed_seconds { expected: 864000 }
        device_hours: 122880
        mfu: 0.45
      }
    }
    tried { parameter_count: 56863236096 hidden_size: 8192 layer_count: 64 elapsed_seconds: 864000 }
    tried {
      parameter_count: 57718890496
      hidden_size: 8192
      layer_count: 65
      misses: SIZE_LIMIT_MEMORY
    }
  )pb");
}

Ran RunCommandOf(const FakeServer& server, std::vector<std::string> args) {
  args.insert(args.begin(), {"--address", server.address()});
  return RunWith(args);
}

TEST(SizeClusterCommand, FillsItsRequest) {
  Clusters asked{.response = SampleClusters()};
  const FakeServer server(PlanningHandlers{.size_cluster = asked.handler()});
  const Ran ran = RunCommandOf(
      server, {"size-cluster", "--parameters=70B", "--tokens=15T", "--max-duration=90d",
               "--max-devices=4096", "--products=h100-sxm@dgx-h100:2.5,a10", "--products=h300",
               "--objective=least-cost"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(asked.request.run().model().parameter_count(), 70'000'000'000);
  EXPECT_EQ(asked.request.max_duration().seconds(), 90 * 86'400);
  EXPECT_EQ(asked.request.max_device_count(), 4096);
  EXPECT_EQ(asked.request.objective(), v1::SIZE_OBJECTIVE_LEAST_COST);
  ASSERT_EQ(asked.request.products_size(), 3);
  EXPECT_EQ(asked.request.products(0).accelerator(), "h100-sxm");
  EXPECT_EQ(asked.request.products(0).node_type(), "dgx-h100");
  EXPECT_EQ(asked.request.products(0).device_hour_price_usd(), 2.5);
  EXPECT_EQ(asked.request.products(1).accelerator(), "a10");
  EXPECT_FALSE(asked.request.products(1).has_device_hour_price_usd());
  EXPECT_EQ(asked.request.products(2).accelerator(), "h300");
}

TEST(SizeClusterCommand, NamesItsObjectiveAndTheBest) {
  Clusters asked{.response = SampleClusters()};
  asked.response.set_best(0);
  asked.response.mutable_clusters(0)->mutable_plan()->mutable_estimates(0)->set_energy_joules(
      3.6e12);
  const FakeServer server(PlanningHandlers{.size_cluster = asked.handler()});
  const std::vector<std::string> run = {"size-cluster", "--parameters=70B", "--tokens=15T",
                                        "--products=h100-sxm,a10,h300"};
  const auto text = [&](const char* objective) {
    std::vector<std::string> args = run;
    args.push_back(objective);
    return RunCommandOf(server, args).out;
  };
  EXPECT_THAT(text("--objective=fewest-devices"), HasSubstr("The fewest devices that fit"));
  EXPECT_THAT(text("--objective=least-cost"),
              HasSubstr("The cheapest number of devices that fits"));
  EXPECT_THAT(text("--objective=least-time"), HasSubstr("The fastest number of devices that fits"));
  EXPECT_THAT(text("--objective=least-time"), HasSubstr("\n  Best: h100-sxm, 1,024 devices.\n"));
  EXPECT_THAT(text("--objective=least-energy"),
              HasSubstr("\n  Best: h100-sxm, 1,024 devices, 1.00 GWh.\n"));
  asked.response.set_best(7);  // no index
  EXPECT_THAT(text("--objective=least-time"), Not(HasSubstr("Best:")));
}

TEST(SizeClusterCommand, SaysWhatToWrite) {
  Clusters asked{.response = SampleClusters()};
  const FakeServer server(PlanningHandlers{.size_cluster = asked.handler()});
  EXPECT_THAT(RunCommandOf(server, {"size-cluster", "--products=h100-sxm:cheap"}).err,
              HasSubstr("NAME[@SERVER][:USD]"));
  EXPECT_EQ(RunCommandOf(server, {"size-cluster", "--devices=8"}).exit_code, kExitUsage);
  asked.status = FieldInvalid("run.economics.budget_usd", "needs economics.device_hour_price_usd");
  const Ran refused = RunCommandOf(server, {"size-cluster"});
  EXPECT_EQ(refused.exit_code, kExitBadRequest);
  EXPECT_THAT(refused.err, HasSubstr("--budget: needs --device-hour-price-usd"));
  asked.status = FieldInvalid("max_duration");
  EXPECT_THAT(RunCommandOf(server, {"size-cluster"}).err, HasSubstr("--max-duration: is wrong"));
}

TEST(SizeClusterCommand, ExitsByItsAnswers) {
  Clusters asked{.response = SampleClusters()};
  const FakeServer server(PlanningHandlers{.size_cluster = asked.handler()});
  asked.response.mutable_clusters()->DeleteSubrange(0, 1);
  EXPECT_EQ(RunCommandOf(server, {"size-cluster"}).exit_code, kExitDoesNotFit);
  asked.response.mutable_clusters()->DeleteSubrange(0, 1);
  EXPECT_EQ(RunCommandOf(server, {"size-cluster"}).exit_code, kExitBadRequest);
  asked.response.clear_clusters();
  EXPECT_EQ(RunCommandOf(server, {"size-cluster"}).exit_code, kExitInternal);
}

TEST(SizeClusterText, HasALineAProduct) {
  v1::SizeClusterRequest request;
  request.mutable_max_duration()->set_seconds(90 * 86'400);
  request.mutable_run()->mutable_economics()->set_budget_usd(5e6);
  request.mutable_run()->mutable_training()->set_token_count(15'000'000'000'000);
  const std::string text =
      SizeClusterText(request, SampleClusters(), absl::UnixEpoch(), PlanFieldWords);
  EXPECT_THAT(text, HasSubstr("The fewest devices that fit, within 90.00 days, for 5,000,000 USD"));
  EXPECT_THAT(text, HasSubstr("  product   devices  servers  days  dev-hours     USD     MFU  "
                              "limit\n"
                              "  h100-sxm    1,024      128   100     2.458M  4.915M  45.0 %  "
                              "deadline\n"));
  EXPECT_THAT(text, HasSubstr("  h100-sxm  60.00 GiB on a device, a step of 8.00 s, --tp=1"));
  EXPECT_THAT(text, HasSubstr("  a10  nearest of 2 numbers tried: 4 devices, deadline missed, "
                              "10,000 days; fewer than 5,000 can't\n    be enough\n"));
  EXPECT_THAT(text, HasSubstr("  a10  no link beyond 8 devices is known"));
  EXPECT_THAT(text, HasSubstr("  h300  accelerator \"h300\" is not known"));
  EXPECT_THAT(text, HasSubstr("bounded search"));
}

TEST(SizeClusterText, NamesStateAlone) {
  v1::SizeClusterResponse response = SampleClusters();
  response.mutable_clusters(0)->set_basis(v1::SIZE_BASIS_STATE_ALONE);
  response.mutable_clusters()->DeleteSubrange(1, 2);
  EXPECT_THAT(SizeClusterText({}, response, absl::UnixEpoch(), PlanFieldWords),
              HasSubstr("Model state alone, shared evenly, and no exchanges"));
}

TEST(SizeModelCommand, FillsItsRequest) {
  Models asked{.response = SampleModel()};
  const FakeServer server(PlanningHandlers{.size_model = asked.handler()});
  const Ran ran =
      RunCommandOf(server, {"size-model", "llama-3.1-8b", "--tokens-per-parameter=20",
                            "--max-duration=30d", "--devices=512", "--accelerator=h100-sxm"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(asked.request.run().model().preset(), "llama-3.1-8b");
  EXPECT_EQ(asked.request.run().cluster().device_count(), 512);
  EXPECT_EQ(asked.request.tokens_per_parameter(), 20);
  EXPECT_EQ(asked.request.max_duration().seconds(), 30 * 86'400);
  EXPECT_EQ(RunCommandOf(server, {"size-model", "--parameters=7B"}).exit_code, kExitUsage);
  asked.response.set_met(false);
  EXPECT_EQ(RunCommandOf(server, {"size-model"}).exit_code, kExitDoesNotFit);
  asked.status = FieldInvalid("run.training.token_count", "is required");
  EXPECT_THAT(RunCommandOf(server, {"size-model"}).err, HasSubstr("--tokens: is required"));
}

// Far from the 10 s of a call that plans one run.
TEST(SizeModelCommand, WaitsLongerUnlessToldHowLong) {
  absl::Duration left;
  const FakeServer server(
      PlanningHandlers{.size_model = [&](grpc::ServerContext* context, const v1::SizeModelRequest&,
                                         v1::SizeModelResponse* response) {
        left = absl::FromChrono(context->deadline()) - absl::Now();
        *response = SampleModel();
        return grpc::Status::OK;
      }});
  EXPECT_EQ(RunCommandOf(server, {"size-model"}).exit_code, 0);
  EXPECT_GT(left, absl::Seconds(60));
  EXPECT_LE(left, absl::Seconds(121));
  EXPECT_EQ(RunCommandOf(server, {"size-model", "--timeout=1000"}).exit_code, 0);
  EXPECT_GT(left, absl::Seconds(500));
}

TEST(SizeModelText, SaysTheShapeAndWhatIsNext) {
  v1::SizeModelRequest request;
  const std::string text = SizeModelText(request, SampleModel(), absl::UnixEpoch());
  EXPECT_THAT(text, HasSubstr("The largest model that fits on 512 x h100-sxm: 56,863,236,096 "
                              "parameters, 1,137,264,721,920 tokens\n"));
  EXPECT_THAT(text, HasSubstr("  shape   64 layers, width 8,192 (2 x the given model's); dense: "
                              "64 heads of 128, 8 of"));
  EXPECT_THAT(text, HasSubstr("  time    10 days predicted, 122,880 device-hours, 45.0 % MFU\n"));
  EXPECT_THAT(text, HasSubstr("  limit   the next larger: does not fit\n"));
  EXPECT_THAT(text, HasSubstr("  >  56,863,236,096      64  8,192    10  -\n"));
  EXPECT_THAT(text, HasSubstr("     57,718,890,496      65  8,192     -  memory\n"));
  v1::SizeModelResponse missed = SampleModel();
  missed.set_met(false);
  EXPECT_THAT(SizeModelText(request, missed, absl::UnixEpoch()),
              HasSubstr("  limit   does not fit\n"));
}

TEST(ShortNumber, HasFourDigits) {
  EXPECT_EQ(ShortNumber(0), "0");
  EXPECT_EQ(ShortNumber(950.04), "950");
  EXPECT_EQ(ShortNumber(999.96), "1k");
  EXPECT_EQ(ShortNumber(12'345), "12.35k");
  EXPECT_EQ(ShortNumber(4'117'740), "4.118M");
  EXPECT_EQ(ShortNumber(999'999'999), "1G");
  EXPECT_EQ(ShortNumber(5e15), "5e+06G");
}

}  // namespace
}  // namespace sextant::client
