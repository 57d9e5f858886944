// A config.json as a request's model, through the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/golden/golden_files.h"
#include "tests/server/test_server.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

v1::PlanRunRequest RequestFor(const std::string& config) {
  v1::PlanRunRequest request = TestServer::GoodRequest();
  request.mutable_model()->Clear();
  request.mutable_model()->set_hugging_face_config(config);
  return request;
}

TEST(HuggingFaceServer, PlansAsItsPreset) {
  const TestServer server;
  v1::PlanRunRequest request = RequestFor(GoldenConfig("llama-3.1-8b"));
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  request.mutable_options()->set_include_derivation(true);
  v1::PlanRunResponse from_config;
  const grpc::Status status = server.PlanRun(request, &from_config);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(from_config.plan().model_name(), "llama");
  EXPECT_EQ(from_config.plan().parameters().total(), 8'030'261'248);
  EXPECT_THAT(from_config.plan().ignored_config_fields(), ::testing::Contains("rope_theta"));

  request.mutable_model()->Clear();
  request.mutable_model()->set_preset("llama-3.1-8b");
  v1::PlanRunResponse from_preset;
  ASSERT_TRUE(server.PlanRun(request, &from_preset).ok());
  EXPECT_THAT(from_preset.plan().ignored_config_fields(), IsEmpty());
  // Everything else is equal.
  from_config.mutable_plan()->clear_ignored_config_fields();
  from_config.mutable_plan()->set_model_name("llama-3.1-8b");
  EXPECT_EQ(from_config.SerializeAsString(), from_preset.SerializeAsString());
}

TEST(HuggingFaceServer, RefusesASecondModel) {
  const TestServer server;
  v1::PlanRunResponse response;
  v1::PlanRunRequest request = RequestFor(GoldenConfig("gpt2"));
  request.mutable_model()->set_preset("gpt2");
  const grpc::Status preset = server.PlanRun(request, &response);
  EXPECT_THAT(FaultsOf(preset), ElementsAre(StartsWith("model: ")));
  EXPECT_THAT(preset.error_message(), HasSubstr("hugging_face_config"));
}

TEST(HuggingFaceServer, NamesWhatIsWrongTogetherWithTheRest) {
  const TestServer server;
  v1::PlanRunRequest request =
      RequestFor(R"({"model_type": "llama", "num_hidden_layers": "32", "hidden_size": 8,
                     "vocab_size": 10, "intermediate_size": 16, "num_attention_heads": 2})");
  request.mutable_training()->set_token_count(-5);
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(FaultsOf(status),
              ElementsAre(StartsWith("model.hugging_face_config.num_hidden_layers: "),
                          StartsWith("training.token_count: ")));
  EXPECT_THAT(status.error_message(), HasSubstr("write 32 without quotes"));
}

// An answer cuts descriptions: the pointer to the families is at the end, and has to arrive.
TEST(HuggingFaceServer, SaysWholeWhereTheFamiliesAreListed) {
  const TestServer server;
  std::string accents;
  for (int i = 0; i < 100; ++i) accents += "\u00e9";
  for (const std::string& config :
       {std::string(R"({"hidden_size": 8})"), std::string(R"({"model_type": "gpt"})"),
        std::string(R"({"model_type": "nemotron_h"})"), std::string(R"({"model_type": "gemma3n"})"),
        absl::StrCat(R"({"model_type": "gpt )", accents, R"("})"),
        absl::StrCat(R"({"architectures": [")", accents, R"("]})"),
        std::string(R"({"architectures": ["GraniteMoeForCausalLM"]})")}) {
    v1::PlanRunResponse response;
    const grpc::Status status = server.PlanRun(RequestFor(config), &response);
    EXPECT_THAT(FaultsOf(status), ElementsAre(EndsWith(": docs/config_json.md"))) << config;
    EXPECT_THAT(status.error_message(), EndsWith(": docs/config_json.md")) << config;
  }
}

TEST(HuggingFaceServer, RefusesTheLongAndServesOn) {
  const TestServer server;
  v1::PlanRunResponse response;
  const grpc::Status ours = server.PlanRun(RequestFor(std::string(300 * 1024, ' ')), &response);
  EXPECT_EQ(ours.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(ours.error_message(), HasSubstr("64 KiB"));
  EXPECT_THAT(FaultsOf(ours), ElementsAre(StartsWith("model.hugging_face_config: ")));
  // Above the server's limit of a message, 1 MiB, gRPC itself refuses.
  const grpc::Status grpcs = server.PlanRun(RequestFor(std::string(2 << 20, ' ')), &response);
  EXPECT_EQ(grpcs.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const std::string deep =
      absl::StrCat("{\"a\":", std::string(10'000, '['), std::string(10'000, ']'), "}");
  EXPECT_THAT(FaultsOf(server.PlanRun(RequestFor(deep), &response)),
              ElementsAre(StartsWith("model.hugging_face_config: ")));
  EXPECT_TRUE(server.PlanRun(RequestFor(GoldenConfig("qwen3-4b")), &response).ok());
}

}  // namespace
}  // namespace sextant::server
