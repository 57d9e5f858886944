// Totals as files have them, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/presets/presets.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

std::map<std::string, int64_t> TotalsOf(absl::string_view name) {
  const auto preset = FindModelPreset(name);
  EXPECT_THAT(preset, IsOk());
  std::map<std::string, int64_t> out;
  if (!preset.ok()) return out;
  const ModelPreset& model = **preset;
  for (const PublishedTotal& total :
       PublishedTotalsOf(model.architecture, model.checked->count())) {
    out[std::string(total.name)] = total.parameter_count;
  }
  return out;
}

// The published totals: GLM-4.5's files hold copies, GLM-4.6's do not.
TEST(PublishedTotals, OfFilesWithModules) {
  const auto glm = TotalsOf("glm-4.5");
  EXPECT_EQ(glm.at("with_copies"), 358'337'791'296);
  EXPECT_EQ(glm.at("all"), 356'785'898'816);
  EXPECT_EQ(glm.at("main_model"), 352'797'829'024);
  EXPECT_EQ(glm.at("with_copied_embeddings"), 356'785'898'816 + 151'552 * int64_t{5'120});
  EXPECT_EQ(glm.at("with_copied_heads"), glm.at("with_copied_embeddings"));
  // 89 layers and a module, 160 experts each.
  EXPECT_EQ(glm.at("without_corrections"), 356'785'898'816 - 90 * 160);
  EXPECT_EQ(TotalsOf("deepseek-v3").at("with_copies"), 684'489'845'504);
}

// GLM-5's files hold 57 indexers more than GLM-5.2's: 753'864'139'008 and 753'329'940'480. Here,
// the second of two layers of a small model shares one of 8 x 5 + 4 x 8 + 8 + 2 x 8.
TEST(PublishedTotals, OfSharedIndexers) {
  ArchitectureSpec spec = SmallDecoder();
  spec.layer_kinds[0].attention = Heads(4, 4, 2);
  spec.layer_kinds[0].attention->latent = LatentSpec{
      .query_rank = 5, .key_value_rank = 3, .rotary_size = 1, .indexer = IndexerSpec{2, 4, 3}};
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "shared";
  spec.layer_kinds[1].attention->latent->indexer->shared = true;
  spec.decoder.layers = {{0, 1}, {1, 1}};
  const auto count = CountArchitecture(spec, "m");
  ASSERT_THAT(count, IsOk());
  const std::vector<PublishedTotal> totals = PublishedTotalsOf(spec, *count);
  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[1].name, "with_own_indexers");
  EXPECT_EQ(totals[1].parameter_count - totals[0].parameter_count, 40 + 32 + 8 + 16);
}

TEST(PublishedTotals, OfOthersAreOne) {
  EXPECT_THAT(TotalsOf("llama-3.1-8b"),
              ::testing::ElementsAre(::testing::Pair("all", 8'030'261'248)));
}

}  // namespace
}  // namespace sextant
