// Fields that no family's reader has: those that may stand for parameters are refused by name, or
// named where the caller asks for it.
#include "engine/model/config/unread_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/model/config/read_config.h"
#include "tests/engine/model/config/small_configs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ConfigValue ObjectValue() {
  return {.kind = ConfigValue::Kind::kObject,
          .element_count = 1,
          .elements = {{.kind = ConfigValue::Kind::kInteger, .name = "head_dim", .integer = 4}}};
}

struct HarmfulCase {
  const char* model_type;
  const char* field;
  ConfigValue value;
  const char* part;
};

ConfigValue YesValue() { return {.kind = ConfigValue::Kind::kBoolean, .boolean = true}; }
ConfigValue WholeValue(int64_t value) {
  return {.kind = ConfigValue::Kind::kInteger, .integer = value};
}
ConfigValue TextValue(const char* text) { return {.kind = ConfigValue::Kind::kText, .text = text}; }

// Each changes the parameters of a published model whose file has it.
std::vector<HarmfulCase> HarmfulCases() {
  return {
      {"qwen3", "attn_output_gate", YesValue(), "a gate on attention's output"},
      {"llama", "use_head_wise_attn_gate", YesValue(), "a gate on attention's output"},
      {"qwen3_moe", "gating", YesValue(), "a gate on attention's output"},
      {"deepseek_v3", "index_n_heads", WholeValue(64), "an indexer of attention"},
      {"deepseek_v3", "index_head_dim", WholeValue(128), "an indexer of attention"},
      {"deepseek_v3", "index_topk", WholeValue(2048), "an indexer of attention"},
      {"deepseek_v3", "o_lora_rank", WholeValue(1024), "low-rank matrices"},
      {"deepseek_v3", "hc_mult", WholeValue(4), "hyper-connections"},
      {"qwen3_moe", "linear_num_value_heads", WholeValue(32), "linear attention"},
      {"llama", "linear_attn_config", ObjectValue(), "linear attention"},
      {"llama", "conv_L_cache", WholeValue(3), "convolutions"},
      {"llama", "add_swa_attention_sink_bias", YesValue(), "attention sinks"},
      {"qwen3_moe", "zero_expert_num", WholeValue(256), "experts"},
      {"mixtral", "moe_latent_size", WholeValue(2048), "experts"},
      {"gemma3_text", "hidden_size_per_layer_input", WholeValue(256), "embeddings of each layer"},
      {"gemma3_text", "altup_num_inputs", WholeValue(4), "copies of the residual stream"},
      {"gemma3_text", "global_head_dim", WholeValue(512), "parameters"},
      {"gemma3_text", "attention_k_eq_v", YesValue(), "parameters"},
      {"llama", "num_kv_shared_layers", WholeValue(2), "keys and values that layers share"},
      {"llama", "attention_other_setting", ObjectValue(), "parameters"},
      {"llama", "num_attention_heads_per_layer", NumberArray({2, 2, 2, 4}), "each layer"},
      {"llama", "mtp_num_hidden_layers", WholeValue(1), "multi-token prediction"},
      {"llama", "hidden_act", TextValue("xielu"), "an activation with parameters"}};
}

TEST(UnreadFields, ThatMayStandForParametersAreRefusedByName) {
  for (const HarmfulCase& c : HarmfulCases()) {
    const ConfigFields fields = With(SmallConfig(c.model_type), c.field, c.value);
    const absl::Status status = ReadConfig(fields, "config").status();
    EXPECT_THAT(status, NamesFields(ElementsAre(FieldPath("config", c.field)))) << c.field;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.part)) << c.field;
  }
}

TEST(UnreadFields, ThatMayStandForParametersAreNamedWhereThatIsAsked) {
  for (const HarmfulCase& c : HarmfulCases()) {
    const ConfigFields fields = With(SmallConfig(c.model_type), c.field, c.value);
    const auto model = ReadConfig(fields, "config", UnreadRule::kName);
    ASSERT_THAT(model, IsOk()) << c.field;
    EXPECT_THAT(model->unread_fields, ElementsAre(c.field));
    EXPECT_THAT(model->ignored_fields, IsEmpty());
  }
}

// An unknown name may stand for anything.
TEST(UnreadFields, OfUnknownNamesAreRefused) {
  const auto status = ReadConfig(SmallConfig("llama", {{"house_rule", true}}), "config").status();
  EXPECT_THAT(status, NamesFields(ElementsAre("config.house_rule")));
  // A dot in a name makes no object of it.
  ConfigFields dotted = SmallConfig("llama");
  dotted["house.rule"] = YesValue();
  EXPECT_THAT(ReadConfig(dotted, "config").status(), NamesFields(ElementsAre("config.house.rule")));
}

TEST(UnreadFields, ThatSayNoneOrHoldNothingAreIgnored) {
  for (const ConfigField& field : std::vector<ConfigField>{{"attn_output_gate", false},
                                                           {"index_topk", 0},
                                                           {"index_n_heads", nullptr},
                                                           {"rope_theta", 10000},
                                                           {"bos_token_id", 1},
                                                           {"hidden_act", "silu"},
                                                           {"torch_dtype", "bfloat16"},
                                                           {"use_cache", true},
                                                           {"initializer_range", 1}}) {
    const auto model = ReadConfig(SmallConfig("llama", {field}), "config");
    ASSERT_THAT(model, IsOk()) << field.name;
    EXPECT_THAT(model->unread_fields, IsEmpty());
  }
}

// A part that a name denies is there where the value is false.
TEST(UnreadFields, WithANegativeNameAreRefusedWhereFalse) {
  EXPECT_THAT(ReadConfig(SmallConfig("llama", {{"no_bias", false}}), "config").status(),
              NamesFields(ElementsAre("config.no_bias")));
}

ConfigFields Wrapped(const char* name, const ConfigValue& value) {
  ConfigValue text_model = {.kind = ConfigValue::Kind::kObject};
  for (const auto& [field, of] : SmallConfig("llama")) {
    text_model.elements.push_back(of);
    text_model.elements.back().name = field;
  }
  text_model.element_count = text_model.elements.size();
  return {{"text_config", text_model}, {name, value}};
}

TEST(UnreadFields, AroundATextModelMayConcernItsOtherParts) {
  for (const char* name : {"vision_config", "image_token_index", "mm_tokens_per_image"}) {
    const auto model = ReadConfig(Wrapped(name, ObjectValue()), "config");
    ASSERT_THAT(model, IsOk()) << name;
    EXPECT_THAT(model->ignored_fields, Contains(name));
  }
  EXPECT_THAT(ReadConfig(Wrapped("attn_output_gate", YesValue()), "config").status(),
              NamesFields(ElementsAre("config.attn_output_gate")));
  // The same value twice says nothing new.
  EXPECT_THAT(ReadConfig(Wrapped("num_hidden_layers", WholeValue(4)), "config"), IsOk());
  EXPECT_THAT(ReadConfig(Wrapped("num_hidden_layers", WholeValue(5)), "config").status(),
              NamesFields(ElementsAre("config.num_hidden_layers")));
}

// Towers of Qwen3.5-27B (published 27,781,427,952 less text and module) and of Qwen3-VL-2B
// (2,127,532,032 less 1,720,574,976).
ConfigValue TowerOf(int64_t width, int64_t inner, int64_t out, int64_t depth, size_t deep) {
  ConfigValue tower = {.kind = ConfigValue::Kind::kObject};
  const auto add = [&tower](const char* name, ConfigValue value) {
    value.name = name;
    tower.elements.push_back(value);
  };
  add("model_type", TextValue("qwen3_vl"));
  add("hidden_size", WholeValue(width));
  add("intermediate_size", WholeValue(inner));
  add("out_hidden_size", WholeValue(out));
  add("depth", WholeValue(depth));
  add("in_channels", WholeValue(3));
  add("patch_size", WholeValue(16));
  add("temporal_patch_size", WholeValue(2));
  add("spatial_merge_size", WholeValue(2));
  add("num_position_embeddings", WholeValue(2304));
  add("deepstack_visual_indexes", NumberArray(std::vector<int64_t>(deep, 1)));
  tower.element_count = tower.elements.size();
  return tower;
}

TEST(VisionTower, IsCountedWhereItIsKnown) {
  const auto of = [](const ConfigValue& tower) {
    const auto model = ReadConfig(Wrapped("vision_config", tower), "config");
    EXPECT_THAT(model, IsOk());
    return model.ok() ? model->vision_parameters.value_or(-1) : -2;
  };
  EXPECT_EQ(of(TowerOf(1152, 4304, 5120, 27, 0)), 460'730'096);
  EXPECT_EQ(of(TowerOf(1024, 4096, 2048, 24, 3)), 406'957'056);
  EXPECT_EQ(of(ObjectValue()), -1);
  EXPECT_EQ(of(TowerOf(1024, 0, 2048, 24, 3)), -1);
}

}  // namespace
}  // namespace sextant
