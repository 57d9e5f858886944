#include "engine/hardware/links/host_copy_rate.h"

#include <gtest/gtest.h>

#include <vector>

namespace sextant {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;
constexpr NodeType kNode = {.name = "any", .product_name = "any"};

// 5 us, and then 50 GB/s: both far from PCIe's own.
MeasuredHostCopy Copy(int64_t bytes) {
  return {.direction = HostCopyDirection::kToDevice,
          .bytes = bytes,
          .time = Seconds(5e-6 + static_cast<double>(bytes) / 50e9)};
}

TEST(HostCopyRate, IsThatOfTheLargestCopyWithoutItsLatency) {
  const std::vector<MeasuredHostCopy> copies = {Copy(64 * kMebibyte), Copy(256 * kMebibyte),
                                                Copy(16 * kMebibyte)};
  const auto rate = HostCopyRate(copies, HostCopyDirection::kToDevice);
  ASSERT_TRUE(rate.has_value());
  EXPECT_NEAR(rate->value(), 50e9, 1);
  // A copy that was not measured comes out as it was made.
  const auto time = PinnedCopyTime(kNode, Bytes(100 * kMebibyte), rate);
  ASSERT_TRUE(time.has_value());
  EXPECT_NEAR(time->expected.value(), Copy(100 * kMebibyte).time.value(), 1e-9);
  EXPECT_EQ(time->basis, KernelBasis::kMeasuredRate);
}

TEST(HostCopyRate, IsOfPinnedMemoryAndOfOneDirection) {
  MeasuredHostCopy pageable = Copy(512 * kMebibyte);
  pageable.pageable = true;
  pageable.time = Seconds(1);
  MeasuredHostCopy back = Copy(64 * kMebibyte);
  back.direction = HostCopyDirection::kFromDevice;
  back.time = Seconds(5e-6 + static_cast<double>(64 * kMebibyte) / 25e9);
  const std::vector<MeasuredHostCopy> copies = {pageable, Copy(32 * kMebibyte), back};
  EXPECT_NEAR(HostCopyRate(copies, HostCopyDirection::kToDevice)->value(), 50e9, 1);
  EXPECT_NEAR(HostCopyRate(copies, HostCopyDirection::kFromDevice)->value(), 25e9, 1);
}

TEST(HostCopyRate, IsAbsentWithoutALargeCopy) {
  const std::vector<MeasuredHostCopy> small = {Copy(16 * kMebibyte - 1)};
  EXPECT_FALSE(HostCopyRate(small, HostCopyDirection::kToDevice).has_value());
  EXPECT_FALSE(HostCopyRate({}, HostCopyDirection::kToDevice).has_value());
}

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
