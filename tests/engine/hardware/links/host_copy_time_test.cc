#include <gtest/gtest.h>

#include "engine/hardware/links/host_copy_rate.h"

namespace sextant {
namespace {

const NodeType& Find(absl::string_view name) { return **FindNodeType(name); }

constexpr Bytes kGigabyte{1'000'000'000};

// 1 GB at 50 GB/s is 20 ms.
TEST(PinnedCopyTime, TakesAMeasuredRate) {
  const auto time = PinnedCopyTime(Find("dgx-h100"), kGigabyte, BytesPerSecond(50e9));
  ASSERT_TRUE(time.has_value());
  EXPECT_NEAR(time->expected.value(), 20e-3, 0.01e-3);
  EXPECT_EQ(time->basis, KernelBasis::kMeasuredRate);
}

// Rates that users of nvbandwidth published: A100 24.81 and 25.13 GB/s, H100 52.77 and 55.63.
TEST(PinnedCopyTime, HoldsPublishedRatesInItsInterval) {
  const struct {
    const char* node;
    double rate;
  } published[] = {
      {"dgx-a100", 24.81e9}, {"dgx-a100", 25.13e9}, {"dgx-h100", 52.77e9}, {"dgx-h100", 55.63e9}};
  for (const auto& row : published) {
    const auto time = PinnedCopyTime(Find(row.node), kGigabyte, {});
    ASSERT_TRUE(time.has_value());
    EXPECT_LE(time->low.value(), 1e9 / row.rate) << row.rate;
    EXPECT_GE(time->high.value(), 1e9 / row.rate) << row.rate;
    EXPECT_EQ(time->basis, KernelBasis::kDatasheet);
  }
}

TEST(PinnedCopyTime, IsAbsentWhereNobodyKnows) {
  EXPECT_FALSE(PinnedCopyTime(Find("gb200-nvl72"), kGigabyte, {}).has_value());
  EXPECT_TRUE(PinnedCopyTime(Find("gb200-nvl72"), kGigabyte, BytesPerSecond(1e11)).has_value());
}

TEST(PinnedCopyTime, GrowsWithBytesAndIsInOrder) {
  for (const NodeType& node : NodeTypes()) {
    Seconds before{};
    for (int64_t bytes = 0; bytes < int64_t{1} << 40; bytes = bytes * 3 + 1) {
      const auto time = PinnedCopyTime(node, Bytes(bytes), {});
      if (!time) continue;
      EXPECT_GT(time->expected, before);
      EXPECT_LE(time->low, time->expected);
      EXPECT_GE(time->high, time->expected);
      before = time->expected;
    }
  }
}

}  // namespace
}  // namespace sextant
