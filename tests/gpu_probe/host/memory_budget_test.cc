#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>

#include "gpu_probe/host/host_context.h"
#include "tests/gpu_probe/failure_matchers.h"

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

}  // namespace
}  // namespace sextant::probe
