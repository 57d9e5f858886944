#include "engine/framework/workspace.h"

#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

constexpr int64_t kMib = int64_t{1} << 20;

DeviceGeneration Of(const char* name) { return GenerationOf(AcceleratorNamed(name)->architecture); }

TEST(DeviceGeneration, OfTheCatalogueIsKnown) {
  EXPECT_EQ(Of("v100-sxm-32"), DeviceGeneration::kBeforeHopper);
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
