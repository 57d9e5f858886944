#include "gpu_probe/host/host_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/host/test_host.h"

namespace sextant::probe {
namespace {

TEST(MemoryBudget, CountsWhatIsHeld) {
  MemoryBudget budget(10'000);
  {
    const Buffer first = *budget.Allocate(6000);
    EXPECT_EQ(budget.used_bytes(), 6000);
    EXPECT_EQ(first.size_bytes(), 6000);
    EXPECT_EQ(first.As<char>()[5999], 0);
    const auto second = budget.Allocate(4001);
    EXPECT_THAT(second, FailsSaying(absl::StatusCode::kResourceExhausted, "4001 bytes"));
    EXPECT_THAT(second, Says("4000 of the 10000"));
  }
  EXPECT_EQ(budget.used_bytes(), 0);
  EXPECT_TRUE(budget.Allocate(10'000).ok());
}

TEST(MemoryBudget, MovedBuffersAreFreedOnce) {
  MemoryBudget budget(10'000);
  {
    Buffer first = *budget.Allocate(4000);
    first.As<char>()[7] = 'x';
    Buffer second = std::move(first);
    EXPECT_EQ(second.As<char>()[7], 'x');
    first = *budget.Allocate(2000);
    EXPECT_EQ(budget.used_bytes(), 6000);
  }
  EXPECT_EQ(budget.used_bytes(), 0);
}

TEST(MemoryBudget, RefusesWhatNoSystemHas) {
  MemoryBudget budget(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(budget.Allocate(int64_t{1} << 60).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(budget.Allocate(0).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(budget.Allocate(-1).status().code(), absl::StatusCode::kInternal);
}

TEST(ArrayBytes, AreAMultipleOfTheCacheAndAtLeastTheMinimum) {
  const SharedContext context = SmallHost();  // 1 MiB of cache, 64 MiB in all
  EXPECT_EQ(*ArrayBytes({}, *context), 4 << 20);
  EXPECT_EQ(*ArrayBytes({.cache_multiple = 2}, *context), 2 << 20);
  EXPECT_EQ(*ArrayBytes({.minimum_bytes = 10 << 20}, *context), 10 << 20);
}

TEST(ArrayBytes, TakeWhatTheCapAllowsOfTheMinimum) {
  const SharedContext context = SmallHost();
  EXPECT_EQ(*ArrayBytes({.array_count = 3, .minimum_bytes = int64_t{1} << 30}, *context),
            (64 << 20) / 3 / 4096 * 4096);
}

TEST(ArrayBytes, AreRefusedWhereACacheCouldHoldThem) {
  const SharedContext context = SmallHost();
  context->cache_bytes = 8 << 20;
  EXPECT_THAT(ArrayBytes({.array_count = 3}, *context),
              FailsSaying(absl::StatusCode::kResourceExhausted, "3 arrays of 33554432 bytes"));
  context->cache_bytes = {};
  EXPECT_EQ(ArrayBytes({}, *context).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ArrayBytes, AreOneGibWhereTheCacheIsUnknown) {
  const SharedContext context = SmallHost(/*thread_count=*/1, /*cap_bytes=*/int64_t{4} << 30);
  context->cache_bytes = {};
  EXPECT_EQ(*ArrayBytes({}, *context), int64_t{1} << 30);
}

TEST(AddNote, SaysNothingTwice) {
  v1::Calibration calibration;
  AddNote("a", &calibration);
  AddNote("b", &calibration);
  AddNote("a", &calibration);
  EXPECT_EQ(calibration.notes_size(), 2);
}

}  // namespace
}  // namespace sextant::probe
