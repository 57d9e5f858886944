#include "engine/model/presets/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/base/near_names.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/config/read_config.h"
#include "engine/model/presets/preset_table.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<PresetTable> AllTables() {
  std::vector<PresetTable> out;
  for (const auto tables : {GptTables(), LlamaTables(), LlamaKinTables(), OtherTables(),
                            MixtureTables(), GroupedTables(), MixerTables(), EncoderTables()}) {
    out.insert(out.end(), tables.begin(), tables.end());
  }
  return out;
}

TEST(Presets, AreValidNamedOnceAndSourced) {
  std::set<std::string> names;
  for (const ModelPreset& preset : ModelPresets()) {
    EXPECT_THAT(CountArchitecture(preset.architecture, "m"), IsOk()) << preset.name;
    EXPECT_TRUE(names.insert(ComparableName(preset.name)).second) << preset.name;
    EXPECT_FALSE(preset.source.empty()) << preset.name;
  }
}

// The ids are those of the repositories on Hugging Face, and Ollama's tags.
TEST(FindModelPreset, KnowsRepositoriesAndTags) {
  constexpr std::pair<absl::string_view, absl::string_view> kCases[] = {
      {"meta-llama/Llama-3.1-70B", "llama-3.1-70b"},
      {"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"},
      {"meta-llama/Meta-Llama-3-8B", "llama-3-8b"},
      {"meta-llama/Llama-2-70b-chat-hf", "llama-2-70b"},
      {"meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4-scout"},
      {"llama3.1:70b", "llama-3.1-70b"},
      {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b-v0.1"},
      {"mistralai/Mistral-Nemo-Base-2407", "mistral-nemo-12b"},
      {"mistralai/Mistral-Small-24B-Base-2501", "mistral-small-24b"},
      {"Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"},
      {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"},
      {"qwen2.5:7b", "qwen2.5-7b"},
      {"Qwen/Qwen1.5-7B-Chat", "qwen1.5-7b"},
      {"Qwen/Qwen2-72B-Instruct", "qwen2-72b"},
      {"Qwen/Qwen2.5-Coder-32B-Instruct", "qwen2.5-32b"},
      {"Qwen/Qwen2.5-Math-7B", "qwen2.5-7b"},
      {"01-ai/Yi-34B-Chat", "yi-34b"},
      {"01-ai/Yi-1.5-9B", "yi-9b"},
      {"codellama/CodeLlama-34b-Instruct-hf", "codellama-34b"},
      {"codellama/CodeLlama-7b-Python-hf", "codellama-7b"},
      {"lmsys/vicuna-7b-v1.5", "llama-2-7b"},
      {"lmsys/vicuna-13b-v1.3", "llama-13b"},
      {"HuggingFaceH4/zephyr-7b-beta", "mistral-7b-v0.1"},
      {"deepseek-ai/deepseek-llm-67b-chat", "deepseek-llm-67b"},
      {"deepseek-ai/deepseek-coder-6.7b-instruct", "deepseek-coder-6.7b"},
      {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-r1-distill-qwen-1.5b"},
      {"deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "qwen2.5-32b"},
      {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "llama-3.1-8b"},
      {"internlm/internlm-7b", "internlm-7b"},
      {"internlm/internlm2-chat-20b", "internlm2-20b"},
      {"internlm/internlm2_5-7b-chat", "internlm2-7b"},
      {"baichuan-inc/Baichuan2-13B-Chat", "baichuan2-13b"},
      {"baichuan-inc/baichuan-7B", "baichuan-7b"},
      {"google/gemma-2-27b-it", "gemma-2-27b"},
      {"google/t5-v1_1-xxl", "t5-v1.1-xxl"},
      {"google-t5/t5-base", "t5-base"},
      {"google-bert/bert-base-uncased", "bert-base-uncased"},
      {"deepseek-ai/DeepSeek-V3-Base", "deepseek-v3"},
      {"deepseek-ai/DeepSeek-V3-0324", "deepseek-v3"},
      {"allenai/OLMo-2-1124-7B", "olmo-2-7b"},
      {"allenai/OLMoE-1B-7B-0924", "olmoe-1b-7b"},
      {"EleutherAI/pythia-6.9b-deduped", "pythia-6.9b"},
      {"EleutherAI/gpt-neox-20b", "gpt-neox-20b"},
      {"bigscience/bloom", "bloom-176b"},
      {"CohereForAI/c4ai-command-r-v01", "command-r"},
      {"microsoft/phi-1_5", "phi-1.5"},
      {"microsoft/Phi-3-mini-4k-instruct", "phi-3-mini-4k"},
      {"openai-community/gpt2-xl", "gpt2-xl"},
      {"openai/gpt-oss-120b", "gpt-oss-120b"},
      {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", "tinyllama-1.1b"},
      {"stabilityai/stablelm-2-1_6b", "stablelm-2-1.6b"},
      {"zai-org/GLM-4.5", "glm-4.5"},
      {"zai-org/GLM-4.5-Air", "glm-4.5-air"},
      {"THUDM/GLM-4-32B-Base-0414", "glm-4-32b-0414"},
      {"baidu/ERNIE-4.5-21B-A3B-Base-PT", "ernie-4.5-21b-a3b"},
      {"inclusionAI/Ling-mini-2.0", "ling-mini-2.0"},
      {"MiniMaxAI/MiniMax-M2", "minimax-m2"},
      {"MiniMaxAI/MiniMax-Text-01", "minimax-text-01"},
      {"MiniMaxAI/MiniMax-M1-80k", "minimax-text-01"},
      {"tencent/Hunyuan-A13B-Instruct", "hunyuan-a13b"},
      {"arcee-ai/Trinity-Mini", "trinity-mini"},
      {"rednote-hilab/dots.llm1.base", "dots.llm1"},
      {"deepseek-ai/DeepSeek-V3.1-Base", "deepseek-v3.1"},
      {"XiaomiMiMo/MiMo-7B-Base", "mimo-7b"},
      {"ByteDance-Seed/Seed-OSS-36B-Instruct", "seed-oss-36b"},
      {"swiss-ai/Apertus-8B-2509", "apertus-8b"},
      {"ibm-granite/granite-3.1-1b-a400m-base", "granite-3.1-1b-a400m"},
      {"Qwen/Qwen3-Next-80B-A3B-Thinking", "qwen3-next-80b-a3b"},
      {"moonshotai/Kimi-Linear-48B-A3B-Instruct", "kimi-linear-48b-a3b"},
      {"nvidia/Nemotron-H-56B-Base-8K", "nemotron-h-56b"},
      {"mistralai/Mamba-Codestral-7B-v0.1", "codestral-mamba-7b"},
      {"ai21labs/AI21-Jamba-Mini-1.6", "jamba-v0.1"},
      {"LiquidAI/LFM2-1.2B", "lfm2-1.2b"},
      {"meituan-longcat/LongCat-Flash-Chat", "longcat-flash"},
      // Other shapes.
      {"mosaicml/mpt-7b-8k", ""},
      {"mistralai/Mistral-Small-Instruct-2409", ""},
      {"google/t5-efficient-base", ""},
      {"CohereForAI/c4ai-command-r-08-2024", ""},
      {"meta-llama/", ""},
      {"-Instruct", ""},
  };
  for (const auto& [given, name] : kCases) {
    const auto found = FindModelPreset(given);
    EXPECT_EQ(found.ok() ? (*found)->name : "", name) << given;
  }
}

// A field that nothing reads says nothing, and a model of memory's is no more than its source.
TEST(Presets, AreConfigsOfWhichEveryFieldIsRead) {
  size_t rows = 1;  // GPT-3 XL is none
  for (const PresetTable& table : AllTables()) {
    for (const PresetRow& row : table.rows) {
      const auto model = ReadConfig(FieldsOf(table, row), row.name);
      ASSERT_THAT(model, IsOk()) << row.name;
      EXPECT_THAT(model->ignored_fields, IsEmpty()) << row.name;
      ++rows;
    }
  }
  EXPECT_EQ(rows, ModelPresets().size());
}

// The windows of the first and the last layer of `name`; 0 for none.
std::pair<int64_t, int64_t> WindowsOf(absl::string_view name) {
  const auto preset = FindModelPreset(name);
  EXPECT_THAT(preset, IsOk());
  if (!preset.ok()) return {-1, -1};
  const ArchitectureSpec& a = (*preset)->architecture;
  const auto window = [&a](const LayerRun& run) {
    return a.layer_kinds[static_cast<size_t>(run.layer_kind)].attention->window;
  };
  return {window(a.decoder.layers.front()), window(a.decoder.layers.back())};
}

TEST(Presets, HaveTheWindowsOfTheirConfigs) {
  using Windows = std::pair<int64_t, int64_t>;
  EXPECT_EQ(WindowsOf("llama-3.1-8b"), Windows(0, 0));
  EXPECT_EQ(WindowsOf("mistral-7b-v0.1"), Windows(4096, 4096));
  EXPECT_EQ(WindowsOf("mistral-7b-v0.3"), Windows(0, 0));
  EXPECT_EQ(WindowsOf("gemma-2-9b"), Windows(4096, 0));
  EXPECT_EQ(WindowsOf("gemma-3-1b"), Windows(512, 512));  // 26 layers end in the middle
  EXPECT_EQ(WindowsOf("gemma-3-12b"), Windows(1024, 0));
  EXPECT_EQ(WindowsOf("phi-3-mini-4k"), Windows(2047, 2047));
  EXPECT_EQ(WindowsOf("gpt-neo-2.7b"), Windows(0, 256));
  EXPECT_EQ(WindowsOf("phi-4"), Windows(0, 0));
  EXPECT_EQ(WindowsOf("gpt-oss-20b"), Windows(128, 0));
  EXPECT_EQ(WindowsOf("starcoder2-7b"), Windows(4096, 4096));
  EXPECT_EQ(WindowsOf("olmo-3-7b"), Windows(4096, 0));
}

TEST(FindModelPreset, LooksPastCaseAndSeparators) {
  for (const char* name : {"llama-3.1-70b", "Llama 3.1 70B", "LLAMA_3.1_70b"}) {
    const auto preset = FindModelPreset(name);
    ASSERT_THAT(preset, IsOk()) << name;
    EXPECT_EQ((*preset)->name, "llama-3.1-70b");
  }
}

TEST(FindModelPreset, OffersNearNamesForAnUnknownOne) {
  const auto preset = FindModelPreset("llama-3.1-71b");
  EXPECT_THAT(preset, Fails(absl::StatusCode::kNotFound, "MODEL_UNKNOWN"));
  EXPECT_THAT(std::string(preset.status().message()), HasSubstr("llama-3.1-70b"));
}

// Parts and adapters, exact to the integer. Totals are compared in tests/golden.
ArchitectureSpec Preset(absl::string_view name) {
  const auto preset = FindModelPreset(name);
  EXPECT_THAT(preset, IsOk());
  return preset.ok() ? (*preset)->architecture : ArchitectureSpec();
}

ArchitectureCount CountPublished(const ArchitectureSpec& spec) {
  const auto count = CountArchitecture(spec, "");
  EXPECT_THAT(count, IsOk());
  return count.value_or(ArchitectureCount());
}

// The published checkpoint (684,489,845,504 parameters, id 69468411049 of the search index) holds
// the main model (671,026,419,200, id 70123698298), a module of multi-token prediction, and that
// module's copies of the embedding and of the output head.
TEST(PublishedArchitectures, DeepSeekV3HasAModuleThatPredictsAhead) {
  const ArchitectureCount count = CountPublished(Preset("deepseek-v3"));
  const int64_t embedding = count.of(WeightComponent::kTokenEmbedding).total;
  const int64_t head = count.of(WeightComponent::kOutputHead).total;
  EXPECT_EQ(count.all.total + embedding + head, 684'489'845'504);
  EXPECT_EQ(count.all.total - count.of(ModelPart::kMultiTokenPrediction).total, 671'026'419'200);
}

// Rank 32 on queries and values of all attentions: 1,376,256 parameters are trained (id
// 15041666123).
TEST(PublishedArchitectures, AdaptersOfFlanT5SmallAreExact) {
  ArchitectureSpec spec = Preset("flan-t5-small");
  spec.base_frozen = true;
  spec.adapters = AdapterSpec{.rank = 32,
                              .targets = {{"attention", "query"},
                                          {"attention", "value"},
                                          {"cross_attention", "query"},
                                          {"cross_attention", "value"}}};
  const ArchitectureCount count = CountPublished(spec);
  EXPECT_EQ(count.all.trainable, 1'376'256);
  EXPECT_EQ(count.all.total, 76'961'152 + 1'376'256);
}

}  // namespace
}  // namespace sextant
