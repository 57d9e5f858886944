#include "gpu_probe/cuda/memory/memory_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "gpu_probe/cuda/memory/grid.h"
#include "tests/gpu_probe/cuda/memory/measure_memory.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMiB = int64_t{1} << 20;

using MemoryPointsTest = MeasureMemoryTest;

TEST_F(MemoryPointsTest, TheFakeGpusRatesComeOut) {
  const SharedSession session = Open();
  const auto measured = MeasureAll(v1::PROBE_MODE_STANDARD, session);
  ASSERT_THAT(measured, IsOk());
  const v1::Calibration& out = measured->calibration;
  EXPECT_THAT(out.notes(), IsEmpty());
  EXPECT_EQ(out.coverage_ratio(), 1);
  EXPECT_LE(session->peak_bytes(), kCapBytes);
  EXPECT_EQ(session->allocated_bytes(), 0);

  std::set<int> operations;
  for (const v1::StreamMeasurement& pass : out.streams()) {
    if (!pass.main_memory()) continue;
    operations.insert(pass.operation());
    // Starting a kernel takes 2 us.
    EXPECT_NEAR(pass.bytes_per_second() / gpu_.memory_bytes_per_second, 1, 0.02)
        << pass.ShortDebugString();
    EXPECT_GE(pass.array_bytes(), 4 * int64_t{gpu_.cache_bytes});
  }
  EXPECT_THAT(operations, ElementsAre(1, 2, 3, 4, 5));

  EXPECT_EQ(out.elementwise().size(), 8);
  EXPECT_NEAR(out.ridge_flops_per_byte(), gpu_.fp32_flops_per_second / gpu_.memory_bytes_per_second,
              0.5);
  EXPECT_EQ(out.fusion().operation_count(), 4);
  EXPECT_NEAR(out.fusion().speedup_ratio(), 3, 0.03);  // nine arrays moved, or three
  ASSERT_EQ(out.launches().size(), 2);
  EXPECT_NE(out.launches(0).kind(), out.launches(1).kind());
  for (const v1::LaunchMeasurement& launch : out.launches()) {
    EXPECT_NEAR(launch.time().median_seconds(), 2e-6, 1e-8);
  }
}

TEST_F(MemoryPointsTest, CopiesWithTheHostAreBothWaysAndOfBothKinds) {
  const auto measured = MeasureAll(v1::PROBE_MODE_FULL, Open(), "host_copy");
  ASSERT_THAT(measured, IsOk());
  std::map<int64_t, int> copies_of_size;
  for (const v1::HostCopyMeasurement& copy : measured->calibration.host_copies()) {
    ++copies_of_size[copy.size_bytes()];
    const double seconds =
        2e-6 + static_cast<double>(copy.size_bytes()) / gpu_.host_bytes_per_second;
    EXPECT_NEAR(copy.time().median_seconds() / seconds, 1, 1e-3) << copy.ShortDebugString();
    EXPECT_DOUBLE_EQ(copy.bytes_per_second() * copy.time().median_seconds(),
                     static_cast<double>(copy.size_bytes()));
  }
  const std::map<int64_t, int> expected = {
      {kMiB / 16, 4}, {kMiB, 4}, {16 * kMiB, 4}, {256 * kMiB, 4}};
  EXPECT_EQ(copies_of_size, expected);
}

TEST_F(MemoryPointsTest, AQuickProbeCopiesInMemoryAndWithTheHost) {
  const auto measured = MeasureAll(v1::PROBE_MODE_QUICK, Open());
  ASSERT_THAT(measured, IsOk());
  const v1::Calibration& out = measured->calibration;
  ASSERT_EQ(out.streams().size(), 1);
  EXPECT_EQ(out.streams(0).operation(), v1::StreamMeasurement::OPERATION_COPY);
  EXPECT_TRUE(out.streams(0).main_memory());
  ASSERT_EQ(out.host_copies().size(), 2);
  for (const v1::HostCopyMeasurement& copy : out.host_copies()) EXPECT_FALSE(copy.pageable());
  EXPECT_EQ(out.elementwise().size() + out.launches().size(), 0);
  EXPECT_LT(clock_.NowSeconds(), 0.5);
}

TEST_F(MemoryPointsTest, ArraysThatFourCachesHoldAreNotMemory) {
  const auto measured = MeasureAll(v1::PROBE_MODE_STANDARD, Open(), "cache");
  ASSERT_THAT(measured, IsOk());
  std::vector<int64_t> sizes;
  for (const v1::StreamMeasurement& pass : measured->calibration.streams()) {
    EXPECT_FALSE(pass.main_memory());
    sizes.push_back(pass.array_bytes());
  }
  // 256 MiB is more than four times the cache of 60 MiB.
  EXPECT_THAT(sizes, ElementsAre(kMiB / 16, kMiB / 4, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB));
}

TEST_F(MemoryPointsTest, WhereThreeArraysDontFitMemoryIsLeftOutWithANote) {
  const SharedSession session = OpenWithCap(512 * kMiB);
  const auto measured = MeasureAll(v1::PROBE_MODE_STANDARD, session);
  ASSERT_THAT(measured, IsOk());
  const v1::Calibration& out = measured->calibration;
  for (const v1::StreamMeasurement& pass : out.streams()) {
    EXPECT_FALSE(pass.main_memory());
    EXPECT_LE(2 * pass.array_bytes(), 512 * kMiB);
  }
  EXPECT_GT(out.streams().size(), 3);
  EXPECT_FALSE(out.has_fusion());
  EXPECT_EQ(out.elementwise().size(), 8) << "one array of 496 MiB does fit";
  EXPECT_EQ(out.elementwise(0).array_bytes(), 496 * kMiB);
  for (const v1::HostCopyMeasurement& copy : out.host_copies()) {
    EXPECT_LE(copy.size_bytes(), 64 * kMiB);
  }
  EXPECT_LT(out.coverage_ratio(), 1);
  ASSERT_GE(out.notes().size(), 2);
  EXPECT_THAT(out.notes(0), HasSubstr("was left out: needs 3 array(s) of 240.00 MiB"));
  EXPECT_LE(session->peak_bytes(), 512 * kMiB);
}

TEST_F(MemoryPointsTest, WithNextToNoMemoryAllThatIsLeftIsLaunches) {
  const auto measured = MeasureAll(v1::PROBE_MODE_STANDARD, OpenWithCap(kMiB));
  ASSERT_THAT(measured, IsOk());
  EXPECT_EQ(measured->calibration.streams().size(), 0);
  EXPECT_EQ(measured->calibration.host_copies().size(), 0);
  EXPECT_EQ(measured->calibration.launches().size(), 2);
  EXPECT_FALSE(measured->left_out.ok());
}

TEST_F(MemoryPointsTest, WhatIsMemoryFollowsTheCache) {
  const SharedSession session = Open();
  EXPECT_TRUE(IsMainMemory(240 * kMiB, *session));
  EXPECT_FALSE(IsMainMemory(240 * kMiB - 1, *session));
  const auto three = GpuArrayBytes({.array_count = 3, .wanted_bytes = 1 << 30}, *session);
  ASSERT_THAT(three, IsOk());
  EXPECT_EQ(*three, 677 * kMiB);
  EXPECT_EQ(*GpuArrayBytes({.array_count = 1, .wanted_bytes = kMiB}, *session), 240 * kMiB);

  gpu_.cache_bytes = 0;
  const SharedSession unknown = Open();
  EXPECT_FALSE(IsMainMemory(1023 * kMiB, *unknown));
  EXPECT_TRUE(IsMainMemory(1024 * kMiB, *unknown));
  EXPECT_EQ(GpuArrayBytes({.array_count = 2}, *unknown).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(MemoryPointsTest, GridsCoverSmallArraysAndFillTheGpu) {
  const SharedSession session = Open();
  EXPECT_EQ(GridOver(1, *session).block_count, 1);
  EXPECT_EQ(GridOver(257, *session).block_count, 2);
  EXPECT_EQ(GridOver(int64_t{1} << 40, *session).block_count, 132 * 6);
}

}  // namespace
}  // namespace sextant::probe
