#include "gpu_probe/cuda/memory/host_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "gpu_probe/cuda/kernels.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/temporary_folder.h"

namespace sextant::probe {
namespace {

// Copies whose bytes really move: the fake GPU has the memory of small ones, and the test its
// kernels.

using Measured = v1::HostCopyMeasurement;

constexpr int64_t kCopyBytes = int64_t{64} << 10;

class HostCopiesTest : public FakeSessionTest {
 protected:
  template <typename T>
  static T Argument(void** arguments, int index) {
    return *static_cast<T*>(arguments[index]);
  }
  uint64_t* Words(void** arguments, int index) {
    return static_cast<uint64_t*>(host_.cuda.Memory(Argument<cuda::Address>(arguments, index)));
  }

  void SetUp() override {
    // Any function of the place will do.
    host_.cuda.kernels["fill_bits"] = [this](FakeGpu&, double, void** arguments) {
      uint64_t* const out = Words(arguments, 0);
      const uint64_t count = Argument<uint64_t>(arguments, 1);
      for (uint64_t i = 0; i < count; ++i) out[i] = (Argument<uint64_t>(arguments, 2) + i) * 12345;
      return 1e-6;
    };
    host_.cuda.kernels["check_bits"] = [this](FakeGpu&, double, void** arguments) {
      auto* const report = reinterpret_cast<GpuCheckReport*>(Words(arguments, 0));
      const uint64_t* const in = Words(arguments, 1);
      const uint64_t count = Argument<uint64_t>(arguments, 2);
      for (uint64_t i = count; i-- > 0;) {
        if (in[i] == (Argument<uint64_t>(arguments, 3) + i) * 12345) continue;
        ++report->wrong_count;
        report->first_wrong = i;
      }
      return 1e-6;
    };
    session_ = Open();
    auto buffers = HostCopyBuffers::Create(kCopyBytes, session_);
    ASSERT_THAT(buffers, IsOk());
    buffers_ = *std::move(buffers);
    for (const bool pageable : {false, true}) {
      ASSERT_THAT(buffers_->NeedHostMemory(pageable, kCopyBytes, session_), IsOk());
    }
  }
  std::unique_ptr<Workload> Copy(Measured::Direction direction, bool pageable) {
    return HostCopyWorkload(
        {.direction = direction, .pageable = pageable, .size_bytes = kCopyBytes}, buffers_,
        session_);
  }

  SharedSession session_;
  std::shared_ptr<HostCopyBuffers> buffers_;
};

TEST_F(HostCopiesTest, WhatArrivesIsRightAndWhatDoesNotIsFound) {
  for (const auto direction :
       {Measured::DIRECTION_HOST_TO_DEVICE, Measured::DIRECTION_DEVICE_TO_HOST}) {
    for (const bool pageable : {false, true}) {
      const auto copy = Copy(direction, pageable);
      copy->Poison();
      EXPECT_THAT(copy->Check(),
                  FailsSaying(absl::StatusCode::kDataLoss, "8192 of 8192 8-byte words are wrong"));
      ASSERT_THAT(copy->Run(3), IsOk());
      EXPECT_THAT(copy->Check(), IsOk());
      copy->Poison();
      ASSERT_THAT(copy->Run(100), IsOk());  // of pinned memory, recorded
      EXPECT_THAT(copy->Check(), IsOk());
    }
  }
}

TEST_F(HostCopiesTest, OneWrongBitOnTheHostIsFound) {
  const auto from_gpu = Copy(Measured::DIRECTION_DEVICE_TO_HOST, false);
  from_gpu->Poison();
  ASSERT_THAT(from_gpu->Run(1), IsOk());
  buffers_->host(false)[800] ^= 4;
  EXPECT_THAT(from_gpu->Check(),
              Says("1 of 8192 8-byte words are wrong, the first of them 8-byte word 100"));
}

TEST_F(HostCopiesTest, HostMemoryIsGivenBack) {
  const int64_t with = host_.cuda.live_object_count();
  buffers_.reset();
  EXPECT_EQ(host_.cuda.live_object_count(), with - 1) << "the pinned one";
  EXPECT_EQ(session_->allocated_bytes(), 0);
}

// The node that a folder with `content` as numa_node tells.
absl::optional<int> NodeOf(const std::string& content) {
  const TemporaryFolder folder;
  const std::string device = folder.File("0000:1a:00.0");
  (void)mkdir(device.c_str(), 0700);
  std::ofstream(device + "/numa_node") << content;
  return NumaNodeOf("0000:1A:00.0", folder.path());
}

TEST(NumaNodeTest, IsWhatTheSystemTellsOfThatDevice) {
  EXPECT_EQ(NodeOf("1\n"), 1);
  EXPECT_EQ(NodeOf("0\n"), 0);
  EXPECT_EQ(NodeOf("-1\n"), absl::nullopt);
  EXPECT_EQ(NodeOf(""), absl::nullopt);
  EXPECT_EQ(NodeOf("node\n"), absl::nullopt);
  EXPECT_EQ(NumaNodeOf("0000:1b:00.0", TemporaryFolder().path()), absl::nullopt);
  EXPECT_EQ(NumaNodeOf(""), absl::nullopt);
}

int PolicyOfThisThread() {
  int mode = -1;
  return syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0) == 0 ? mode : -1;
}

bool MayChooseNodes() {
  const unsigned long first_node = 1;
  syscall(SYS_set_mempolicy, MPOL_PREFERRED, &first_node, 64);
  const bool may = PolicyOfThisThread() == MPOL_PREFERRED;
  syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
  return may;
}

TEST(PreferNodeTest, ChoosesTheNodeWhileItLives) {
  if (!MayChooseNodes()) GTEST_SKIP() << "this system lets no process choose its nodes";
  const int before = PolicyOfThisThread();
  {
    const PreferNode prefer(0);
    EXPECT_EQ(PolicyOfThisThread(), MPOL_PREFERRED);
  }
  EXPECT_EQ(PolicyOfThisThread(), before);
}

TEST(PreferNodeTest, DoesNothingWithoutANodeOrWithOneThatCantBe) {
  for (const absl::optional<int> node :
       {absl::optional<int>(), absl::optional<int>(-1), absl::optional<int>(1 << 20)}) {
    const int before = PolicyOfThisThread();
    const PreferNode prefer(node);
    EXPECT_EQ(PolicyOfThisThread(), before);
  }
}

}  // namespace
}  // namespace sextant::probe
