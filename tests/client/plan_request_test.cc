#include "client/command/plan_request.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/flags/plan_flags.h"
#include "client/io/call_error.h"
#include "client/io/text_file.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

// A file of the test's own, holding `text`.
std::string FileWith(const std::string& name, const std::string& text) {
  const std::string path = TemporaryFile(name);
  std::ofstream(path) << text;
  return path;
}

struct Built {
  grpc::Status status;
  v1::PlanRunRequest request;
};

Built Build(const std::vector<std::string>& args, const std::string& input = "") {
  CLI::App app;
  PlanRequestFlags flags;
  AddRequestFile(&flags, &app);
  for (const FieldFlag& flag : PlanFlags()) AddPlanFlag(flag, &flags, &app);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // as CLI11 wants them
  } catch (const CLI::Error& error) {
    ADD_FAILURE() << error.what();
    return {};
  }
  std::istringstream in(input);
  Built built;
  std::ostringstream out;
  std::ostringstream err;
  built.status = BuildPlanRequest(flags, {.in = in, .out = out, .err = err}, &built.request);
  return built;
}

void ExpectRequest(const std::vector<std::string>& args, const std::string& json,
                   const std::string& input = "") {
  const Built built = Build(args, input);
  ASSERT_TRUE(built.status.ok()) << built.status.error_message();
  v1::PlanRunRequest expect;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &expect).ok()) << json;
  google::protobuf::util::MessageDifferencer differ;
  std::string difference;
  differ.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differ.Compare(expect, built.request)) << difference;
}

TEST(BuildPlanRequest, SetsNothingThatWasNotGiven) { ExpectRequest({}, "{}"); }

TEST(BuildPlanRequest, FillsEveryField) {
  ExpectRequest({"llama-3.1-8b",
                 "--vocabulary-multiple=128",
                 "--lora-rank=16",
                 "--lora-targets=attention.output,feed_forward.up",
                 "--lora-targets=output_head",
                 "--freeze-base",
                 "--freeze=norm",
                 "--frozen-components=bias",
                 "--freeze-layers=3",
                 "--tokens=15T",
                 "--sequence-length=8192",
                 "--encoder-sequence-length=512",
                 "--recompute=selective",
                 "--activation-bytes=2TiB",
                 "--compute-data-type=fp8",
                 "--weight-data-type=bf16",
                 "--gradient-data-type=fp32",
                 "--optimizer-data-type=bf16",
                 "--master-weights=false",
                 "--optimizer=adam-8bit",
                 "--adafactor-momentum",
                 "--quantization-block-size=256",
                 "--device=GPU-1",
                 "--device-uuids=host",
                 "--devices=1024",
                 "--minimum-rate-source=measured-device",
                 "--maximum-age=1.5h",
                 "--peak-flops-per-second=1e15",
                 "--device-memory-bytes=80GB",
                 "--reserved-memory-bytes=2GiB",
                 "--device-hour-price-usd=2.5",
                 "--device-power-watts=700",
                 "--host-power-watts-per-device=150",
                 "--power-usage-effectiveness=1.2",
                 "--view=basic",
                 "--fits-chance=0.95",
                 "--does-not-fit-chance=0.05",
                 "--require-activations",
                 "--search=none",
                 "--mfu=0.4",
                 "--flops-convention=six-n-non-embedding",
                 "--derivation",
                 "--explain"},
                R"({"model": {"preset": "llama-3.1-8b", "changes": {"vocabulary_multiple": 128,
            "adapters": {"rank": 16,
              "targets": ["attention.output", "feed_forward.up", "output_head"]},
            "base_frozen": true, "frozen_components": ["norm", "bias"],
            "frozen_layer_count": 3}},
          "training": {"token_count": 15000000000000, "activation_bytes": 2199023255552,
            "sequence_length": 8192, "encoder_sequence_length": 512,
            "recompute": "RECOMPUTE_POLICY_SELECTIVE",
            "precision": {"compute_data_type": "DATA_TYPE_FP8",
              "weight_data_type": "DATA_TYPE_BF16", "gradient_data_type": "DATA_TYPE_FP32",
              "optimizer_data_type": "DATA_TYPE_BF16", "master_weights": false},
            "optimizer": {"kind": "KIND_ADAM_8BIT", "adafactor_momentum": true,
              "quantization_block_size": 256}},
          "cluster": {"device": {"host_devices": {"devices": ["GPU-1", "host"]}},
            "device_count": 1024,
            "peak_flops_per_second": 1e15, "device_memory_bytes": 80000000000,
            "reserved_memory_bytes": 2147483648},
          "rate_requirement": {"minimum_source": "RATE_SOURCE_MEASURED_DEVICE",
            "maximum_age": "5400s"},
          "economics": {"device_hour_price_usd": 2.5, "device_power_watts": 700,
            "host_power_watts_per_device": 150, "power_usage_effectiveness": 1.2},
          "options": {"view": "PLAN_VIEW_BASIC", "fits_chance": 0.95,
            "does_not_fit_chance": 0.05, "require_activations": true,
            "search": "LAYOUT_SEARCH_NONE", "assumed_mfu": 0.4,
            "flops_convention": "FLOPS_CONVENTION_SIX_N_NON_EMBEDDING",
            "include_derivation": true, "include_operations": true}})");
}

TEST(BuildPlanRequest, FillsWhatTheTimeOfAStepDependsOn) {
  const char kFlags[] =
      "--node-type=dgx-h100 --network=ib-ndr --network-bytes-per-second=25e9 "
      "--host-link-bytes-per-second=63e9 --host-memory-bytes-per-second=614e9 "
      "--software=torchtitan --attention-time-ratio=1.1 --memory-pass-time-ratio=1.2 "
      "--tensor-exchange-exposure=0.5 --data-exchange-overlap=0.9 --overlap-contention=0.3 "
      "--host-seconds-per-layer=1e-4 --broadcast-seconds-per-rank=0.02 "
      "--growth-per-doubling=0.004 --sustained-time-ratio=1.3 "
      "--narrow-sustained-time-ratio=1.4 --narrow-product-time-ratio=1.5 "
      "--expert-time-ratio=1.6 --expert-layer-host-seconds=0.009 --one-copy-per-node=false "
      "--pipeline-exchange-exposure=0.3 --expert-exchange-exposure=0.2 "
      "--gradient-addition-overlap=0.25 --misaligned-product-time-ratio=1.7 "
      "--misaligned-head-time-ratio=1.8 --optimizer-time-ratio=2.9 "
      "--kernel-launch-seconds=3e-6 --all-reduces-gradients=true";
  ExpectRequest(absl::StrSplit(kFlags, ' '),
                R"({"cluster": {"node_type": "dgx-h100",
            "network": {"name": "ib-ndr", "bytes_per_second": 25e9},
            "host_link_bytes_per_second": 63e9, "host_memory_bytes_per_second": 614e9},
          "layout": {"software": {"name": "torchtitan", "attention_time_ratio": 1.1,
            "memory_pass_time_ratio": 1.2, "tensor_exchange_exposure": 0.5,
            "data_exchange_overlap": 0.9, "overlap_contention": 0.3,
            "host_seconds_per_layer": 1e-4, "broadcast_seconds_per_rank": 0.02,
            "growth_per_doubling": 0.004, "sustained_time_ratio": 1.3,
            "narrow_sustained_time_ratio": 1.4, "narrow_product_time_ratio": 1.5,
            "expert_time_ratio": 1.6, "expert_layer_host_seconds": 0.009,
            "one_copy_per_node": false, "pipeline_exchange_exposure": 0.3,
            "expert_exchange_exposure": 0.2, "gradient_addition_overlap": 0.25,
            "misaligned_product_time_ratio": 1.7, "misaligned_head_time_ratio": 1.8,
            "optimizer_time_ratio": 2.9, "kernel_launch_seconds": 3e-6,
            "all_reduces_gradients": true}}})");
}

TEST(BuildPlanRequest, KeepsAFalseOrZeroThatWasGiven) {
  const Built built = Build({"--master-weights=false", "--reserved-memory-bytes=0"});
  EXPECT_TRUE(built.request.training().precision().has_master_weights());
  EXPECT_TRUE(built.request.cluster().has_reserved_memory_bytes());
  EXPECT_FALSE(built.request.cluster().has_device_memory_bytes());
}

TEST(ShowAll, AsksForAFullViewUnlessAnotherIsGiven) {
  v1::PlanRunRequest request;
  ShowAll(&request);
  EXPECT_EQ(request.options().view(), v1::PLAN_VIEW_FULL);
  request.mutable_options()->set_view(v1::PLAN_VIEW_BASIC);
  ShowAll(&request);
  EXPECT_EQ(request.options().view(), v1::PLAN_VIEW_BASIC);
}

// The server's message names the field; ours could only guess at its rules.
TEST(BuildPlanRequest, ForwardsValuesThatTheServerWillRefuse) {
  const Built built =
      Build({"--devices=-5", "--mfu=nan", "--peak-flops-per-second=-inf", "--parameters=0"});
  ASSERT_TRUE(built.status.ok());
  EXPECT_EQ(built.request.cluster().device_count(), -5);
  EXPECT_TRUE(std::isnan(built.request.options().assumed_mfu()));
  EXPECT_EQ(built.request.cluster().peak_flops_per_second(),
            -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(built.request.model().has_parameter_count());
}

TEST(BuildPlanRequest, SendsTwoModelsForTheServerToRefuse) {
  ExpectRequest({"gpt2", "--parameters=1K"},
                R"({"model": {"preset": "gpt2", "parameter_count": 1000}})");
}

TEST(BuildPlanRequest, ReadsATransformerFromItsFile) {
  const std::string file =
      FileWith("transformer.json", R"({"layer_count": 2, "norm_kind": "NORM_KIND_RMS_NORM"})");
  ExpectRequest({absl::StrCat("--transformer=", file)},
                R"({"model": {"transformer": {"layer_count": 2,
                    "norm_kind": "NORM_KIND_RMS_NORM"}}})");
}

constexpr char kFileJson[] = R"({"model": {"preset": "gpt2"},
    "cluster": {"device": {"accelerator": "a10"}, "device_count": 8},
    "options": {"include_derivation": true}})";

TEST(BuildPlanRequest, FlagsOverrideTheFileFieldByField) {
  const std::string file = FileWith("request.json", kFileJson);
  ExpectRequest({absl::StrCat("--request=", file), "--devices=16", "--derivation=false"},
                R"({"model": {"preset": "gpt2"},
                    "cluster": {"device": {"accelerator": "a10"}, "device_count": 16},
                    "options": {}})");
}

// Beside the file's preset, the flag would make two models of one.
TEST(BuildPlanRequest, AModelFlagReplacesTheFilesModel) {
  ExpectRequest({"--request=-", "--parameters=70B"},
                R"({"model": {"parameter_count": 70000000000},
                    "cluster": {"device": {"accelerator": "a10"}, "device_count": 8},
                    "options": {"include_derivation": true}})",
                kFileJson);
}

TEST(BuildPlanRequest, AChangeKeepsTheFilesModel) {
  const char* json = R"({"model": {"preset": "gpt2", "changes": {"vocabulary_multiple": 128,
      "adapters": {"rank": 4, "targets": ["output_head"]}, "frozen_components": ["norm"]}}})";
  ExpectRequest({"--request=-", "--lora-rank=8", "--freeze=bias"},
                R"({"model": {"preset": "gpt2", "changes": {"vocabulary_multiple": 128,
                    "adapters": {"rank": 8, "targets": ["output_head"]},
                    "frozen_components": ["bias"]}}})",
                json);
  ExpectRequest({"--request=-", "--lora-targets=attention.key"},
                R"({"model": {"preset": "gpt2", "changes": {"vocabulary_multiple": 128,
                    "adapters": {"rank": 4, "targets": ["attention.key"]},
                    "frozen_components": ["norm"]}}})",
                json);
  ExpectRequest({"--request=-", "--freeze-layers=2", "llama-3.1-8b"},
                R"({"model": {"preset": "llama-3.1-8b", "changes": {"frozen_layer_count": 2}}})",
                json);
}

TEST(BuildPlanRequest, AdaptsQueriesAndValuesWhereARankAloneIsGiven) {
  ExpectRequest({"--lora-rank=8"}, R"({"model": {"changes": {"adapters": {"rank": 8,
                    "targets": ["attention.query", "attention.value"]}}}})");
  // Missing fields of a file are reported by the server.
  const char* json = R"({"model": {"changes": {"adapters": {"rank": 4}}}})";
  ExpectRequest({"--request=-"}, json, json);
}

TEST(BuildPlanRequest, ReadsAnArchitectureFromItsFile) {
  const std::string file = FileWith("architecture.json", R"({"hidden_size": 4, "encoder": {}})");
  ExpectRequest({absl::StrCat("--architecture=", file)},
                R"({"model": {"architecture": {"hidden_size": 4, "encoder": {}}}})");
  const std::string wrong = FileWith("not_architecture.json", R"({"hidden_width": 4})");
  const CallError error = CallErrorOf(Build({absl::StrCat("--architecture=", wrong)}).status);
  EXPECT_EQ(error.reason, "REQUEST_MALFORMED");
  EXPECT_THAT(error.message, HasSubstr(wrong));
  EXPECT_THAT(error.message, HasSubstr("hidden_width"));
}

// Likewise with devices, however the file names them.
TEST(BuildPlanRequest, ADeviceFlagReplacesTheFilesDevices) {
  const char* json[] = {R"({"cluster": {"device": {"accelerator": "a10"}, "device_count": 8}})",
                        R"({"cluster": {"device": {"host_devices": {"devices": ["GPU-1", "GPU-2"]}},
                             "device_count": 8}})",
                        R"({"cluster": {"device": {"calibrations": {"calibrations": [{}]}},
                             "device_count": 8}})"};
  for (const char* file : json) {
    ExpectRequest({"--request=-", "--device=host"},
                  R"({"cluster": {"device": {"host_devices": {"devices": ["host"]}},
                                "device_count": 8}})",
                  file);
    ExpectRequest({"--request=-", "--accelerator=l4"},
                  R"({"cluster": {"device": {"accelerator": "l4"}, "device_count": 8}})", file);
    ExpectRequest({"--request=-", "--fleet=l4", "--hosts=a,b", "--hosts=c"},
                  R"({"cluster": {"device": {"fleet": {"accelerator": "l4",
                      "hostnames": ["a", "b", "c"]}}, "device_count": 8}})",
                  file);
  }
}

// The request holds one way alone, and would keep the last in silence.
TEST(BuildPlanRequest, RefusesDevicesNamedInTwoWays) {
  const std::string file = FileWith("one.json", R"({"device": {"uuid": "CPU-1"}})");
  const std::vector<std::string> cases[] = {
      {"--accelerator=a10", "--device=host"},
      {"--device=host", "--accelerator=a10"},
      {"--accelerator=a10", absl::StrCat("--calibration=", file)},
      {"--device=host", absl::StrCat("--calibration=", file)},
      {"--fleet=h100-sxm", "--hosts=a", "--accelerator=h100-sxm"}};
  for (const std::vector<std::string>& args : cases) {
    const CallError error = CallErrorOf(Build(args).status);
    EXPECT_EQ(error.reason, "USAGE");
    EXPECT_THAT(error.message, HasSubstr("--accelerator, --device, --calibration and --fleet"));
  }
}

TEST(BuildPlanRequest, ReadsCalibrationsFromTheirFiles) {
  const std::string bare = FileWith("bare.json", R"({"device": {"uuid": "CPU-1"}})");
  const std::string held = FileWith(
      "held.json",
      R"({"calibration": {"device": {"uuid": "CPU-2"}}, "age_seconds": 5, "fingerprint": "f"})");
  const std::string result =
      FileWith("result.json", R"({"calibration": {"device": {"uuid": "CPU-3"}}, "in_use": true})");
  ExpectRequest({absl::StrCat("--calibration=", bare), "--calibration", held,
                 absl::StrCat("--calibrations=", result)},
                R"({"cluster": {"device": {"calibrations": {"calibrations": [
                    {"device": {"uuid": "CPU-1"}}, {"device": {"uuid": "CPU-2"}},
                    {"device": {"uuid": "CPU-3"}}]}}}})");
}

TEST(BuildPlanRequest, NamesTheFileThatIsNoCalibration) {
  for (const char* text : {"", "[]", "{\"devise\": {}}", "{\"calibration\": 5}",
                           "{\"calibration\": {\"mode\": \"PROBE_MODE_FAST\"}}"}) {
    const std::string file = FileWith("not_calibration.json", text);
    const CallError error = CallErrorOf(Build({absl::StrCat("--calibration=", file)}).status);
    EXPECT_EQ(error.reason, "REQUEST_MALFORMED") << text;
    EXPECT_THAT(error.message, HasSubstr(absl::StrCat(file, ": not a sextant.v1.Calibration")));
  }
}

// The server parses its content.
TEST(BuildPlanRequest, SendsTheTextOfAConfig) {
  const std::string file = FileWith("config.json", "{\"model_type\": \n \"llama\"}\n");
  const Built built = Build({absl::StrCat("--config=", file)});
  ASSERT_TRUE(built.status.ok()) << built.status.error_message();
  EXPECT_EQ(built.request.model().hugging_face_config(), "{\"model_type\": \n \"llama\"}\n");
}

TEST(BuildPlanRequest, NamesTheConfigThatHoldsNoText) {
  for (const auto& [text, says] : {std::pair("", "holds no text"),
                                   {" \t\r\n\n", "holds no text"},
                                   {"{\"model_type\": \"\xff\xfe\"}", "not UTF-8"},
                                   {"\xff\xfe{", "not UTF-8"}}) {
    const std::string file = FileWith("no_config.json", text);
    const CallError error = CallErrorOf(Build({absl::StrCat("--config=", file)}).status);
    EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(error.reason, "REQUEST_MALFORMED");
    EXPECT_THAT(error.message, HasSubstr(absl::StrCat("--config=", file, ": the file")));
    EXPECT_THAT(error.message, HasSubstr(says));
  }
  const std::string accents = FileWith("accents.json", "{\"\xC3\xA9\": 1}");
  EXPECT_TRUE(Build({absl::StrCat("--config=", accents)}).status.ok());
}

TEST(BuildPlanRequest, SendsAConfigOf64KibAndNoMore) {
  const std::string fits = FileWith("fits.json", std::string(64 * 1024, 'x'));
  EXPECT_TRUE(Build({absl::StrCat("--config=", fits)}).status.ok());
  const std::string large = FileWith("large.json", std::string(64 * 1024 + 1, ' '));
  const CallError error = CallErrorOf(Build({absl::StrCat("--config=", large)}).status);
  EXPECT_EQ(error.reason, "REQUEST_TOO_LARGE");
  EXPECT_THAT(error.message, HasSubstr("64 KiB (65536 bytes)"));
}

TEST(BuildPlanRequest, ReadsStandardInput) {
  ExpectRequest({"--request", "-"}, kFileJson, kFileJson);
}

TEST(BuildPlanRequest, RefusesWhatIsNoRequest) {
  for (const char* json : {"", "{", "[]", R"({"modell": {}})", R"({"cluster": 5})"}) {
    const CallError error = CallErrorOf(Build({"--request=-"}, json).status);
    EXPECT_EQ(error.code, grpc::StatusCode::INVALID_ARGUMENT) << json;
    EXPECT_EQ(error.reason, "REQUEST_MALFORMED") << json;
    EXPECT_THAT(error.message, HasSubstr("standard input: not a PlanRunRequest")) << json;
  }
}

TEST(BuildPlanRequest, NamesTheFileThatIsNoTransformer) {
  const std::string file = FileWith("not_transformer.json", R"({"layers": 2})");
  const CallError error = CallErrorOf(Build({absl::StrCat("--transformer=", file)}).status);
  EXPECT_EQ(error.reason, "REQUEST_MALFORMED");
  EXPECT_THAT(error.message, HasSubstr(file));
  EXPECT_THAT(error.message, HasSubstr("layers"));
}

TEST(BuildPlanRequest, ReadsAMebibyteAndNoMore) {
  const std::string blanks(kMaxRequestBytes - 2, ' ');
  EXPECT_TRUE(Build({"--request=-"}, absl::StrCat("{", blanks, "}")).status.ok());
  const CallError error =
      CallErrorOf(Build({"--request=-"}, absl::StrCat("{", blanks, " }")).status);
  EXPECT_EQ(error.reason, "REQUEST_TOO_LARGE");
  EXPECT_THAT(error.message, HasSubstr("1 MiB (1048576 bytes)"));
  EXPECT_EQ(ExitCodeOf(error), kExitBadRequest);
}

}  // namespace
}  // namespace sextant::client
