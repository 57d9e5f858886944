// `sextant memory` from its arguments to the exit code, against a fake server.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_memory.h"
#include "tests/client/sample_plan.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Asked {
  Ran ran;
  v1::PlanRunRequest request;
  int calls = 0;
};

Asked Ask(std::vector<std::string> args, const v1::PlanRunResponse& answer,
          const std::string& input = "") {
  Asked asked;
  const FakeServer server(
      [&](grpc::ServerContext*, const v1::PlanRunRequest& request, v1::PlanRunResponse* response) {
        asked.request = request;
        ++asked.calls;
        *response = answer;
        return grpc::Status::OK;
      });
  args.insert(args.begin(), {"memory", absl::StrCat("--address=", server.address())});
  asked.ran = RunWith(args, input);
  return asked;
}

void ExpectMemoryRequest(const std::vector<std::string>& args, const std::string& json,
                         const std::string& input = "") {
  v1::PlanRunRequest expect;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &expect).ok()) << json;
  expect.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  const Asked asked = Ask(args, SampleMemory(), input);
  EXPECT_EQ(asked.ran.exit_code, 0) << asked.ran.err;
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(asked.request, expect))
      << asked.request.DebugString() << "expected:\n"
      << expect.DebugString();
}

TEST(MemoryCommand, SendsEveryKindOfFlag) {
  ExpectMemoryRequest({"llama-3.1-70b",
                       "--tokens=1B",
                       "--sequence-length=8Ki",
                       "--accelerator=h100-sxm",
                       "--devices=64",
                       "--tp=8",
                       "--pp=4",
                       "--vpp=2",
                       "--layers-per-chunk=9x10x10,11",
                       "--cp=2",
                       "--cp-comm=a2a",
                       "--ep=3",
                       "--etp=4",
                       "--split-key-value-heads",
                       "--sp=false",
                       "--mbs=2",
                       "--gbs=256",
                       "--schedule=1f1b",
                       "--zero=2",
                       "--shard-group-size=8",
                       "--offload-optimizer",
                       "--frozen-data-type=fp4",
                       "--double-quantization",
                       "--weight-scaling=mx",
                       "--attention=unfused",
                       "--loss=chunked",
                       "--loss-chunk-tokens=1K",
                       "--dropout",
                       "--matmul-input-data-type=fp8",
                       "--recompute-block=5",
                       "--recompute-norm-outputs",
                       "--expert-load-factor=1.5",
                       "--expert-scaling=after-down",
                       "--framework=pytorch-fsdp",
                       "--persistent-gradients=true",
                       "--deferred-reduction=false",
                       "--reduce-bucket-elements=5e8",
                       "--workspace-bytes=64MiB",
                       "--fragmentation=0.06",
                       "--fused-projections=false",
                       "--captured-graphs",
                       "--fits-chance=0.95",
                       "--does-not-fit-chance=0.2",
                       "--require-activations",
                       "--ledger"},
                      R"json({"model": {"preset": "llama-3.1-70b"},
      "training": {"token_count": 1000000000, "sequence_length": 8192},
      "cluster": {"device": {"accelerator": "h100-sxm"}, "device_count": 64},
      "options": {"include_ledger": true, "fits_chance": 0.95, "does_not_fit_chance": 0.2,
        "require_activations": true},
      "layout": {
        "parallel": {"tensor_parallel_size": 8, "pipeline_parallel_size": 4,
          "virtual_stage_count": 2, "layers_per_chunk": [9, 10, 10, 11],
          "expert_parallel_size": 3, "expert_tensor_parallel_size": 4,
          "split_key_value_heads": true},
        "context_parallel_size": 2, "context_parallel_kind": "CONTEXT_PARALLEL_KIND_ALL_TO_ALL",
        "sequence_parallel": false, "micro_batch_size": 2,
        "global_batch_size": 256, "schedule": "PIPELINE_SCHEDULE_ONE_FORWARD_ONE_BACKWARD",
        "sharding": {"zero_stage": "ZERO_STAGE_GRADIENTS", "shard_group_size": 8,
          "offload_optimizer": true},
        "storage": {"frozen_data_type": "DATA_TYPE_FP4", "double_quantization": true,
          "scaling": "SCALING_MX"},
        "kernels": {"attention": "ATTENTION_UNFUSED", "loss": "LOSS_CHUNKED",
          "loss_chunk_tokens": 1000, "dropout": true, "matmul_input_data_type": "DATA_TYPE_FP8",
          "recomputed_layers_per_block": 5, "recompute_norm_outputs": true,
          "expert_load_factor": 1.5, "expert_scaling": "EXPERT_SCALING_AFTER_DOWN"},
        "framework": {"kind": "KIND_PYTORCH_FSDP", "persistent_gradients": true,
          "deferred_reduction": false,
          "reduce_bucket_elements": 500000000, "workspace_bytes": 67108864,
          "fragmentation_ratio": 0.06, "fused_projections": false,
          "captured_graphs": true}}})json");
}

// The counts are 8 x 4, and what the experts add.
TEST(MemoryCommand, FillsInWhatMemoryDoesNotDependOn) {
  ExpectMemoryRequest({"gpt2", "--tp=8", "--pp=4"},
                      R"json({"model": {"preset": "gpt2"}, "training": {"token_count": 1},
                    "cluster": {"device_count": 32}, "layout": {"parallel":
                        {"tensor_parallel_size": 8, "pipeline_parallel_size": 4}}})json");
  ExpectMemoryRequest({"gpt2"},
                      R"json({"model": {"preset": "gpt2"}, "training": {"token_count": 1},
                    "cluster": {"device_count": 1}, "layout": {}})json");
}

// 4 stages of ranks that are a multiple of tensor x context and of expert x expert tensor ones.
TEST(MemoryCommand, TakesTheFewestDevicesThatExpertsNeed) {
  const struct {
    std::vector<std::string> flags;
    int64_t devices;
  } cases[] = {{{"--pp=4", "--ep=8"}, 32},
               {{"--pp=4", "--ep=8", "--tp=2"}, 64},             // experts cut alike: 8 x 2
               {{"--pp=4", "--ep=8", "--tp=2", "--etp=1"}, 32},  // 8 ranks hold one share each
               {{"--cp=3", "--ep=2"}, 6},
               {{"--tp=4", "--cp=2", "--ep=2", "--etp=2"}, 8},
               {{"--tp=0"}, 1},  // the server says what is wrong with it
               {{"--tp=999999999999"}, 1}};
  for (const auto& c : cases) {
    std::vector<std::string> args = {"mixtral-8x7b"};
    args.insert(args.end(), c.flags.begin(), c.flags.end());
    EXPECT_EQ(Ask(args, SampleMemory()).request.cluster().device_count(), c.devices)
        << c.flags.back();
  }
}

TEST(MemoryCommand, SaysWhatItFilledIn) {
  const std::string out = Ask({"gpt2", "--tp=2", "--pp=4"}, SampleMemory()).ran.out;
  EXPECT_THAT(out, HasSubstr(R"(
Filled in, not given
  --tokens=1: memory does not depend on it
  --devices=8: tensor 2 x pipeline 4 x context 1 x data 1 ranks
)"));
  const std::string given =
      Ask({"gpt2", "--tp=2", "--tokens=1B", "--devices=8"}, SampleMemory()).ran.out;
  EXPECT_THAT(given, Not(HasSubstr("Filled in")));
  EXPECT_THAT(Ask({"gpt2", "--ep=4"}, SampleMemory()).ran.out,
              HasSubstr("  --devices=4: tensor 1 x pipeline 1 x context 1 x data 4 ranks, the "
                        "fewest that the experts need\n"));
}

TEST(MemoryCommand, FlagsOverrideAFile) {
  ExpectMemoryRequest({"--request=-", "--layers-per-chunk=7x9", "--mbs=2"},
                      R"json({"model": {"preset": "gpt2"}, "training": {"token_count": 5},
                    "cluster": {"device_count": 4},
                    "layout": {"parallel": {"tensor_parallel_size": 2, "layers_per_chunk": [7, 9]},
                               "micro_batch_size": 2}})json",
                      R"json({"model": {"preset": "gpt2"}, "training": {"token_count": 5},
                    "cluster": {"device_count": 4},
                    "layout": {"parallel": {"tensor_parallel_size": 2, "layers_per_chunk": [8, 8]},
                               "micro_batch_size": 1}})json");
}

TEST(MemoryCommand, ExitsWithTheVerdict) {
  EXPECT_EQ(Ask({"gpt2"}, SampleMemory()).ran.exit_code, 0);
  const Ran tight = Ask({"gpt2"}, SampleMemoryOn(43, v1::VERDICT_TIGHT)).ran;
  EXPECT_EQ(tight.exit_code, 7);
  EXPECT_THAT(tight.out, StartsWith("TIGHT: 42.00 GiB (41.00 to 44.00) of 43.00 GiB usable"));
  EXPECT_THAT(tight.out, HasSubstr("; 37 % likely\n  to fit\n"));
  const Ran too_large = Ask({"gpt2"}, SampleMemoryOn(40, v1::VERDICT_DOES_NOT_FIT)).ran;
  EXPECT_EQ(too_large.exit_code, 1);
  EXPECT_THAT(too_large.out, StartsWith("DOES NOT FIT: 42.00 GiB"));
  const Ran state = Ask({"--parameters=1B", "--devices=8"}, SampleOfModelState()).ran;
  EXPECT_EQ(state.exit_code, 8);
  EXPECT_THAT(state.out, StartsWith("STATE FITS: 1.86 GiB of 74.51 GiB usable"));
  const Ran unknown = Ask({"gpt2"}, SampleMemoryOn(40, static_cast<v1::Verdict>(9))).ran;
  EXPECT_EQ(unknown.exit_code, 6);
  EXPECT_THAT(unknown.err, HasSubstr("no verdict that this client knows"));
}

TEST(MemoryCommand, AnswersInJson) {
  const Ran ran = Ask({"gpt2", "--output=json"}, SampleLedger()).ran;
  EXPECT_EQ(ran.exit_code, 0);
  const nlohmann::json json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json["plan"]["memory"]["stages"].size(), 4u);
}

// Stages are what it shows: a file that asks for less is overruled.
TEST(MemoryCommand, AsksForAFullView) {
  for (const char* view : {"PLAN_VIEW_UNSPECIFIED", "PLAN_VIEW_BASIC", "PLAN_VIEW_FULL"}) {
    const Asked asked = Ask({"gpt2", "--request=-"}, SampleMemory(),
                            absl::StrCat("{\"options\": {\"view\": \"", view, "\"}}"));
    EXPECT_EQ(asked.ran.exit_code, 0) << asked.ran.err;
    EXPECT_EQ(asked.request.options().view(), v1::PLAN_VIEW_FULL) << view;
  }
}

// Sharded evenly, without a layout.
TEST(MemoryCommand, TakesABareParameterCount) {
  const Asked asked =
      Ask({"--parameters=1B", "--activation-bytes=8GiB", "--devices=8"}, SampleResponse());
  EXPECT_FALSE(asked.request.has_layout());
  EXPECT_EQ(asked.request.cluster().device_count(), 8);
  EXPECT_EQ(asked.ran.exit_code, 0);
  EXPECT_THAT(asked.ran.out,
              StartsWith("FITS: 2.79 GiB of 74.51 GiB usable, shared out evenly: headroom 71.71 "
                         "GiB\n"));
  EXPECT_THAT(asked.ran.out,
              HasSubstr("\n  counts    model state and the request's activations\n"));
  EXPECT_THAT(asked.ran.out, HasSubstr("\n  total                                      22.35"));
  EXPECT_THAT(asked.ran.out, HasSubstr("fewest devices that hold it"));
  EXPECT_THAT(asked.ran.out, Not(HasSubstr("\nArithmetic")));
  EXPECT_FALSE(Ask({"gpt2", "--activation-bytes=8GiB"}, SampleResponse()).request.has_layout());
  // Beside a layout it is the server's to refuse.
  EXPECT_TRUE(
      Ask({"gpt2", "--activation-bytes=8GiB", "--tp=2"}, SampleMemory()).request.has_layout());
}

TEST(MemoryCommand, NamesFlagsForFields) {
  const FakeServer server(
      [](grpc::ServerContext*, const v1::PlanRunRequest&, v1::PlanRunResponse*) {
        google::rpc::BadRequest bad;
        auto* violation = bad.add_field_violations();
        violation->set_field("layout.parallel.tensor_parallel_size");
        violation->set_description("needs layout.micro_batch_size 2");
        google::rpc::Status wire;
        wire.set_code(grpc::StatusCode::INVALID_ARGUMENT);
        wire.add_details()->PackFrom(bad);
        return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "", wire.SerializeAsString());
      });
  const std::string address = absl::StrCat("--address=", server.address());
  EXPECT_THAT(RunWith({"memory", "gpt2", address}).err, HasSubstr("\n  --tp: needs --mbs=2\n"));
  EXPECT_THAT(RunWith({"memory", "gpt2", address, "--output=json"}).err,
              HasSubstr("layout.parallel.tensor_parallel_size"));
}

TEST(MemoryCommand, RefusesAnAnswerWithoutStages) {
  const Ran ran = Ask({"gpt2"}, SampleResponse()).ran;
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_THAT(ran.err, HasSubstr("no memory by stage"));
  v1::PlanRunResponse wrong = SampleMemory();
  wrong.mutable_plan()->mutable_memory()->set_peak_stage(4);
  EXPECT_EQ(Ask({"gpt2"}, wrong).ran.exit_code, 6);
  EXPECT_EQ(Ask({"gpt2"}, BasicView(SampleMemory())).ran.exit_code, 6);
  EXPECT_EQ(Ask({"--parameters=1B"}, BasicView(SampleMemory())).ran.exit_code, 6);
}

TEST(MemoryCommand, DrawsIntoAFile) {
  const std::string file = TemporaryFile("memory.svg");
  const Ran ran = Ask({"gpt2", absl::StrCat("--svg=", file)}, SampleMemory()).ran;
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  std::ifstream in(file);
  const std::string svg{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(svg, StartsWith("<?xml"));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  const Ran no_folder = Ask({"gpt2", "--svg=/nonexistent/x.svg"}, SampleMemory()).ran;
  EXPECT_EQ(no_folder.exit_code, 2);
  EXPECT_EQ(no_folder.out, "");
}

TEST(MemoryCommand, HasNothingToDrawWithoutALayout) {
  const Asked asked = Ask({"--parameters=1B", "--svg=unused.svg"}, SampleResponse());
  EXPECT_EQ(asked.ran.exit_code, 3);
  EXPECT_EQ(asked.calls, 0);
  EXPECT_THAT(asked.ran.err, HasSubstr("--svg draws the stages of a layout"));
}

}  // namespace
}  // namespace sextant::client
