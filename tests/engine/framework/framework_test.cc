// The table of frameworks: every cell that says something has a source, and the cells that plans
// depend on the most are as the frameworks' code has them.
#include "engine/framework/framework.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/framework/recipe.h"
#include "engine/framework/workspace.h"
#include "engine/hardware/catalogue.h"
#include "engine/model/presets/presets.h"

namespace sextant {
namespace {

using ::testing::Not;
using ::testing::StrEq;

TEST(FrameworkTable, IsInTheOrderOfTheEnum) {
  std::set<std::string> names;
  for (int i = 0; i < kFrameworkCount; ++i) {
    const FrameworkTraits& traits = TraitsOf(static_cast<Framework>(i));
    EXPECT_EQ(traits.kind, static_cast<Framework>(i));
    names.insert(std::string(traits.name));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kFrameworkCount));
}

TEST(FrameworkTable, ItsDefaultsHaveSources) {
  for (int i = 0; i < kFrameworkCount; ++i) {
    const FrameworkTraits& t = TraitsOf(static_cast<Framework>(i));
    for (const absl::string_view source :
         {t.weights.source, t.gradients.source, t.zero_stage.source, t.loss.source,
          t.gradient_lifetime.source, t.reduction.source, t.reserve.source, t.max_zero_stage.source,
          t.pipeline.source, t.schedules.source}) {
      EXPECT_THAT(std::string(source), Not(StrEq(""))) << t.name;
    }
  }
}

// An interval has its expected value inside, and a spread.
TEST(FrameworkTable, IntervalsAreIntervals) {
  for (int i = 0; i < kFrameworkCount; ++i) {
    const FrameworkTraits& t = TraitsOf(static_cast<Framework>(i));
    for (const Interval<double>& share :
         {t.reserve.value.uncounted, t.reserve.value.fragmentation}) {
      EXPECT_LE(share.low, share.expected) << t.name;
      EXPECT_LE(share.expected, share.high) << t.name;
      EXPECT_LT(share.low, share.high) << t.name;
    }
  }
}

// Each but Moonlight's, which has no preset, is the recipe of a preset; another framework, a part
// that is frozen and another depth have none.
TEST(Recipes, AreFoundByTheShapeOfTheModel) {
  constexpr Framework kBridge = Framework::kMegatronBridge;
  std::set<std::string> found;
  for (const ModelPreset& preset : ModelPresets()) {
    const Recipe* const recipe = FindRecipe(kBridge, preset.architecture);
    if (recipe == nullptr) continue;
    found.insert(std::string(recipe->name));
    EXPECT_EQ(FindRecipe(Framework::kMegatronLm, preset.architecture), nullptr);
    ArchitectureSpec changed = preset.architecture;
    changed.base_frozen = true;
    EXPECT_EQ(FindRecipe(kBridge, changed), nullptr) << preset.name;
    changed = preset.architecture;
    ++changed.decoder.layers.back().count;
    EXPECT_EQ(FindRecipe(kBridge, changed), nullptr) << preset.name;
  }
  EXPECT_EQ(found,
            (std::set<std::string>{"deepseek_v3", "gpt3_175b", "nemotron_3_nano", "olmoe_7b"}));
}

// Megatron-LM adds bf16 gradients up in fp32 and pads its vocabulary; DeepSpeed does neither;
// PyTorch's frameworks keep fp32 weights, which are the optimizer's.
TEST(FrameworkTable, HasTheTypesOfState) {
  const FrameworkTraits& megatron = TraitsOf(Framework::kMegatronLm);
  EXPECT_EQ(megatron.gradients.value, StateType::kFp32UnderBf16);
  EXPECT_EQ(megatron.vocabulary_multiple.value, 128);
  EXPECT_EQ(megatron.zero_stage.value, ZeroStage::kNone);
  const FrameworkTraits& bridge = TraitsOf(Framework::kMegatronBridge);
  EXPECT_EQ(bridge.vocabulary_multiple.value, 0);
  EXPECT_EQ(bridge.zero_stage.value, ZeroStage::kOptimizer);
  EXPECT_EQ(TraitsOf(Framework::kDeepSpeed).gradients.value, StateType::kAsComputed);
  for (const Framework framework :
       {Framework::kPytorchFsdp, Framework::kTorchtitan, Framework::kLlmFoundry,
        Framework::kHuggingFaceTrainer, Framework::kPytorchDdp}) {
    EXPECT_EQ(TraitsOf(framework).weights.value, StateType::kFp32) << TraitsOf(framework).name;
  }
}

constexpr int64_t kMib = int64_t{1} << 20;

DeviceGeneration Of(const char* name) { return GenerationOf(AcceleratorNamed(name)->architecture); }

TEST(DeviceGeneration, OfTheCatalogueIsKnown) {
  EXPECT_EQ(Of("v100-sxm-32"), DeviceGeneration::kBeforeAmpere);
  EXPECT_EQ(Of("a100-sxm-80"), DeviceGeneration::kBeforeHopper);
  EXPECT_EQ(Of("l40s"), DeviceGeneration::kBeforeHopper);
  EXPECT_EQ(Of("h200-sxm"), DeviceGeneration::kHopper);
  EXPECT_EQ(Of("b200-sxm"), DeviceGeneration::kBlackwell);
  EXPECT_EQ(Of("gb300"), DeviceGeneration::kBlackwell);
  EXPECT_EQ(Of("mi300x"), DeviceGeneration::kAmdCdna3);
  EXPECT_EQ(GenerationOf("Etna"), DeviceGeneration::kUnknown);
}

// Two of PyTorch's: 8,519,680 bytes each on an A100, 32 MiB on an H100.
TEST(Workspace, IsPytorchsForEachThread) {
  EXPECT_EQ(WorkspaceOf({.generation = DeviceGeneration::kBeforeHopper}), Bytes(2 * 8'519'680));
  EXPECT_EQ(WorkspaceOf({.generation = DeviceGeneration::kHopper}), Bytes(64 * kMib));
  EXPECT_EQ(WorkspaceOf({}), Bytes(64 * kMib));
  EXPECT_EQ(WorkspaceOf({.generation = DeviceGeneration::kBeforeHopper, .deterministic = true}),
            Bytes(64 * kMib));
  EXPECT_EQ(WorkspaceOf({.generation = DeviceGeneration::kAmdCdna3}), Bytes(256 * kMib));
}

// And Transformer Engine's: 4 MiB before Hopper, 32 MiB from then on, five where experts are
// multiplied in groups.
TEST(Workspace, OfTransformerEngineComesOnTop) {
  const auto engine = [](DeviceGeneration generation, bool grouped) {
    const Bytes all = WorkspaceOf(
        {.generation = generation, .transformer_engine = true, .grouped_experts = grouped});
    return all - WorkspaceOf({.generation = generation});
  };
  EXPECT_EQ(engine(DeviceGeneration::kBeforeHopper, false), Bytes(4 * kMib));
  EXPECT_EQ(engine(DeviceGeneration::kBeforeHopper, true), Bytes(20 * kMib));
  EXPECT_EQ(engine(DeviceGeneration::kHopper, false), Bytes(32 * kMib));
  EXPECT_EQ(engine(DeviceGeneration::kBlackwell, true), Bytes(160 * kMib));
}

}  // namespace
}  // namespace sextant
