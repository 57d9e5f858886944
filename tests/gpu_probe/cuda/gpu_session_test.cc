#include "gpu_probe/cuda/gpu_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/gpu_probe/failure_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;

class GpuSessionTest : public FakeSessionTest {};

TEST_F(GpuSessionTest, MemoryIsTakenUnderTheCapAndGivenBack) {
  const SharedSession session = Open();
  {
    auto one = DeviceMemory::Allocate(session, kCapBytes - 512).value();
    EXPECT_EQ(session->allocated_bytes(), kCapBytes - 512);
    const auto more = DeviceMemory::Allocate(session, 513);
    EXPECT_THAT(more, FailsSaying(absl::StatusCode::kResourceExhausted, "of which 512 are left"));
    DeviceMemory moved = std::move(one);
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
  EXPECT_THAT(memory, Says("cuMemAlloc_v2 of 2097152 bytes"));
}

TEST_F(GpuSessionTest, NothingIsLeftWhenItIsClosed) {
  {
    const SharedSession session = Open();
    auto check = GpuCheck::Create(session).value();
  }
  EXPECT_EQ(host_.cuda.live_object_count(), 0);
  EXPECT_EQ(host_.cuda.allocated_bytes(), 0);
}

TEST_F(GpuSessionTest, ACheckTellsWhatTheKernelCounted) {
  const SharedSession session = Open();
  auto check = GpuCheck::Create(session).value();
  auto report = check.Run("check_something", {.block_count = 2}, int64_t{5});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->wrong_count, 0U);
  gpu_.wrong_kernels = {"check_something"};
  report = check.Run("check_something", {.block_count = 2}, int64_t{5});
  EXPECT_EQ(report->wrong_count, 1U);
  EXPECT_EQ(report->first_wrong, 7U);
}

// The effect of each of CUDA's codes on a session that is being opened, and on a working one.
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
      EXPECT_THAT(status, IsFailure(c.kind, c.reason)) << c.code << " " << status;
    }
  }
  gpu_.cuda_code = 0;
}

// Opens sessions with a driver that answers each image with a code of its own.
class KernelLoadingTest : public FakeSessionTest {
 protected:
  absl::Status OpenWith(std::vector<KernelImage> images, const std::map<std::string, int>& codes) {
    GpuSession::Parts parts = Parts();
    parts.images = std::move(images);
    tried_.clear();
    parts.driver.load_module = [this, &codes, load = parts.driver.load_module](cuda::Module* module,
                                                                               const void* bytes) {
      tried_.emplace_back(static_cast<const char*>(bytes));
      const auto known = codes.find(tried_.back());
      return known != codes.end() ? known->second : load(module, bytes);
    };
    return GpuSession::Open(std::move(parts)).status();
  }

  const std::vector<KernelImage> two_files_ = {{"a", "a current", 13000},
                                               {"a", "a portable", 11080},
                                               {"b", "b current", 13000},
                                               {"b", "b portable", 11080}};
  std::vector<std::string> tried_;
};

TEST_F(KernelLoadingTest, OneImageOfEachFileIsLoadedTheFirstThatTheDriverTakes) {
  EXPECT_THAT(OpenWith(two_files_, {}), IsOk());
  EXPECT_THAT(tried_, ElementsAre("a current", "b current"));
  for (const int code : {200, 209, 218, 222}) {
    EXPECT_THAT(OpenWith(two_files_, {{"a current", code}}), IsOk());
    EXPECT_THAT(tried_, ElementsAre("a current", "a portable", "b current")) << code;
  }
  EXPECT_EQ(host_.cuda.live_object_count(), 0);
}

TEST_F(KernelLoadingTest, TheLastCodeIsTheError) {
  const absl::Status status = OpenWith(two_files_, {{"b current", 209}, {"b portable", 218}});
  EXPECT_THAT(tried_, ElementsAre("a current", "b current", "b portable"));
  EXPECT_EQ(FailureOf(status).reason(), "driver_too_old");
  EXPECT_THAT(status, Says("cuModuleLoadData of b: CUDA's error 218"));
}

TEST_F(KernelLoadingTest, AFaultOfTheGpuIsNotTakenForAnImageThatItCannotRun) {
  for (const int code : {2, 214, 700, 999}) {
    EXPECT_THAT(OpenWith(two_files_, {{"a current", code}}), Says(absl::StrCat("error ", code)));
    EXPECT_THAT(tried_, ElementsAre("a current"));
  }
}

TEST_F(KernelLoadingTest, ImagesForNewerDriversAreNotTried) {
  host_.cuda_version = 12080;
  EXPECT_THAT(OpenWith(two_files_, {}), IsOk());
  EXPECT_THAT(tried_, ElementsAre("a portable", "b portable"));
  // The only one there is: its driver has the last word.
  EXPECT_THAT(OpenWith({{"a", "a current", 13000}}, {}), IsOk());
  EXPECT_THAT(tried_, ElementsAre("a current"));
}

TEST_F(GpuSessionTest, WithoutKernelsALaunchSaysSo) {
  GpuSession::Parts parts = Parts();
  parts.images.clear();
  parts.holds = false;
  const auto session = GpuSession::Open(std::move(parts)).value();
  EXPECT_THAT(session->Launch("some_kernel", {}), Says("no kernel \"some_kernel\""));
}

}  // namespace
}  // namespace sextant::probe
