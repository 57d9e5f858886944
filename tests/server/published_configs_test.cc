// Config.json files as people publish them: longer than JSON needs, with Python's words, and a
// table of the families of 2025 and 2026.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

// Totals that the table below lacks, by hand from the formulas of the layers.
// Bamba-9B: 29 layers of Mamba-2 of 102,286,976, 3 of attention of 41,943,040, 32 feed-forwards of
// 176,160,768 with two norms, two tables of 525,336,576 and a norm.
constexpr int64_t kBamba = 29 * 102'286'976LL + 3 * 41'943'040LL + 32 * (176'160'768LL + 8'192) +
                           2 * 525'336'576LL + 4'096;
// Nemotron 3 Ultra's module: attention of 138,412,032; a router with its correction of 4,194,816,
// latents of 33,554,432, experts of 10,737,418,240 and a shared one of 167,772,160; a projection of
// 134,217,728, and 5 norms.
constexpr int64_t kUltraModule =
    138'412'032LL + 4'194'816 + 33'554'432 + 10'737'418'240 + 167'772'160 + 134'217'728 + 5 * 8'192;

// Each row of a larger table is counted to the digit, its multi-token prediction apart, or refused
// by a field that says what is missing.
TEST(PublishedConfig, CountTheSharedTableOrSayWhatIsMissing) {
  if (SharedDirectory().empty()) GTEST_SKIP() << "no shared tables: set SEXTANT_SHARED_DIR";
  int exact = 0;
  std::vector<std::string> refused;
  for (const json& row : SharedLines("golden/families_2026.jsonl")) {
    const std::string id = row.at("id");
    SCOPED_TRACE(id);
    const auto model = ReadHuggingFaceConfig(
        row.contains("config") ? row["config"].dump() : row.at("config_text").get<std::string>());
    if (!model.ok()) {
      EXPECT_THAT(std::string(model.status().message()),
                  ::testing::ContainsRegex("(model_type|attn_res_block_size).*not supported yet"));
      refused.push_back(id);
      continue;
    }
    ++exact;
    const auto count = CountArchitecture(model->architecture, "");
    ASSERT_THAT(count, IsOk());
    const int64_t ahead = count->of(ModelPart::kMultiTokenPrediction).total;
    const int64_t total = id == "bamba-9b" ? kBamba : row.at("total_main").get<int64_t>();
    EXPECT_EQ(count->all.total - ahead, total);
    if (ahead > 0) {
      EXPECT_EQ(ahead, id == "nemotron-3-ultra-550b"
                           ? kUltraModule
                           : row.at("multi_token_prediction").get<int64_t>());
    }
  }
  EXPECT_EQ(exact, 47);
  EXPECT_THAT(refused, ::testing::UnorderedElementsAre("rwkv7-g1-2.9b", "minimax-m3",
                                                       "deepseek-v4-pro", "kimi-k3"));
}

}  // namespace
}  // namespace sextant::server
