// Parameters of a small model of each family, and what each option adds, worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/config/families.h"
#include "engine/model/config/read_config.h"
#include "tests/engine/model/config/small_configs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

WeightCount CountOf(const ConfigFields& fields) {
  const auto model = ReadConfig(fields, "config");
  EXPECT_THAT(model, IsOk());
  if (!model.ok()) return {};
  const auto count = CountArchitecture(model->architecture, "config");
  EXPECT_THAT(count, IsOk());
  return count.value_or(ArchitectureCount()).all;
}

// h = 8, 4 layers, 2 heads of 4, 16 inside, 10 tokens: attention has 4 x 8 x 8 = 256, a gated
// feed-forward 3 x 8 x 16 = 384, a plain one 256, one of 32 512; a table 80; RMSNorm 8 and
// LayerNorm 16; biases of queries, keys and values 24, of the output 8.
TEST(FamilyCounts, OfSmallModelsByHand) {
  constexpr int64_t kLlama = 80 + 4 * (256 + 384 + 16) + 8 + 80;
  constexpr int64_t kGpt2Layer = 256 + 32 + 512 + 40 + 32;
  constexpr int64_t kNeoxLayer = 256 + 32 + 256 + 24 + 32;
  constexpr int64_t kMixtral = 80 + 4 * (256 + 4 * 384 + 32 + 16) + 8 + 80;
  // Queries 8 x 6 + 6 + 6 x 10, keys and values 8 x 7 + 5 + 5 x 14, output 8 x 8.
  constexpr int64_t kLatent = 48 + 6 + 60 + 56 + 5 + 70 + 64;
  // Experts of 6: 4, one shared, and the router.
  constexpr int64_t kLatentModel = 80 + 4 * (kLatent + 16) + 384 + 3 * (5 * 3 * 48 + 32) + 8 + 80;
  // The same on plain attention, without the router's correction.
  constexpr int64_t kGrouped = 80 + 4 * (256 + 16) + 384 + 3 * (5 * 144 + 32) + 8 + 80;
  constexpr int64_t kDeltaNet = 8 * 26 + 2 * 16 + 4 + 3 + 48;
  // In 8 x (2 x 12 + 2 x 10 + 4), filters and a bias 3 x (12 + 20), 3 x 4, out 12 x 8; its norm
  // would add 12.
  constexpr int64_t kMamba2 = 8 * 48 + 3 * 32 + 12 + 96;
  constexpr int64_t kLightning = 80 + 3 * 328 + 256 + 4 * (4 * 384 + 32 + 16) + 88;
  const std::map<absl::string_view, int64_t> totals = {
      {"gpt2", 80 + 48 + 4 * kGpt2Layer + 16},
      {"gpt_bigcode", 80 + 48 + 4 * (kGpt2Layer - 2 * 4 * 8 - 2 * 4) + 16},
      {"gpt_neo", 80 + 48 + 4 * (kGpt2Layer - 24) + 16},
      {"gptj", 80 + 4 * (256 + 512 + 40 + 16) + 16 + 80 + 10},
      {"codegen", 80 + 4 * (256 + 512 + 40 + 16) + 16 + 80 + 10},
      {"gpt_neox", 80 + 4 * kNeoxLayer + 16 + 80},
      {"opt", 80 + 8 * 8 + 4 * kNeoxLayer + 16},
      {"bloom", 80 + 16 + 4 * kGpt2Layer + 16},
      {"mpt", 80 + 4 * (256 + 512 + 16) + 8},
      {"llama", kLlama},
      {"params.json", kLlama},
      {"mistral", kLlama},
      {"granite", kLlama},
      {"smollm3", kLlama - 80},
      {"phi3", kLlama},
      {"qwen2", kLlama + 4 * 24},
      {"qwen3", kLlama + 4 * 2 * 4},
      {"gemma", kLlama - 80},
      {"gemma2", kLlama - 80 + 4 * 16},
      {"gemma3_text", kLlama - 80 + 4 * (16 + 2 * 4)},
      {"olmo2", kLlama + 4 * 16},
      {"olmo3", kLlama + 4 * 16},
      {"phi", 80 + 4 * (kNeoxLayer - 16) + 16 + 80 + 10},
      {"olmo", kLlama - 9 * 8},
      {"starcoder2", 80 + 4 * kNeoxLayer + 16},
      {"stablelm", kLlama + 9 * 8},
      {"cohere", 80 + 4 * (256 + 384 + 8) + 8},
      {"cohere2", 80 + 4 * (256 + 384 + 8) + 8},
      {"nemotron", 80 + 4 * (256 + 256 + 32) + 16 + 80},
      {"falcon", 80 + 4 * (2 * 64 + 2 * 32 + 512 + 16) + 16},
      {"mixtral", kMixtral},
      {"olmoe", kMixtral + 4 * 16},
      {"phimoe", kMixtral + 9 * 8},
      {"dbrx", kMixtral},
      // Biases 32, 2 sinks, a router's 4, and 16 + 16 + 8 of each expert.
      {"gpt_oss", kMixtral + 4 * (32 + 2 + 4 + 4 * 40)},
      // Experts of 6, a shared one of 10 and its gate.
      {"qwen2_moe", 80 + 4 * (280 + 4 * 144 + 240 + 8 + 32 + 16) + 8 + 80},
      {"qwen3_moe", 80 + 4 * (256 + 8 + 4 * 144 + 32 + 16) + 8 + 80},
      {"llama4_text", 80 + 4 * (256 + 5 * 144 + 32 + 16) + 8 + 80},
      {"deepseek_v2", kLatentModel},
      {"deepseek_v3", kLatentModel + 3 * 4},
      {"kimi_k2", kLatentModel + 3 * 4},
      {"glm4_moe_lite", kLatentModel + 3 * 4},
      // An indexer: queries 8 x 6, a key 4 x 8 with its norm of 8, weights 2 x 8.
      {"deepseek_v32", kLatentModel + 3 * 4 + 4 * 104},
      {"glm_moe_dsa", kLatentModel + 3 * 4 + 4 * 104},
      {"youtu_llm", 80 + 4 * (kLatent + 16 + 384) + 8},
      {"youtu", 80 + 4 * (kLatent + 16 + 384) + 8},
      {"glm", kLlama + 4 * 24},
      {"glm4", kLlama + 4 * (24 + 16)},
      {"ernie4_5", kLlama - 80},
      {"mimo", kLlama + 4 * 24},
      {"exaone4", kLlama + 4 * 2 * 4},
      {"internlm3", kLlama},
      {"seed_oss", kLlama + 4 * 24},
      {"arcee", kLlama - 4 * 128},
      {"ministral", kLlama},
      {"ministral3", kLlama},
      {"hunyuan_v1_dense", kLlama + 4 * 2 * 4},
      {"qwen2_vl", kLlama + 4 * 24},
      {"qwen2_5_vl", kLlama + 4 * 24},
      {"qwen2_vl_text", kLlama + 4 * 24},
      {"qwen2_5_vl_text", kLlama + 4 * 24},
      {"qwen3_vl_text", kLlama + 4 * 2 * 4},
      // Norms of 4 for queries and keys, and 2 numbers of the activation.
      {"apertus", kLlama - 4 * 128 + 4 * (2 * 4 + 2)},
      {"qwen3_vl_moe_text", 80 + 4 * (256 + 8 + 4 * 144 + 32 + 16) + 8 + 80},
      {"granitemoe", kMixtral},
      {"granitemoehybrid", kLlama},
      // Norms over all heads, 8 for queries and 8 for keys, and a router's correction.
      {"minimax_m2", kMixtral + 4 * (16 + 4)},
      {"glm4_moe", kGrouped + 3 * 4},
      {"bailing_moe", kGrouped},
      {"bailing_moe_v2", kGrouped},
      {"dots1", kGrouped + 3 * 4 + 4 * 8},
      {"hunyuan_v1_moe", 80 + 4 * (256 + 8 + 5 * 384 + 32 + 16) + 88},
      {"ernie4_5_moe", kGrouped + 3 * 4 - 80},
      // Four norms, and a gate of 8 x 8.
      {"afmoe", 80 + 4 * (256 + 64 + 8 + 32 + 5 * 144 + 32 + 4) + 8 + 80},
      // Layers with a window have 4 heads: 8 x 16 twice, and 64 twice.
      {"step3p5", 80 + 2 * 256 + 2 * 384 + 4 * (8 + 16) + 384 + 3 * (4 * 144 + 240 + 36) + 88},
      // A gate of 8 x 2.
      {"laguna", 80 + 4 * (256 + 16 + 8 + 16) + 384 + 3 * (4 * 144 + 240 + 36) + 88},
      // Layers with a window have one key-value head, and 2 sinks.
      {"mimo_v2_flash", 80 + 256 + 3 * (192 + 2) + 4 * 16 + 384 + 3 * (4 * 144 + 36) + 88},
      // Three layers of a delta net: in 8 x (2 x 5 + 2 x 6 + 2 x 2), filters 2 x (10 + 6), decays
      // and steps 2 x 2, a norm of 3, out 6 x 8. One of attention with a gate of 64 and norms of 8.
      {"qwen3_next", 80 + 3 * kDeltaNet + 328 + 4 * (4 * 144 + 240 + 8 + 32 + 16) + 88},
      {"qwen3_5_text", 80 + 3 * kDeltaNet + 328 + 4 * (384 + 16) + 88},
      {"qwen3_5_moe_text", 80 + 3 * kDeltaNet + 328 + 4 * (4 * 144 + 240 + 8 + 32 + 16) + 88},
      // Two layers of Kimi delta attention: queries, keys, values and out 4 x 8 x 6, filters
      // 3 x 2 x 6, decays and gates of rank 3 2 x (24 + 18), steps 8 x 2, 2 + 6, a norm of 3.
      {"kimi_linear", 80 + 2 * (192 + 36 + 84 + 16 + 8 + 3) + 2 * kLatent + 4 * 16 + 384 +
                          3 * (5 * 144 + 32 + 4) + 88},
      // Decays and gates of one matrix each, 2 x 48; latent attention with a gate of 8 x 2.
      {"bailing_hybrid", 80 + 2 * (192 + 36 + 96 + 16 + 8 + 3) + 2 * (kLatent + 16) + 4 * 16 + 384 +
                             3 * (5 * 144 + 32) + 88},
      // In 8 x 24, filters 3 x 8, out 8 x 8; attention with norms of 4.
      {"lfm2", 80 + 3 * (192 + 24 + 64) + 264 + 4 * (384 + 16) + 8},
      {"lfm2_moe", 80 + 3 * (192 + 24 + 64) + 264 + 4 * 16 + 384 + 3 * (4 * 144 + 32 + 4) + 8},
      // A router of 6 experts and their corrections; 4 of them have parameters.
      {"longcat_flash", 80 + 4 * (kLatent + 16 + 384) + 2 * (4 * 144 + 48 + 6) + 88},
      // A full layer has queries and output 2 x 8 x 12, a key of 6 and no values.
      {"gemma4_text",
       80 + 3 * (256 + 8) + (192 + 48 + 12) + 4 * (384 + 4 * 144 + 32 + 4 + 8 * 8 + 1) + 8},
      // Each layer has one branch: Mamba-2, attention, a plain feed-forward, experts of a width
      // of 5.
      {"nemotron_h", 80 + (kMamba2 + 12) + 256 + 256 + (4 * 60 + 80 + 160 + 32 + 4) + 4 * 8 + 88},
      {"falcon_h1", kLlama + 4 * kMamba2},
      {"mamba2", 80 + 4 * (kMamba2 + 12 + 8) + 88},
      // Lightning attention of 8 channels: queries, keys, values, gate and out 5 x 64, a norm of 8.
      {"minimax", kLightning},
      {"minimax_text_01", kLightning},
      {"minimax_m1", kLightning},
      {"bamba", 80 + 3 * (kMamba2 + 12) + 256 + 4 * (384 + 16) + 88},
      // Channels 16: in 8 x 32, filters and a bias 3 x 16, 16 x (3 + 10), 3 x 16 + 16, 16 x 5, 16,
      // out 16 x 8, and norms of 3, 5 and 5.
      {"jamba", 80 + 3 * (256 + 48 + 208 + 64 + 80 + 16 + 128 + 13) + 256 + 4 * 16 + 2 * 384 +
                    2 * (4 * 384 + 32) + 88},
      // 192 with one key-value head and 256 with two; feed-forwards of 2/3 x 96 x 8 = 512, and of
      // 2/3 x 100 x 8 = 533, which is rounded up to 768.
      {"nemotron-nas", 80 + (192 + 8) + (256 + 8) + 3 * 8 * (512 + 768) + 2 * 8 + 8 + 80},
      // Positions, 2 types, a norm; a pooler with its bias.
      {"bert", 80 + 48 + 16 + 16 + 4 * kNeoxLayer + 72},
      // Tables of 32 x 2.
      {"t5", 80 + 4 * (256 + 256 + 16) + 4 * (512 + 256 + 24) + 2 * (64 + 8)},
  };
  for (const KnownName& family : KnownModelTypes()) {
    const auto total = totals.find(family.name);
    ASSERT_NE(total, totals.end()) << family.name;
    EXPECT_EQ(CountOf(SmallConfig(family.name)).total, total->second) << family.name;
  }
  EXPECT_EQ(KnownModelTypes().size(), totals.size());
}

TEST(FamilyCounts, OnlyMixturesHaveIdleParameters) {
  for (const KnownName& family : KnownModelTypes()) {
    const WeightCount count = CountOf(SmallConfig(family.name));
    const bool mixture = CountOf(SmallConfig(family.name)).active < count.total;
    const ConfigFields fields = SmallConfig(family.name);
    bool speaks = fields.count("ffn_config") > 0;
    for (const char* name : {"num_experts_per_tok", "num_experts_per_token", "moe_topk",
                             "moe_top_k", "moe_k", "top_k_experts"}) {
      speaks = speaks || fields.count(name) > 0;
    }
    EXPECT_EQ(mixture, speaks) << family.name;
  }
  // Two of four experts of 384, in four layers.
  EXPECT_EQ(CountOf(SmallConfig("mixtral")).active, 7528 - 4 * 2 * 384);
  EXPECT_EQ(CountOf(SmallConfig("dbrx")).active, 7528 - 4 * 2 * 384);
  // The shared expert is met by all.
  EXPECT_EQ(CountOf(SmallConfig("deepseek_v2")).total - CountOf(SmallConfig("deepseek_v2")).active,
            3 * 2 * 144);
}

// An option, by what it adds to the small model.
struct OptionCase {
  const char* model_type;
  std::vector<ConfigField> more;
  int64_t difference;
};

void ExpectAdded(const std::vector<OptionCase>& cases) {
  for (const OptionCase& c : cases) {
    EXPECT_EQ(
        CountOf(SmallConfig(c.model_type, c.more)).total - CountOf(SmallConfig(c.model_type)).total,
        c.difference)
        << c.model_type << " " << c.more.front().name;
  }
}

// Those of dense decoders in Llama's style and near it are counted in the server's tests.
TEST(FamilyOptions, OfDecodersAddTheHandCount) {
  ExpectAdded({{"bloom", {{"tie_word_embeddings", false}}, 80},
               {"bloom", {{"n_layer", nullptr}, {"num_hidden_layers", 4}, {"n_embed", 8}}, 0},
               // Layers of 872.
               {"bloom", {{"n_layer", nullptr}, {"num_hidden_layers", 3}}, -872},
               // 24 + 8 + 32 + 8 and two norms' biases a layer, and the last norm's.
               {"mpt", {{"no_bias", false}}, 4 * (72 + 16) + 8},
               {"mpt", {{"attn_config.alibi", false}, {"max_seq_len", 6}}, 48},
               {"mpt", {{"attn_config.alibi", false}, {"learned_pos_emb", false}}, 0},
               {"mpt", {{"attn_config.alibi", false}, {"attn_config.rope", true}}, 0},
               {"mpt", {{"expansion_ratio", 2}}, -4 * 256},
               // A weight and a bias of 4 for queries and for keys.
               {"phi", {{"qk_layernorm", true}}, 4 * 16},
               {"cohere2", {{"attention_bias", true}}, 4 * 32},
               {"mistral", {{"head_dim", 8}}, 4 * 256}});
}

// Two thirds of 4 x 8 is 21; a multiple of 16 is 32, of 1.6 x 21 = 33 it is 48.
TEST(FamilyOptions, OfParamsFilesAddTheHandCount) {
  ExpectAdded({{"params.json", {{"hidden_dim", nullptr}, {"multiple_of", 16}}, 4 * 3 * 8 * 16},
               {"params.json", {{"hidden_dim", nullptr}, {"multiple_of", 3}}, 4 * 3 * 8 * 5},
               {"params.json",
                {{"moe.num_experts", 4}, {"moe.num_experts_per_tok", 2}},
                4 * (3 * 384 + 32)},
               {"params.json", {{"tied_embeddings", true}}, -80}});
  ConfigFields fields =
      With(SmallConfig("params.json", {{"hidden_dim", nullptr}, {"multiple_of", 16}}),
           "ffn_dim_multiplier", {.kind = ConfigValue::Kind::kOtherNumber, .text = "1.6"});
  EXPECT_EQ(CountOf(fields).total, CountOf(SmallConfig("params.json")).total + 4 * 3 * 8 * 32);
  // No model_type says so: the names of sizes do.
  fields.erase("model_type");
  EXPECT_EQ(CountOf(fields).total, CountOf(SmallConfig("params.json")).total + 4 * 3 * 8 * 32);
}

TEST(FamilyOptions, OfMixturesAddTheHandCount) {
  ExpectAdded({{"mixtral", {{"num_local_experts", 5}}, 4 * (384 + 8)},
               {"mixtral", {{"num_experts_per_tok", 1}}, 0},
               // The class as the published file names it, and as transformers does.
               {"phimoe", {{"architectures", OneName{"PhiMoEForCausalLM"}}}, 0},
               {"phimoe", {{"architectures", OneName{"PhimoeForCausalLM"}}}, 0},
               {"phimoe", {{"lm_head_bias", true}}, 10},
               {"phimoe", {{"attention_bias", true}}, 4 * 32},
               {"olmoe", {{"attention_bias", true}}, 4 * 32},
               {"gpt_oss", {{"attention_bias", false}}, -4 * 32},
               {"qwen2_moe", {{"qkv_bias", false}}, -4 * 24},
               // Two layers with a feed-forward of 384 rather than 4 x 144 + 240 + 8 + 32.
               {"qwen2_moe", {{"decoder_sparse_step", 2}}, 2 * (384 - 856)},
               {"qwen3_moe", {{"decoder_sparse_step", 2}}, 2 * (384 - 608)},
               // Layers 0 and 2 rather than 5 x 144 + 32.
               {"llama4_text", {{"interleave_moe_layer_step", 2}}, 2 * (384 - 752)},
               {"dbrx", {{"attn_config.kv_n_heads", 1}}, -4 * 2 * 4 * 8}});
}

TEST(FamilyOptions, OfLaterMixturesAddTheHandCount) {
  ExpectAdded(
      {{"glm4_moe", {{"use_qk_norm", true}}, 4 * 8},
       {"glm4_moe", {{"attention_bias", true}}, 4 * 24},
       {"glm4_moe", {{"first_k_dense_replace", 0}}, 5 * 144 + 36 - 384},
       // Two norms, 16 x 8, a layer of experts with its two norms, and a last norm.
       {"glm4_moe", {{"num_nextn_predict_layers", 1}}, 16 + 128 + 256 + 5 * 144 + 36 + 16 + 8},
       {"bailing_moe", {{"moe_router_enable_expert_bias", true}}, 3 * 4},
       {"bailing_moe", {{"moe_shared_expert_intermediate_size", 10}}, 3 * (240 - 144)},
       {"bailing_moe", {{"use_qkv_bias", true}}, 4 * 24},
       {"hunyuan_v1_moe", {{"use_qk_norm", false}}, -4 * 8},
       {"hunyuan_v1_moe", {{"num_shared_expert", 2}}, 4 * 384},
       {"minimax_m2", {{"use_routing_bias", false}}, -4 * 4},
       {"minimax_m2", {{"use_qk_norm", false}}, -4 * 16},
       // Layer 3 alone.
       {"ernie4_5_moe", {{"moe_layer_interval", 2}, {"moe_layer_start_index", 2}}, 2 * (384 - 756)},
       {"ernie4_5_moe", {{"moe_layer_end_index", 2}}, 384 - 756},
       {"afmoe", {{"num_dense_layers", 2}}, 2 * (384 - 756)},
       // Gates of 8 x 2 and 8 x 4.
       {"step3p5", {{"use_head_wise_attn_gate", true}}, 2 * 16 + 2 * 32},
       // A dense layer with a window, three norms and 16 x 8.
       {"step3p5", {{"num_nextn_predict_layers", 1}}, 384 + 8 + 16 + 384 + 24 + 128},
       {"step3p5", {{"use_moe_router_bias", false}}, -3 * 4},
       {"laguna", {{"gating", false}}, -4 * 16},
       {"laguna", {{"gating", "per-head"}}, 0},
       // Gates of 8 x 8 rather than 8 x 2.
       {"laguna", {{"gating", "per-element"}}, 4 * 48},
       // As many as the heads, which the small model has.
       {"granitemoe", {{"num_key_value_heads", nullptr}}, 0},
       {"hunyuan_v1_moe", {{"num_key_value_heads", nullptr}}, 0},
       {"hunyuan_v1_dense", {{"tie_word_embeddings", true}}, -80},
       {"dots1", {{"first_k_dense_replace", nullptr}}, 5 * 144 + 36 - 384},
       {"glm4_moe", {{"n_shared_experts", nullptr}}, -3 * 144},
       {"mimo_v2_flash", {{"add_full_attention_sink_bias", true}}, 2},
       {"mimo_v2_flash", {{"v_head_dim", 6}}, (32 + 32) + 3 * (16 + 32)},
       {"granitemoehybrid",
        {{"num_local_experts", 4}, {"num_experts_per_tok", 2}, {"intermediate_size", 6}},
        4 * (4 * 144 + 32)},
       {"apertus", {{"hidden_act", "relu2"}}, -4 * 2},
       {"seed_oss", {{"attention_out_bias", true}}, 4 * 8},
       {"internlm3", {{"bias", true}}, 4 * (8 + 16 + 16 + 8)}});
}

TEST(FamilyOptions, OfLatentAddTheHandCount) {
  ExpectAdded({// 10 x 8 rather than 6 x 8 + 6 + 10 x 6.
               {"deepseek_v2", {{"q_lora_rank", nullptr}}, 4 * (80 - 114)},
               {"deepseek_v2", {{"n_shared_experts", nullptr}}, -3 * 144},
               {"deepseek_v2", {{"n_shared_experts", 0}}, -3 * 144},
               {"deepseek_v3", {{"n_shared_experts", 2}}, 3 * 144},
               {"deepseek_v2", {{"first_k_dense_replace", 0}}, 752 - 384},
               {"deepseek_v2", {{"first_k_dense_replace", 4}}, 3 * (384 - 752)},
               // Among layers 1 to 3, only layer 2.
               {"deepseek_v2", {{"moe_layer_freq", 2}}, 2 * (384 - 752)},
               // Biases of the projections into latents, 6 and 7, and of the output.
               {"deepseek_v2", {{"attention_bias", true}}, 4 * (6 + 7 + 8)},
               // Two norms, 16 x 8, a layer of experts with its two norms, and a last norm.
               {"deepseek_v3", {{"num_nextn_predict_layers", 1}}, 16 + 128 + (309 + 756 + 16) + 8},
               // The last two layers have no indexer, of 104; the module has one.
               {"glm_moe_dsa", {{"index_topk_pattern", "FFSS"}}, -2 * 104},
               {"glm_moe_dsa",
                {{"index_topk_pattern", "FFSS"}, {"num_nextn_predict_layers", 1}},
                16 + 128 + (309 + 756 + 16) + 8 + 104 - 2 * 104}});
}

TEST(FamilyOptions, OfMixersAddTheHandCount) {
  ExpectAdded(
      {// Two norms, 16 x 8, a layer of attention and a feed-forward, and a last norm.
       {"qwen3_5_text", {{"mtp_num_hidden_layers", 1}}, 16 + 128 + (328 + 384 + 16) + 8},
       {"qwen3_5_text", {{"attn_output_gate", false}}, -64},
       {"bailing_hybrid", {{"num_nextn_predict_layers", 1}}, 16 + 128 + (309 + 16 + 752 + 16) + 8},
       {"bailing_hybrid", {{"no_kda_lora", false}}, 2 * (84 - 96)},
       {"bailing_hybrid",
        {{"gated_attention_proj_granularity_type", "element_wise"}},
        2 * 8 * (8 - 2)},
       // Biases of a convolution's channels, and of the matrices around it.
       {"lfm2", {{"conv_bias", true}}, 3 * (8 + 24 + 8)},
       // Two thirds of 16 is 10; a multiple of 4 is 12.
       {"lfm2", {{"block_auto_adjust_ff_dim", true}, {"block_multiple_of", 4}}, -4 * 3 * 8 * 4},
       {"longcat_flash", {{"router_bias", true}}, 2 * 6},
       // Two heads of keys of 6 and as many of values rather than one of keys.
       {"gemma4_text", {{"attention_k_eq_v", false}}, 3 * 48},
       {"gemma4_text", {{"enable_moe_block", false}}, -4 * (4 * 144 + 32 + 4 + 4 * 8)}});
}

TEST(FamilyOptions, OfStateSpaceLayersAddTheHandCount) {
  ExpectAdded({// Attention and experts, with a norm each.
               {"nemotron_h",
                {{"num_nextn_predict_layers", 1}, {"mtp_hybrid_override_pattern", "*E"}},
                16 + 128 + (256 + 516 + 16) + 8},
               {"nemotron_h", {{"use_bias", true}}, 48 + 8},
               {"nemotron_h", {{"use_conv_bias", false}}, -32},
               // Experts of 8 x 6 twice.
               {"nemotron_h", {{"moe_latent_size", nullptr}}, 4 * 96 - 320},
               {"falcon_h1", {{"mamba_rms_norm", true}}, 4 * 12},
               {"falcon_h1", {{"mamba_d_head", "auto"}, {"mamba_d_ssm", 12}}, 0},
               {"jamba", {{"mamba_proj_bias", true}}, 3 * (32 + 8)},
               // A rank of 1 rather than 3.
               {"jamba", {{"mamba_dt_rank", "auto"}}, -3 * (2 * 16 + 2 * 16 + 2)},
               {"jamba", {{"num_experts", 1}}, 2 * (384 - 4 * 384 - 32)}});
}

TEST(FamilyOptions, OfEncodersAddTheHandCount) {
  ExpectAdded(
      {// A transform of 64 + 8 and its norm of 16, and a bias of 10, rather than the pooler of 72.
       {"bert", {{"architectures", OneName{"BertForMaskedLM"}}}, 88 + 10 - 72},
       // All of these, and 2 x 8 + 2.
       {"bert", {{"architectures", OneName{"BertForPreTraining"}}}, 88 + 10 + 18},
       {"bert",
        {{"architectures", OneName{"BertForMaskedLM"}}, {"tie_word_embeddings", false}},
        88 + 10 - 72 + 80},
       {"bert", {{"type_vocab_size", 1}}, -8},
       {"bert", {{"type_vocab_size", 0}}, -2 * 8},
       {"t5", {{"tie_word_embeddings", false}}, 80},
       {"t5", {{"feed_forward_proj", "gated-gelu"}}, 8 * 128},
       {"t5", {{"num_decoder_layers", 2}}, -2 * 792},
       {"t5", {{"relative_attention_num_buckets", 16}}, -2 * 32},
       {"t5", {{"architectures", OneName{"T5WithLMHeadModel"}}}, 0}});
}

}  // namespace
}  // namespace sextant
