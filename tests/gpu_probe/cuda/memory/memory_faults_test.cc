// Wrong results, and GPUs that vanish while their memory is measured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/reason.h"
#include "tests/gpu_probe/cuda/memory/measure_memory.h"
#include "tests/gpu_probe/failure_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// With a cache and a memory so small that the host's memory costs a test no time.
class MemoryFaultsTest : public MeasureMemoryTest {
 protected:
  static constexpr int64_t kSmallCapBytes = int64_t{256} << 20;
  static constexpr int kSmallCacheBytes = 16 << 20;

  MemoryFaultsTest() { gpu_.cache_bytes = kSmallCacheBytes; }
  SharedSession OpenSmall() { return OpenWithCap(kSmallCapBytes); }
};

// The name of the check in a mismatch.
std::string CheckOf(const absl::Status& status) {
  for (const auto& [key, value] : MetadataOf(status)) {
    if (key == "check") return value;
  }
  return "";
}

TEST_F(MemoryFaultsTest, EachCheckThatFindsSomethingEndsTheProbe) {
  // The fake checks report one element, number 7.
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"check_memory_pass", "memory"},
      {"check_memory_pass_read", "memory"},
      {"check_bits", "host_copy"},
      {"check_multiply_adds", "elementwise"},
      {"check_fusion", "fusion"}};
  for (const auto& [kernel, check] : cases) {
    gpu_.wrong_kernels = {kernel};
    const SharedSession session = OpenSmall();
    const absl::Status wrong = MeasureAll(v1::PROBE_MODE_STANDARD, session).status();
    EXPECT_EQ(wrong.code(), absl::StatusCode::kDataLoss) << kernel;
    EXPECT_EQ(FailureOf(wrong).kind(), v1::ProbeFailure::KIND_MISMATCH);
    EXPECT_THAT(std::string(wrong.message()), AllOf(HasSubstr("1 of "), HasSubstr(" 7")));
    EXPECT_EQ(CheckOf(wrong), check) << kernel;
    EXPECT_EQ(session->allocated_bytes(), 0) << kernel;
  }
}

TEST_F(MemoryFaultsTest, WrongCopiesInTheCacheAreTheCaches) {
  gpu_.wrong_kernels = {"check_memory_pass"};
  EXPECT_EQ(CheckOf(MeasureAll(v1::PROBE_MODE_STANDARD, OpenSmall(), "cache").status()), "cache");
}

TEST_F(MemoryFaultsTest, AMultiprocessorThatComputesWronglyIsNamed) {
  ASSERT_THAT(MeasureAll(v1::PROBE_MODE_STANDARD, OpenSmall(), "multiprocessor"), IsOk());
  for (const int multiprocessor : {0, 17, 131}) {
    gpu_.wrong_multiprocessor = multiprocessor;
    const absl::Status wrong =
        MeasureAll(v1::PROBE_MODE_STANDARD, OpenSmall(), "multiprocessor").status();
    EXPECT_THAT(wrong, FailsSaying(absl::StatusCode::kDataLoss,
                                   absl::StrCat("multiprocessor ", multiprocessor, " computed ")));
    EXPECT_EQ(CheckOf(wrong), "multiprocessor");
  }
}

TEST_F(MemoryFaultsTest, ABlockThatLeavesNothingIsFound) {
  host_.cuda.kernels["multiprocessor_hash"] = [](FakeGpu&, double, void**) { return 2e-5; };
  EXPECT_THAT(MeasureAll(v1::PROBE_MODE_STANDARD, OpenSmall(), "multiprocessor"),
              Says("block 0 left no result"));
}

TEST_F(MemoryFaultsTest, MultiprocessorsThatNoBlockRanOnAreToldOf) {
  gpu_.multiprocessors_in_use = 100;
  const auto measured = MeasureAll(v1::PROBE_MODE_STANDARD, OpenSmall(), "multiprocessor");
  ASSERT_THAT(measured, IsOk());
  ASSERT_EQ(measured->calibration.notes().size(), 1);
  EXPECT_THAT(measured->calibration.notes(0), HasSubstr("of 100 of 132 multiprocessors"));
}

TEST_F(MemoryFaultsTest, AKernelThatFailsEndsTheProbeWhicheverItIs) {
  std::set<std::string> kernels;
  gpu_.on_launch = [&](const std::string& kernel) { kernels.insert(kernel); };
  ASSERT_THAT(MeasureAll(v1::PROBE_MODE_FULL, OpenSmall()), IsOk());
  EXPECT_GE(kernels.size(), 27);
  kernels.erase("hold_stream");  // it runs as the session opens
  for (const std::string& fatal : kernels) {
    FakeGpu& gpu = gpu_;
    gpu.on_launch = [&gpu, fatal](const std::string& kernel) {
      if (kernel == fatal) gpu.cuda_code = 719;
    };
    SharedSession session = OpenSmall();
    const int64_t host_objects = host_.cuda.live_object_count();
    const absl::Status gone = MeasureAll(v1::PROBE_MODE_STANDARD, session).status();
    EXPECT_EQ(gone.code(), absl::StatusCode::kInternal) << fatal << ": " << gone;
    EXPECT_EQ(FailureOf(gone).reason(), "sticky") << fatal;
    EXPECT_EQ(session->allocated_bytes(), 0) << fatal;
    EXPECT_EQ(host_.cuda.live_object_count(), host_objects) << fatal << ": of the host's memory";
    gpu.cuda_code = 0;
  }
}

TEST_F(MemoryFaultsTest, AGpuThatVanishesAtAnyTimeEndsTheProbe) {
  ASSERT_THAT(MeasureAll(v1::PROBE_MODE_STANDARD, OpenSmall()), IsOk());
  const double whole_seconds = clock_.NowSeconds();
  for (int i = 0; i < 20; ++i) {
    FakeHost host(1);
    host.gpus.front().cache_bytes = kSmallCacheBytes;
    host.At(whole_seconds * (i + 0.5) / 20, [&host] { host.gpus.front().cuda_code = 999; });
    const CudaSystem system = host.System();
    auto gpus = ListGpus(system);
    ASSERT_THAT(gpus, IsOk());
    const SharedSession session = OpenParts({.driver = *system.driver,
                                             .gpu = gpus->front(),
                                             .memory_cap_bytes = kSmallCapBytes,
                                             .images = {{.name = "fake", .bytes = ""}}});
    ProbePlan plan;
    plan.points = GpuMemoryPoints(v1::PROBE_MODE_STANDARD, session);
    FakeHostClock clock(host);
    const auto gone =
        Measure(plan, {.budget_seconds = 5}, clock, [](const v1::ProbeProgress&) { return true; });
    EXPECT_EQ(gone.status().code(), absl::StatusCode::kInternal) << i;
    EXPECT_EQ(FailureOf(gone.status()).reason(), "cuda") << i;
  }
}

}  // namespace
}  // namespace sextant::probe
