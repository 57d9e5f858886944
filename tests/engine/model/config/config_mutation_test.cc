// Broken copies of good configs: each is refused under its path, or read as a model of a possible
// size. Nothing crashes, and nothing takes long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/config/families.h"
#include "engine/model/config/read_config.h"
#include "tests/engine/model/config/small_configs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;

std::vector<ConfigValue> Values() {
  std::vector<ConfigValue> out = {
      {},
      {.kind = Kind::kBoolean, .boolean = true},
      {.kind = Kind::kBoolean},
      {.kind = Kind::kOtherNumber, .text = "8.0"},
      {.kind = Kind::kText, .text = "sliding_attention"},
      {.kind = Kind::kText, .text = ""},
      {.kind = Kind::kObject},
      TextArray({"full_attention", "sliding_attention"}),
      TextArray({"full_attention", "chunked_attention", "sliding_attention", "full_attention"}),
      NumberArray({0, 1, 1, 0}),
      NumberArray({-1, 1'000'000'000'000}),
      AttentionTypes({"local"}, 4),
      AttentionTypes({"local", "global"}, -1),
  };
  for (const int64_t number : {-1, 0, 1, 2, 3, 4, 5, 6, 8, 16, 999'999, 1'000'000, 10'000'000,
                               100'000'000, 1'000'000'000}) {
    out.push_back({.kind = Kind::kInteger, .integer = number});
  }
  out.push_back({.kind = Kind::kInteger, .integer = INT64_MAX});
  out.push_back({.kind = Kind::kInteger, .integer = INT64_MIN});
  return out;
}

// Names that the families read, of any of them.
std::vector<std::string> ReadNames() {
  std::vector<std::string> out = absl::StrSplit(
      "sliding_window sliding_window_pattern layer_types attention_types use_sliding_window "
      "max_window_layers mlp_only_layers moe_layers no_rope_layers attention_chunk_size "
      "decoder_sparse_step moe_layer_freq head_dim tie_word_embeddings architectures window_size "
      "num_nextn_predict_layers",
      ' ');
  for (const KnownName& family : KnownModelTypes()) {
    for (const auto& [name, value] : SmallConfig(family.name)) out.push_back(name);
  }
  return out;
}

void Mutate(ConfigFields& fields, std::mt19937& random) {
  static const std::vector<ConfigValue> values = Values();
  static const std::vector<std::string> names = ReadNames();
  const auto any = [&random](const auto& list) { return list[random() % list.size()]; };
  auto own = fields.begin();
  std::advance(own, random() % fields.size());
  switch (random() % 4) {
    case 0:
      fields.erase(own);
      break;
    case 1:
      fields[any(names)] = any(values);
      break;
    case 2:
      for (ConfigValue& element : own->second.elements) {
        const std::string name = element.name;
        element = any(values);
        element.name = name;
      }
      break;
    default:
      own->second = any(values);
  }
}

TEST(ConfigMutation, IsRefusedOrReadAsAPossibleModel) {
  std::mt19937 random(20261121);
  int read = 0;
  int refused = 0;
  const std::vector<KnownName> families = KnownModelTypes();
  for (int i = 0; i < 20'000; ++i) {
    ConfigFields fields = SmallConfig(families[random() % families.size()].name);
    for (auto times = 1 + random() % 3; times > 0 && !fields.empty(); --times) {
      Mutate(fields, random);
    }
    const auto model = ReadConfig(fields, "config");
    (model.ok() ? read : refused)++;
    if (!model.ok()) {
      const auto violations = FieldViolationsOf(model.status());
      EXPECT_FALSE(violations.empty());
      for (const FieldViolation& v : violations) {
        EXPECT_TRUE(absl::StartsWith(v.field, "config")) << v.field;
        // The engine's own words for a config's mistake would mean nothing to its writer.
        for (const char* own : {"layer_kinds", "config.decoder.", "config.encoder.",
                                "config.embedding.", "config.output."}) {
          EXPECT_FALSE(absl::StrContains(v.field, own)) << v.field << v.description;
        }
      }
      continue;
    }
    FieldViolations violations;
    CheckArchitecture(model->architecture, "m", violations);
    EXPECT_THAT(violations.ToStatus(), IsOk());
    const auto count = CountArchitecture(model->architecture, "m");
    ASSERT_THAT(count, IsOk());
    EXPECT_GT(count->all.total, 0);
    EXPECT_LE(count->all.active, count->all.total);
  }
  EXPECT_GT(read, 2000);
  EXPECT_GT(refused, 2000);
}

}  // namespace
}  // namespace sextant
