#include "gpu_probe/host/host_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/host/test_host.h"

namespace sextant::probe {
namespace {

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

}  // namespace
}  // namespace sextant::probe
