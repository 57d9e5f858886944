#include "tests/validation/megatron_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "tests/support/status_matchers.h"
#include "tests/validation/megatron_model.h"
#include "tests/validation/python_list.h"

namespace sextant {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::ParallelLayout LayoutOf(const std::string& arguments) {
  return MegatronLayout(MegatronArguments::Parse(arguments).value()).value();
}

TEST(PythonList, RepeatsAndJoins) {
  EXPECT_THAT(PythonList("([0]*3+[1]*2)").value(), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(PythonList("([1]+[0, 2]) * 2").value(), ElementsAre(1, 0, 2, 1, 0, 2));
  EXPECT_THAT(PythonList("[]").value(), IsEmpty());
  for (const char* wrong : {"", "3", "[1", "[1]*", "([1]", "[1]]", "[a]", "[1]*999999999"}) {
    EXPECT_FALSE(PythonList(wrong).ok()) << wrong;
  }
}

TEST(MegatronLayout, ExpertsStandInEachNthLayerOrWhereAListSays) {
  EXPECT_THAT(ExpertLayers("2", 4).value(), ElementsAre(true, false, true, false));
  EXPECT_THAT(ExpertLayers("([0]*1+[1]*2)", 3).value(), ElementsAre(false, true, true));
  EXPECT_FALSE(ExpertLayers("([0]*1+[1]*2)", 4).ok());
}

TEST(MegatronLayout, WrittenLayoutsAreReadChunkByChunk) {
  // E t t t | t t | | t t | | m L
  EXPECT_THAT(LayersPerChunk("Et*3|(tt|)*2mL").value(), ElementsAre(3, 2, 2, 0));
  EXPECT_THAT(LayersPerChunk("E|t*2,|(t|)*2L").value(), ElementsAre(0, 2, 1, 1, 0));
  for (const char* wrong : {"Ex|t", "*3", "t*", "t*99999"}) {
    EXPECT_FALSE(LayersPerChunk(wrong).ok()) << wrong;
  }
}

TEST(MegatronLayout, ChunksFollowTheirArguments) {
  const v1::ParallelLayout virtual_stages = LayoutOf(
      R"json({"num-layers": 12, "pipeline-model-parallel-size": 4,
              "num-layers-per-virtual-pipeline-stage": 1})json");
  EXPECT_EQ(virtual_stages.virtual_stage_count(), 3);
  EXPECT_THAT(virtual_stages.layers_per_chunk(), IsEmpty());

  // 6 layers, an embedding and a loss: one each for 8 chunks.
  const v1::ParallelLayout with_ends = LayoutOf(
      R"json({"num-layers": 6, "pipeline-model-parallel-size": 4,
              "num-virtual-stages-per-pipeline-rank": 2,
              "account-for-embedding-in-pipeline-split": true,
              "account-for-loss-in-pipeline-split": true})json");
  EXPECT_THAT(with_ends.layers_per_chunk(), ElementsAre(0, 1, 1, 1, 1, 1, 1, 0));

  const v1::ParallelLayout written = LayoutOf(
      R"json({"num-layers": 7, "pipeline-model-parallel-size": 2,
              "pipeline-model-parallel-layout": "Et*3|(tt|)*2mL"})json");
  EXPECT_EQ(written.virtual_stage_count(), 2);
  EXPECT_THAT(written.layers_per_chunk(), ElementsAre(3, 2, 2, 0));
}

TEST(MegatronLayout, ExpertRanksNeedExperts) {
  const char* const kRanks =
      R"json({"num-layers": 2, "expert-model-parallel-size": 4,
              "expert-tensor-parallel-size": 2%s})json";
  EXPECT_FALSE(LayoutOf(absl::StrReplaceAll(kRanks, {{"%s", ""}})).has_expert_parallel_size());
  const v1::ParallelLayout experts =
      LayoutOf(absl::StrReplaceAll(kRanks, {{"%s", R"json(, "num-experts": 8)json"}}));
  EXPECT_EQ(experts.expert_parallel_size(), 4);
  EXPECT_EQ(experts.expert_tensor_parallel_size(), 2);
}

TEST(MegatronLayout, WhatDoesntDivideIsRefused) {
  for (const char* wrong : {R"json({"num-layers": 10, "pipeline-model-parallel-size": 4,
                "num-layers-per-virtual-pipeline-stage": 2})json",
                            R"json({"num-layers": 7, "pipeline-model-parallel-size": 4,
                "account-for-loss-in-pipeline-split": true,
                "num-virtual-stages-per-pipeline-rank": 3})json",
                            R"json({"num-layers": 8, "pipeline-model-parallel-size": 2,
                "pipeline-model-parallel-layout": "Et*3|t*4L"})json"}) {
    EXPECT_FALSE(MegatronLayout(MegatronArguments::Parse(wrong).value()).ok()) << wrong;
  }
}

}  // namespace
}  // namespace sextant
