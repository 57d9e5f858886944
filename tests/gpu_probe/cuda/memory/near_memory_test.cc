#include "gpu_probe/cuda/memory/near_memory.h"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace sextant {
namespace {

// The node that a folder with `content` as numa_node tells.
absl::optional<int> NodeOf(const std::string& content) {
  const std::string folder = ::testing::TempDir() + "/pci_devices";
  const std::string device = folder + "/0000:1a:00.0";
  (void)mkdir(folder.c_str(), 0700);
  (void)mkdir(device.c_str(), 0700);
  std::ofstream(device + "/numa_node") << content;
  return NumaNodeOf("0000:1A:00.0", folder);
}

TEST(NumaNodeTest, IsWhatTheSystemTellsOfThatDevice) {
  EXPECT_EQ(NodeOf("1\n"), 1);
  EXPECT_EQ(NodeOf("0\n"), 0);
  EXPECT_EQ(NodeOf("-1\n"), absl::nullopt);
  EXPECT_EQ(NodeOf(""), absl::nullopt);
  EXPECT_EQ(NodeOf("node\n"), absl::nullopt);
  EXPECT_EQ(NumaNodeOf("0000:1b:00.0", ::testing::TempDir()), absl::nullopt);
  EXPECT_EQ(NumaNodeOf(""), absl::nullopt);
}

int PolicyOfThisThread() {
  int mode = -1;
  return syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0) == 0 ? mode : -1;
}

TEST(PreferNodeTest, ChoosesTheNodeWhileItLives) {
  const int before = PolicyOfThisThread();
  {
    const PreferNode prefer(0);
    if (!prefer.active()) GTEST_SKIP() << "this system lets no process choose its nodes";
    EXPECT_EQ(PolicyOfThisThread(), MPOL_PREFERRED);
  }
  EXPECT_EQ(PolicyOfThisThread(), before);
}

TEST(PreferNodeTest, DoesNothingWithoutANodeOrWithOneThatCantBe) {
  for (const absl::optional<int> node :
       {absl::optional<int>(), absl::optional<int>(-1), absl::optional<int>(1 << 20)}) {
    const PreferNode prefer(node);
    EXPECT_FALSE(prefer.active());
  }
}

}  // namespace
}  // namespace sextant
