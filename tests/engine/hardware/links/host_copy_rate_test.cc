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

}  // namespace
}  // namespace sextant
