// Predicted times of products, attention and experts from measured kernels, over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/json_call.h"

namespace sextant::server {
namespace {

using ::nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ForetoldKernelsTest : public ::testing::Test {
 protected:
  static constexpr char kAnalyze[] = "AccountingService/AnalyzeOperation";

  static json InBf16(const std::string& operation) {
    return {{"operation", json::parse(operation)},
            {"data_types", {{"input", "DATA_TYPE_BF16"}}},
            {"device", {{"device", {{"accelerator", "h200-sxm"}}}}}};
  }
  json TimeOf(const std::string& operation) const {
    return Ask(server_, kAnalyze, InBf16(operation))["time"];
  }
  std::vector<std::string> FaultsOf(const std::string& operation) const {
    return Faults(server_, kAnalyze, InBf16(operation));
  }

  const TestServer server_;
};

TEST_F(ForetoldKernelsTest, OfALayerOfExperts) {
  const json time = TimeOf(R"({"experts":{"tokens":65536,"hidden_size":7168,
      "feed_forward_size":2048,"expert_count":256,"experts_per_token":8,
      "expert_parallel_size":32}})");
  EXPECT_EQ(time["predicted_forward"]["source"], "RATE_SOURCE_REFERENCE");
  EXPECT_THAT(SourceOf(time, time["predicted_forward"]), HasSubstr("layers of experts"));
  EXPECT_EQ(time["predicted_backward"]["basis"], "KERNEL_BASIS_OTHER_PASS");
  EXPECT_EQ(NumberAt(time, "/predicted_backward/duration_seconds/expected"),
            2 * NumberAt(time, "/predicted_forward/duration_seconds/expected"));
}

TEST_F(ForetoldKernelsTest, OfABatch) {
  const json time = TimeOf(R"({"batched_matmul":{"batch":64,"m":1024,"n":1024,"k":128}})");
  EXPECT_EQ(time["predicted_forward"]["basis"], "KERNEL_BASIS_OTHER_PASS");
  EXPECT_GT(NumberAt(time, "/predicted_forward/duration_seconds/expected"),
            NumberAt(time, "/forward/least_seconds"));
  const json einsum = TimeOf(R"({"einsum":{"expression":"b i k, b j k -> b i j",
      "operands":[{"shape":[64,1024,128]},{"shape":[64,1024,128]}]}})");
  EXPECT_EQ(einsum["predicted_forward"], time["predicted_forward"]);
}

// The published tables of fp8 by block, and what a request can get wrong about them.
TEST_F(ForetoldKernelsTest, OfFp8IsScaledAsAsked) {
  const auto with = [](json types) {
    json out = InBf16(R"({"matmul":{"m":4096,"n":4096,"k":7168}})");
    out["data_types"] = std::move(types);
    return out;
  };
  const auto source = [&](const char* scaling) {
    const json answer =
        Ask(server_, kAnalyze, with({{"input", "DATA_TYPE_FP8"}, {"scaling", scaling}}));
    EXPECT_EQ(answer["data_types"].value("scaling", "MATMUL_SCALING_UNSPECIFIED"), scaling);
    return SourceOf(answer["time"], answer["time"]["predicted_forward"]);
  };
  EXPECT_THAT(source("MATMUL_SCALING_BLOCK"), HasSubstr("fp8_block"));
  EXPECT_THAT(source("MATMUL_SCALING_TENSOR"), Not(HasSubstr("fp8_block")));
  EXPECT_EQ(source("MATMUL_SCALING_TENSOR"), source("MATMUL_SCALING_UNSPECIFIED"));
  EXPECT_THAT(Faults(server_, kAnalyze, with({{"input", "DATA_TYPE_BF16"}, {"scaling", 2}})),
              ElementsAre(HasSubstr("data_types.scaling: is of inputs in fp8, not in bf16")));
  EXPECT_THAT(Faults(server_, kAnalyze, with({{"input", "DATA_TYPE_FP8"}, {"scaling", 7}})),
              ElementsAre(HasSubstr("data_types.scaling: is number 7")));
}

// The published layers of experts have both scalings, too.
TEST_F(ForetoldKernelsTest, OfExpertsInFp8AreScaledAsAsked) {
  const auto time = [&](const char* scaling) -> json {
    json request = InBf16(R"({"experts":{"tokens":8192,"hidden_size":7168,
        "feed_forward_size":2048,"expert_count":64,"experts_per_token":8}})");
    request["data_types"] = {{"input", "DATA_TYPE_FP8"}, {"scaling", scaling}};
    return Ask(server_, kAnalyze, request)["time"]["predicted_forward"];
  };
  const json by_block = time("MATMUL_SCALING_BLOCK");
  const json by_tensor = time("MATMUL_SCALING_TENSOR");
  EXPECT_EQ(by_block["source"], "RATE_SOURCE_REFERENCE");
  EXPECT_NE(by_block["duration_seconds"], by_tensor["duration_seconds"]);
  EXPECT_EQ(by_tensor, time("MATMUL_SCALING_UNSPECIFIED"));
}

TEST_F(ForetoldKernelsTest, SaysThatASizeIsOffAMultiple) {
  const json time = TimeOf(R"({"matmul":{"m":4096,"n":5400,"k":7168}})");
  std::vector<std::string> kinds;
  for (const json& note : time["assumptions"]) kinds.push_back(note["kind"]);
  EXPECT_THAT(kinds, Contains("NOTE_KIND_PRODUCT_UNALIGNED"));
}

// Heads with keys of 192 and values of 128 lie between equal heads of either size.
TEST_F(ForetoldKernelsTest, OfLatentAttention) {
  const auto expected = [this](const char* sizes) {
    return NumberAt(TimeOf(absl::StrCat(
                        R"({"attention":{"batch":1,"heads":128,"query_length":8192,"causal":true,)",
                        sizes, "}}")),
                    "/predicted_forward/duration_seconds/expected");
  };
  const double latent = expected(R"("head_size":192,"value_head_size":128)");
  EXPECT_GT(latent, expected(R"("head_size":128)"));
  EXPECT_LT(latent, expected(R"("head_size":192)"));
}

// Products and passes over the scores, which the assumptions tell apart.
TEST_F(ForetoldKernelsTest, OfUnfusedAttention) {
  constexpr char kSizes[] = R"({"attention":{"batch":4,"heads":16,"query_length":2048,
      "head_size":128,"causal":true)";
  const json fused = TimeOf(absl::StrCat(kSizes, "}}"));
  const json unfused = TimeOf(absl::StrCat(kSizes, R"(,"unfused":true}})"));
  EXPECT_EQ(unfused["predicted_forward"]["source"], "RATE_SOURCE_REFERENCE");
  EXPECT_THAT(SourceOf(unfused, unfused["predicted_forward"]), HasSubstr("GEMM"));
  EXPECT_THAT(unfused["assumptions"].back()["text"], HasSubstr("passes over the scores"));
  for (const char* pass : {"/predicted_forward", "/predicted_backward"}) {
    const std::string expected = absl::StrCat(pass, "/duration_seconds/expected");
    EXPECT_GT(NumberAt(unfused, expected), NumberAt(fused, expected));
  }
}

// A ring's step: half as many keys, which no published table has.
TEST_F(ForetoldKernelsTest, OfQueriesToFewerKeys) {
  const json time = TimeOf(R"({"attention":{"batch":1,"heads":32,"kv_heads":8,
      "query_length":8192,"key_length":4096,"head_size":128}})");
  EXPECT_EQ(time["predicted_forward"]["basis"], "KERNEL_BASIS_OTHER_PASS");
  EXPECT_THAT(SourceOf(time, time["predicted_forward"]), HasSubstr("attention"));
  EXPECT_GT(NumberAt(time, "/predicted_forward/duration_seconds/expected"),
            NumberAt(time, "/forward/least_seconds"));
}

TEST_F(ForetoldKernelsTest, FaultsNameTheirFields) {
  EXPECT_THAT(FaultsOf(R"({"attention":{"batch":1,"heads":4,"query_length":8,"key_length":4,
                           "head_size":2,"causal":true,"unfused":true}})"),
              ElementsAre(HasSubstr("operation.attention.key_length: must be at least")));

  EXPECT_THAT(FaultsOf(R"({"attention":{"batch":1,"heads":4,"query_length":8,"head_size":2,
                           "value_head_size":-1}})"),
              ElementsAre(HasSubstr("operation.attention.value_head_size: must be at least 1")));
  EXPECT_THAT(FaultsOf(R"({"experts":{"tokens":8,"hidden_size":4,"feed_forward_size":4,
                           "expert_count":6,"experts_per_token":7,"expert_parallel_size":4}})"),
              ElementsAre(HasSubstr("operation.experts.experts_per_token: "),
                          HasSubstr("operation.experts.expert_parallel_size: ")));
}

}  // namespace
}  // namespace sextant::server
