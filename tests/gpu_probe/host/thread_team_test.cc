#include "gpu_probe/host/thread_team.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gpu_probe/host/host_facts.h"
#include "tests/gpu_probe/host/test_host.h"

namespace sextant::probe {
namespace {

TEST(ThreadTeam, RunsEachPlaceOncePerTask) {
  for (const int size : {1, 2, 3, 8}) {
    const auto team = UnpinnedTeam(size);
    ASSERT_EQ(team->size(), size);
    std::vector<int> counts(static_cast<size_t>(size), 0);
    for (int task = 0; task < 1000; ++task) {
      team->Run([&](int index) { ++counts[static_cast<size_t>(index)]; });
    }
    EXPECT_EQ(counts, std::vector<int>(static_cast<size_t>(size), 1000));
  }
}

TEST(ThreadTeam, PlacesRunAtTheSameTime) {
  const auto team = UnpinnedTeam(4);
  std::atomic<int> arrived = 0;
  team->Run([&](int) {
    ++arrived;
    while (arrived < 4) std::this_thread::yield();  // ends only if all four are here
  });
  EXPECT_EQ(arrived, 4);
}

TEST(ThreadTeam, TheCallersCoresAreAsBefore) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  const auto team = ThreadTeam::Create(UsableCores("", {})).value();
  team->Run([](int) {});
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(PartOf, CoversEveryThingOnceInWholeBlocks) {
  for (const int64_t count : {0, 1, 7, 64, 65, 1000, 4097}) {
    for (const int size : {1, 2, 3, 7, 100}) {
      for (const int64_t block : {1, 8, 512}) {
        int64_t end = 0;
        for (int i = 0; i < size; ++i) {
          const Part part = PartOf(count, i, size, block);
          EXPECT_EQ(part.begin, end);
          EXPECT_TRUE(part.begin % block == 0 || part.begin == count);
          end = part.end;
        }
        EXPECT_EQ(end, count);
      }
    }
  }
}

TEST(PartOf, DoesNotOverflow) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  EXPECT_EQ(PartOf(kHuge, 6, 7, 1).end, kHuge);
}

}  // namespace
}  // namespace sextant::probe
