#include "gpu_probe/host/host_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/temporary_folder.h"

namespace sextant::probe {
namespace {

// A folder that stands for "/".
class PlantedRoot {
 public:
  void Plant(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = folder_.path() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const std::string& path() const { return folder_.path(); }

 private:
  const TemporaryFolder folder_;
};

TEST(HostFacts, OfAnEmptyRootAreAbsent) {
  const HostFacts facts = ReadHostFacts(PlantedRoot().path());
  EXPECT_FALSE(facts.memory_bytes.has_value());
  EXPECT_FALSE(facts.available_memory_bytes.has_value());
  EXPECT_FALSE(facts.core_quota.has_value());
  EXPECT_EQ(facts.machine_id, "");
}

TEST(HostFacts, OfAHostWithoutGroups) {
  const PlantedRoot root;
  root.Plant("/proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   400 kB\n");
  root.Plant("/etc/machine-id", "0123456789abcdef\n");
  const HostFacts facts = ReadHostFacts(root.path());
  EXPECT_EQ(facts.memory_bytes, 1000 * 1024);
  EXPECT_EQ(facts.available_memory_bytes, 400 * 1024);
  EXPECT_EQ(facts.machine_id, "0123456789abcdef");
}

TEST(LastLevelCache, IsAllThatTheCoresHaveTogether) {
  const PlantedRoot root;
  EXPECT_FALSE(LastLevelCacheBytes(root.path(), {0, 1}).has_value());
  for (int core = 0; core < 4; ++core) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cache/index";
    root.Plant(folder + "0/size", "32K\n");
    root.Plant(folder + "3/size", "32768K\n");
    root.Plant(folder + "3/shared_cpu_list", core < 2 ? "0-1\n" : "2-3\n");
  }
  EXPECT_EQ(LastLevelCacheBytes(root.path(), {0}), 32 << 20);
  EXPECT_EQ(LastLevelCacheBytes(root.path(), {0, 1}), 32 << 20);
  EXPECT_EQ(LastLevelCacheBytes(root.path(), {0, 1, 2, 3}), 64 << 20);
  EXPECT_EQ(LastLevelCacheBytes(root.path(), {1, 2, 9}), 64 << 20);
}

TEST(HostFacts, TheLowestLimitOfAllGroupsAboveHolds) {
  const PlantedRoot root;
  root.Plant("/proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n");
  root.Plant("/proc/self/cgroup", "0::/pod/container\n");
  root.Plant("/sys/fs/cgroup/pod/container/memory.max", "max\n");
  root.Plant("/sys/fs/cgroup/pod/container/cpu.max", "350000 100000\n");
  root.Plant("/sys/fs/cgroup/pod/memory.max", "1000000000\n");
  root.Plant("/sys/fs/cgroup/pod/memory.current", "300000000\n");
  root.Plant("/sys/fs/cgroup/pod/cpu.max", "max 100000\n");
  const HostFacts facts = ReadHostFacts(root.path());
  EXPECT_EQ(facts.memory_bytes, 1'000'000'000);
  EXPECT_EQ(facts.available_memory_bytes, 700'000'000);
  EXPECT_EQ(facts.core_quota, 3.5);
}

TEST(HostFacts, OfVersionOneGroups) {
  const PlantedRoot root;
  root.Plant("/proc/meminfo", "MemTotal: 8000000 kB\n");
  root.Plant("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n0::/\n");
  root.Plant("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "500000000\n");
  root.Plant("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.Plant("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "150000\n");
  root.Plant("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  root.Plant("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.Plant("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const HostFacts facts = ReadHostFacts(root.path());
  EXPECT_EQ(facts.memory_bytes, 500'000'000);
  EXPECT_EQ(facts.core_quota, 1.5);
}

TEST(HostFacts, AGroupThatHoldsMoreThanItsLimitHasNoRoom) {
  const PlantedRoot root;
  root.Plant("/proc/self/cgroup", "0::/g\n");
  root.Plant("/sys/fs/cgroup/g/memory.max", "1000\n");
  root.Plant("/sys/fs/cgroup/g/memory.current", "4000\n");
  EXPECT_EQ(ReadHostFacts(root.path()).available_memory_bytes, 0);
}

TEST(MeminfoBytes, ReadsOnlyWhatIsWhole) {
  EXPECT_EQ(MeminfoBytes("MemTotal: 2 kB\n", "MemTotal"), 2048);
  for (const char* text :
       {"", "MemTotal:", "MemTotal: 2", "MemTotal: -2 kB", "MemTotal: x kB", "MemTotal: 0 kB",
        "MemTotalX: 2 kB", "MemTotal: 2 MB", "MemTotal: 9223372036854775807 kB",
        "MemTotal: 99999999999999999999 kB"}) {
    EXPECT_FALSE(MeminfoBytes(text, "MemTotal").has_value()) << text;
  }
}

TEST(GroupLimits, AreAbsentWhereThereIsNone) {
  EXPECT_EQ(GroupLimitBytes("4096\n"), 4096);
  for (const char* text : {"", "max\n", "-1\n", "0\n", "9223372036854771712\n", "4096x"}) {
    EXPECT_FALSE(GroupLimitBytes(text).has_value()) << text;
  }
  EXPECT_EQ(GroupCoreQuota("50000 100000\n"), 0.5);
  for (const char* text : {"", "max 100000", "100000", "1 0", "-1 100000", "nan 1", "1 2 3"}) {
    EXPECT_FALSE(GroupCoreQuota(text).has_value()) << text;
  }
}

TEST(GroupPath, FindsTheControllersLine) {
  const char* const text = "5:cpu,cpuacct:/a\n4:memory:/b:c\n0::/d\n";
  EXPECT_EQ(GroupPath(text, "cpu"), "/a");
  EXPECT_EQ(GroupPath(text, "memory"), "/b:c");
  EXPECT_EQ(GroupPath(text, ""), "/d");
  EXPECT_EQ(GroupPath(text, "pids"), "");
  EXPECT_EQ(GroupPath("0::/../other\n", ""), "");
  EXPECT_EQ(GroupPath("damaged", ""), "");
}

TEST(CacheSizeBytes, KnowsItsUnits) {
  EXPECT_EQ(CacheSizeBytes("32768K\n"), 32 << 20);
  EXPECT_EQ(CacheSizeBytes("260M"), 260 << 20);
  EXPECT_EQ(CacheSizeBytes("512"), 512);
  for (const char* text : {"", "K", "-1K", "0K", "1T", "9223372036854775807M"}) {
    EXPECT_FALSE(CacheSizeBytes(text).has_value()) << text;
  }
}

TEST(UsableCores, AreAsManyAsTheQuotaPaysFor) {
  const PlantedRoot root;  // tells nothing of cores
  const size_t all = UsableCores(root.path(), {}).numbers.size();
  EXPECT_GE(all, 1u);
  EXPECT_TRUE(UsableCores(root.path(), {}).pinned);
  EXPECT_EQ(UsableCores(root.path(), 1.9).numbers.size(), 1u);
  EXPECT_EQ(UsableCores(root.path(), 0.25).numbers.size(), 1u);
  EXPECT_FALSE(UsableCores(root.path(), 0.25).pinned) << "other groups have shares as well";
  EXPECT_EQ(UsableCores(root.path(), 1e9).numbers.size(), all);
  EXPECT_TRUE(UsableCores(root.path(), 1e9).pinned);
}

TEST(UsableCores, CountThreadsOfOneCoreOnce) {
  const PlantedRoot root;
  const std::vector<int> processors = UsableCores(root.path(), {}).numbers;
  for (const int processor : processors) {
    root.Plant(
        absl::StrCat("/sys/devices/system/cpu/cpu", processor, "/topology/thread_siblings_list"),
        "0-9999\n");
  }
  EXPECT_THAT(UsableCores(root.path(), {}).numbers, ::testing::ElementsAre(processors.front()));
}

}  // namespace
}  // namespace sextant::probe
