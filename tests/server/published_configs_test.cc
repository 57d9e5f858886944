// Config.json files as people publish them: longer than JSON needs, with Python's words, and a
// table of the families of 2025 and 2026.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/model/architecture/count_weights.h"
#include "server/convert/model_spec.h"
#include "tests/golden/golden_files.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kSmallLlama[] =
    R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 8, "vocab_size": 10,
        "intermediate_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2})";

std::string SmallLlamaWith(const std::string& field, const std::string& value) {
  json config = json::parse(kSmallLlama);
  config[field] = "PLACE";
  return absl::StrReplaceAll(config.dump(), {{"\"PLACE\"", value}});
}

int64_t ParametersOf(const ArchitectureSpec& architecture) {
  const auto count = CountArchitecture(architecture, "");
  EXPECT_THAT(count, IsOk());
  return count.ok() ? count->all.total : -1;
}

int64_t ParametersOf(const std::string& text) {
  const auto model = ReadHuggingFaceConfig(text);
  EXPECT_THAT(model, IsOk()) << text;
  return model.ok() ? ParametersOf(model->architecture) : -1;
}

// Exports of packed weights list every module that is not packed.
TEST(PublishedConfig, DropsLongQuantisation) {
  std::string names;
  for (int i = 0; i < 10'000; ++i) names += "\"model.layers.0.self_attn\", ";
  const std::string packed = absl::StrCat("{\"ignore\": [", names, "\"lm_head\"], \"a\": \"}\"}");
  const auto model = ReadHuggingFaceConfig(SmallLlamaWith("quantization_config", packed));
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(ParametersOf(model->architecture), ParametersOf(std::string(kSmallLlama)));
  // Only at the top, and only that field.
  EXPECT_THAT(
      std::string(ReadHuggingFaceConfig(
                      SmallLlamaWith("rope_scaling",
                                     absl::StrCat("{\"quantization_config\": ", packed, "}")))
                      .status()
                      .message()),
      HasSubstr("more than 65536 (64 KiB)"));
}

TEST(PublishedConfig, ReadsInfinityAsPythonWritesIt) {
  const auto model = ReadHuggingFaceConfig(
      SmallLlamaWith("rope_scaling", R"({"factor": Infinity, "type": "Infinity, or so"})"));
  ASSERT_THAT(model, IsOk());
  EXPECT_EQ(ParametersOf(model->architecture), ParametersOf(std::string(kSmallLlama)));
}

// transformers ties by the field around the text model.
TEST(PublishedConfig, TiesByTheFieldAroundATextModel) {
  const auto count = [](const char* outer, const char* inner) {
    json text_model = json::parse(kSmallLlama);
    if (*inner != '\0') text_model["tie_word_embeddings"] = json::parse(inner);
    json config = {{"model_type", "llava"}, {"text_config", text_model}};
    if (*outer != '\0') config["tie_word_embeddings"] = json::parse(outer);
    return ParametersOf(config.dump());
  };
  EXPECT_EQ(count("true", ""), count("", "") - 10 * 8);
  EXPECT_EQ(count("true", "false"), count("", "") - 10 * 8);
  EXPECT_EQ(count("false", "true"), count("", ""));
  EXPECT_EQ(count("", "true"), count("", "") - 10 * 8);
}

// Each row of a larger table is counted to the digit, its multi-token prediction apart, or refused
// by a field that says what is missing. 18 rows hold layers that are not known.
TEST(PublishedConfig, CountTheSharedTableOrSayWhatIsMissing) {
  if (SharedDirectory().empty()) GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  int exact = 0;
  for (const json& row : SharedLines("golden/families_2026.jsonl")) {
    const std::string id = row.at("id");
    SCOPED_TRACE(id);
    const auto model = ReadHuggingFaceConfig(
        row.contains("config") ? row["config"].dump() : row.at("config_text").get<std::string>());
    if (!model.ok()) {
      EXPECT_THAT(std::string(model.status().message()),
                  ::testing::ContainsRegex("(model_type|layer_types).*not supported yet"));
      continue;
    }
    ++exact;
    const auto count = CountArchitecture(model->architecture, "");
    ASSERT_THAT(count, IsOk());
    const int64_t ahead = count->of(ModelPart::kMultiTokenPrediction).total;
    EXPECT_EQ(count->all.total - ahead, row.at("total_main").get<int64_t>());
    if (ahead > 0) {
      EXPECT_EQ(ahead, row.at("multi_token_prediction").get<int64_t>());
    }
  }
  EXPECT_GE(exact, 33);
}

}  // namespace
}  // namespace sextant::server
