// Layouts that don't fit a model are refused, with the name of the invalid field.
#include "engine/model/sharding/parallel_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using L = ParallelLayout;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

absl::Status CheckLayoutOf(const ArchitectureSpec& spec, const ParallelLayout& layout) {
  FieldViolations violations;
  CheckLayout(spec, layout, "layout", violations);
  return violations.ToStatus();
}

// 4 query heads and 2 key heads, feed-forward 32, vocabulary 100, 12 layers.
ArchitectureSpec Deep() {
  ArchitectureSpec spec = SmallDecoder();
  spec.decoder.layers = {{0, 12}};
  return spec;
}

TEST(CheckLayout, PassesWhatFits) {
  EXPECT_THAT(CheckLayoutOf(Deep(), {}), IsOk());
  EXPECT_THAT(CheckLayoutOf(Deep(), {.tensor_parallel_size = 4}), IsOk());  // two ranks a key head
  EXPECT_THAT(CheckLayoutOf(Deep(), {.pipeline_parallel_size = 3, .virtual_stage_count = 4}),
              IsOk());
  EXPECT_THAT(CheckLayoutOf(Deep(), {.pipeline_parallel_size = 2, .layers_per_chunk = {12, 0}}),
              IsOk());
  EXPECT_THAT(
      CheckLayoutOf(SmallMixture(), {.expert_parallel_size = 4, .expert_tensor_parallel_size = 3}),
      IsOk());
  EXPECT_THAT(CheckLayoutOf(SmallEncoderDecoder(), {.pipeline_parallel_size = 2}), IsOk());
}

TEST(CheckLayout, NamesTheFieldAtFault) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const struct {
    ArchitectureSpec spec;
    ParallelLayout layout;
    const char* field;
  } faults[] = {
      {Deep(), {.tensor_parallel_size = 0}, "layout.tensor_parallel_size"},
      {Deep(), {.tensor_parallel_size = -1}, "layout.tensor_parallel_size"},
      {Deep(), {.tensor_parallel_size = kMax}, "layout.tensor_parallel_size"},
      {Deep(), {.pipeline_parallel_size = kMax}, "layout.pipeline_parallel_size"},
      {Deep(), {.pipeline_parallel_size = 5}, "layout.pipeline_parallel_size"},
      {Deep(), {.pipeline_parallel_size = 24}, "layout.pipeline_parallel_size"},
      {Deep(),
       {.pipeline_parallel_size = 2, .virtual_stage_count = 4},
       "layout.pipeline_parallel_size"},
      {Deep(), {.virtual_stage_count = 0}, "layout.virtual_stage_count"},
      {Deep(), {.virtual_stage_count = 2}, "layout.virtual_stage_count"},
      {Deep(),
       {.pipeline_parallel_size = 4096, .virtual_stage_count = 4096},
       "layout.virtual_stage_count"},
      {SmallEncoderDecoder(),
       {.pipeline_parallel_size = 2, .virtual_stage_count = 2, .layers_per_chunk = {1, 1, 0, 0}},
       "layout.virtual_stage_count"},
      {Deep(), {.layers_per_chunk = {6, 6}}, "layout.layers_per_chunk"},
      {Deep(),
       {.pipeline_parallel_size = 2, .layers_per_chunk = {6, 5}},
       "layout.layers_per_chunk"},
      {Deep(),
       {.pipeline_parallel_size = 2, .layers_per_chunk = {-1, 13}},
       "layout.layers_per_chunk[0]"},
      {Deep(), {.expert_parallel_size = 2}, "layout.expert_parallel_size"},
      {Deep(), {.expert_tensor_parallel_size = 2}, "layout.expert_tensor_parallel_size"},
      {SmallMixture(), {.expert_parallel_size = 3}, "layout.expert_parallel_size"},
      {SmallMixture(), {.expert_tensor_parallel_size = 2}, "layout.expert_tensor_parallel_size"},
      {SmallMixture(), {.tensor_parallel_size = 2}, "layout.tensor_parallel_size"},
  };
  for (const auto& fault : faults) {
    EXPECT_THAT(CheckLayoutOf(fault.spec, fault.layout), NamesFields(ElementsAre(fault.field)));
  }
}

TEST(CheckLayout, NamesAllFaultsAtOnce) {
  EXPECT_THAT(
      CheckLayoutOf(
          SmallMixture(),
          {.tensor_parallel_size = 3, .pipeline_parallel_size = 3, .expert_parallel_size = 3}),
      NamesFields(ElementsAre("layout.tensor_parallel_size",  // 4 heads
                              "layout.tensor_parallel_size",  // 100 rows of vocabulary
                              "layout.expert_parallel_size", "layout.pipeline_parallel_size")));
}

std::string AdviceOn(const ArchitectureSpec& spec, const ParallelLayout& layout) {
  return std::string(CheckLayoutOf(spec, layout).message());
}

TEST(CheckLayout, SaysWhatToWriteInstead) {
  ArchitectureSpec spec = Deep();
  spec.layer_kinds[0].attention->head_count = 12;
  spec.layer_kinds[0].attention->key_value_head_count = 2;
  // 8 divides 32 but not 12; of what is below it, 4 divides both and is a multiple of 2.
  EXPECT_THAT(AdviceOn(spec, {.tensor_parallel_size = 8}),
              HasSubstr("dense.attention.head_count (12), which 8 does not: write 4"));
  // 6 divides 12 heads and is a multiple of 2, but doesn't divide 32.
  EXPECT_THAT(AdviceOn(spec, {.tensor_parallel_size = 6}),
              HasSubstr("dense.feed_forward.size (32), which 6 does not: write 4"));
  spec.layer_kinds[0].attention->key_value_head_count = 3;
  EXPECT_THAT(AdviceOn(spec, {.tensor_parallel_size = 4}),
              HasSubstr("must divide or be a multiple of dense.attention.key_value_head_count (3), "
                        "which 4 does not: write 1"));
  EXPECT_THAT(AdviceOn(Deep(), {.pipeline_parallel_size = 5}),
              HasSubstr("must divide the 12 layers, which 5 does not: write 4, or say how many go "
                        "where in layers_per_chunk: such as 2 chunks of 3 and 3 of 2"));
  spec = Deep();
  spec.embedding.vocabulary_size = 1001;  // 1024 = 4 x 128 x 2
  EXPECT_THAT(AdviceOn(spec, {.tensor_parallel_size = 4}),
              HasSubstr("such as to 1024, by model.changes.vocabulary_multiple "));
  spec.embedding.padded_vocabulary_size = 1024;
  EXPECT_THAT(CheckLayoutOf(spec, {.tensor_parallel_size = 4}), IsOk());
}

// Four ranks of two key heads of size 2: halves are of a feature each, quarters aren't.
TEST(CheckLayout, SplitsKeyHeadsIntoWholeRows) {
  ArchitectureSpec spec = Deep();
  L layout = {.tensor_parallel_size = 4, .split_key_value_heads = true};
  EXPECT_THAT(CheckLayoutOf(spec, layout), IsOk());
  spec.layer_kinds[0].attention->key_value_head_count = 1;
  EXPECT_THAT(CheckLayoutOf(spec, layout), NamesFields(ElementsAre("layout.tensor_parallel_size")));
  layout.split_key_value_heads = false;
  EXPECT_THAT(CheckLayoutOf(spec, layout), IsOk());
}

// Where ranks don't outnumber the heads, each has whole ones of its own.
TEST(CheckLayout, RefusesToSplitHeadsThatAreWhole) {
  L layout = {.tensor_parallel_size = 4, .split_key_value_heads = true};
  for (const int64_t ranks : {1, 2}) {
    layout.tensor_parallel_size = ranks;
    EXPECT_THAT(CheckLayoutOf(Deep(), layout),
                NamesFields(ElementsAre("layout.split_key_value_heads")));
  }
  EXPECT_THAT(
      AdviceOn(Deep(), layout),
      HasSubstr("where tensor_parallel_size (2) doesn't exceed the heads of keys and values "
                "(2): leave it out, or write a tensor_parallel_size above these"));
  // Among several kinds of layers one suffices.
  ArchitectureSpec spec = Deep();
  spec.layer_kinds.push_back(spec.layer_kinds[0]);
  spec.layer_kinds[1].name = "narrow";
  spec.layer_kinds[1].attention->key_value_head_count = 1;
  EXPECT_THAT(CheckLayoutOf(spec, layout), IsOk());
  // Latents are whole on every rank, and heads of latent attention as many as queries'.
  spec = Deep();
  spec.layer_kinds[0].attention->key_value_head_count = 4;
  spec.layer_kinds[0].attention->latent = LatentSpec{.key_value_rank = 2};
  EXPECT_THAT(CheckLayoutOf(spec, layout),
              NamesFields(ElementsAre("layout.split_key_value_heads")));
}

// No number of stages below helps where layers are prime, or fewer than stages.
TEST(CheckLayout, SaysWhatHelpsWhereNoSizeDivides) {
  ArchitectureSpec spec = Deep();
  spec.decoder.layers = {{0, 61}};
  EXPECT_THAT(AdviceOn(spec, {.pipeline_parallel_size = 16}),
              HasSubstr("must divide the 61 layers, which 16 does not: say how many go where in "
                        "layers_per_chunk: such as 13 chunks of 4 and 3 of 3"));
  EXPECT_THAT(AdviceOn(spec, {.pipeline_parallel_size = 2, .virtual_stage_count = 2}),
              HasSubstr("change one of them, or say how many go where in layers_per_chunk: such as "
                        "1 chunks of 16 and 3 of 15"));
  spec.decoder.layers = {{0, 1}};
  EXPECT_THAT(AdviceOn(spec, {.pipeline_parallel_size = 2}),
              HasSubstr("such as 1 chunks of 1 and 1 of 0"));
}

// A list of chunks says itself of how many stages it is.
TEST(CheckLayout, SaysWhichStagesAListIsOf) {
  EXPECT_THAT(AdviceOn(Deep(), {.layers_per_chunk = {4, 4, 4}}),
              HasSubstr("must have 1 numbers, one for each chunk, not 3: or write "
                        "pipeline_parallel_size 3, whose chunks these are"));
  const std::string odd = AdviceOn(
      Deep(),
      {.pipeline_parallel_size = 2, .virtual_stage_count = 2, .layers_per_chunk = {4, 4, 4}});
  EXPECT_THAT(odd, HasSubstr("must have 4 numbers, one for each chunk, not 3"));
  EXPECT_THAT(odd, Not(HasSubstr("whose chunks")));
}

// Shared experts are cut as one, so that two of size 3 divide by 2.
TEST(CheckLayout, CutsSharedExpertsTogether) {
  ArchitectureSpec spec = SmallMixture();
  ExpertsSpec& experts = *spec.layer_kinds[0].experts;
  experts.shared_expert_count = 2;
  experts.shared_expert = Gated(3);
  const L layout = {.tensor_parallel_size = 2, .expert_tensor_parallel_size = 1};
  EXPECT_THAT(CheckLayoutOf(spec, layout), IsOk());
  experts.shared_expert_count = 1;
  EXPECT_THAT(CheckLayoutOf(spec, layout), NamesFields(ElementsAre("layout.tensor_parallel_size")));
}

TEST(CheckLayout, LooksAtMultiTokenPrediction) {
  ArchitectureSpec spec = SmallDecoder();
  spec.hidden_size = 6;
  EXPECT_THAT(CheckLayoutOf(spec, {.tensor_parallel_size = 4}), IsOk());
  spec.multi_token_prediction = MultiTokenPredictionSpec{.module_count = 1};
  EXPECT_THAT(CheckLayoutOf(spec, {.tensor_parallel_size = 4}),
              NamesFields(ElementsAre("layout.tensor_parallel_size")));
}

}  // namespace
}  // namespace sextant
