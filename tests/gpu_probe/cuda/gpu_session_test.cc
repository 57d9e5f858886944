#include "gpu_probe/cuda/gpu_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_probe/cuda/gpu_check.h"
#include "gpu_probe/exit_code.h"
#include "tests/gpu_probe/cuda/fake_session.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

class GpuSessionTest : public FakeSessionTest {};

TEST_F(GpuSessionTest, MemoryIsTakenUnderTheCapAndGivenBack) {
  const SharedSession session = Open();
  {
    auto one = DeviceMemory::Allocate(session, kCapBytes - 512);
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(session->allocated_bytes(), kCapBytes - 512);
    const auto more = DeviceMemory::Allocate(session, 513);
    EXPECT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(more.status().message()), HasSubstr("of which 512 are left"));
    DeviceMemory moved = std::move(*one);
    EXPECT_EQ(session->allocated_bytes(), kCapBytes - 512);
  }
  EXPECT_EQ(session->allocated_bytes(), 0);
  EXPECT_EQ(session->peak_bytes(), kCapBytes - 512);
  EXPECT_EQ(host_.cuda.allocated_bytes(), 0);
}

TEST_F(GpuSessionTest, AGpuWithLessThanTheCapIsOutOfMemoryByItsOwnWord) {
  gpu_.memory.free = 1 << 20;
  const auto memory = DeviceMemory::Allocate(Open(), 2 << 20);
  EXPECT_EQ(FailureOf(memory.status()).reason(), "memory");
  EXPECT_THAT(std::string(memory.status().message()), HasSubstr("cuMemAlloc_v2 of 2097152 bytes"));
}

TEST_F(GpuSessionTest, NothingIsLeftWhenItIsClosed) {
  {
    const SharedSession session = Open();
    auto check = GpuCheck::Create(session);
    ASSERT_TRUE(check.ok());
  }
  EXPECT_EQ(host_.cuda.live_object_count(), 0);
  EXPECT_EQ(host_.cuda.allocated_bytes(), 0);
}

TEST_F(GpuSessionTest, ACheckTellsWhatTheKernelCounted) {
  const SharedSession session = Open();
  auto check = GpuCheck::Create(session);
  ASSERT_TRUE(check.ok());
  auto report = check->Run("check_something", {.block_count = 2}, int64_t{5});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->wrong_count, 0U);
  gpu_.wrong_kernels = {"check_something"};
  report = check->Run("check_something", {.block_count = 2}, int64_t{5});
  EXPECT_EQ(report->wrong_count, 1U);
  EXPECT_EQ(report->first_wrong, 7U);
}

// What each of CUDA's codes does to a session that is being opened, and to one that works.
TEST_F(GpuSessionTest, CodesKeepTheirMeaningWhereverTheyCome) {
  struct Case {
    int code;
    v1::ProbeFailure::Kind kind;
    const char* reason;
  };
  for (const Case& c : {Case{2, v1::ProbeFailure::KIND_REFUSED, "memory"},
                        Case{46, v1::ProbeFailure::KIND_REFUSED, "mode"},
                        Case{214, v1::ProbeFailure::KIND_MISMATCH, "ecc"},
                        Case{700, v1::ProbeFailure::KIND_INTERNAL, "sticky"},
                        Case{719, v1::ProbeFailure::KIND_INTERNAL, "sticky"},
                        Case{802, v1::ProbeFailure::KIND_UNSUPPORTED, "no_device"},
                        Case{803, v1::ProbeFailure::KIND_UNSUPPORTED, "mismatch"},
                        Case{999, v1::ProbeFailure::KIND_INTERNAL, "cuda"}}) {
    gpu_.cuda_code = 0;
    const SharedSession session = Open();
    gpu_.cuda_code = c.code;
    for (const absl::Status& status :
         {GpuSession::Open(Parts()).status(), session->Launch("some_kernel", {}),
          session->Synchronize(), session->Fill(1, 0, 1), session->MakeCurrent(),
          DeviceMemory::Allocate(session, 1024).status()}) {
      const v1::ProbeFailure failure = FailureOf(status);
      EXPECT_EQ(failure.kind(), c.kind) << c.code << " " << status;
      EXPECT_EQ(failure.reason(), c.reason) << c.code << " " << status;
    }
  }
  gpu_.cuda_code = 0;
}

TEST_F(GpuSessionTest, WithoutKernelsALaunchSaysSo) {
  GpuSession::Parts parts = Parts();
  parts.images.clear();
  parts.holds = false;
  const auto session = GpuSession::Open(std::move(parts));
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(std::string((*session)->Launch("some_kernel", {}).message()),
              HasSubstr("no kernel \"some_kernel\""));
}

}  // namespace
}  // namespace sextant
