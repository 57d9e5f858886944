#include "gpu_probe/cuda/memory/memory_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpu_probe/cuda/memory/grid.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMiB = int64_t{1} << 20;

class MemoryPointsTest : public FakeSessionTest {
 protected:
  // The points of `phase`, or all where it is empty.
  absl::StatusOr<Measurement> MeasureAll(v1::ProbeMode mode, const SharedSession& session,
                                         const std::string& phase = "") {
    ProbePlan plan;
    plan.points = GpuMemoryPoints(mode, session);
    plan.finish = SummariseGpuMemory;
    if (!phase.empty()) {
      plan.points.erase(std::remove_if(plan.points.begin(), plan.points.end(),
                                       [&](const Point& point) { return point.phase != phase; }),
                        plan.points.end());
    }
    return MeasurePlan(plan);
  }
};

TEST_F(MemoryPointsTest, TheFakeGpusRatesComeOut) {
  const SharedSession session = Open();
  const v1::Calibration out = MeasureAll(v1::PROBE_MODE_STANDARD, session).value().calibration;
  EXPECT_THAT(out.notes(), IsEmpty());
  EXPECT_EQ(out.coverage_ratio(), 1);
  EXPECT_LE(session->peak_bytes(), kCapBytes);
  EXPECT_EQ(session->allocated_bytes(), 0);

  std::set<int> operations;
  for (const v1::StreamMeasurement& pass : out.streams()) {
    if (!pass.main_memory()) continue;
    operations.insert(pass.operation());
    // Starting a kernel takes 2 us.
    EXPECT_NEAR(pass.bytes_per_second() / gpu_.memory_bytes_per_second, 1, 0.02)
        << pass.ShortDebugString();
    EXPECT_GE(pass.array_bytes(), 4 * int64_t{gpu_.cache_bytes});
  }
  EXPECT_THAT(operations, ElementsAre(1, 2, 3, 4, 5));

  EXPECT_EQ(out.elementwise().size(), 8);
  EXPECT_NEAR(out.ridge_flops_per_byte(), gpu_.fp32_flops_per_second / gpu_.memory_bytes_per_second,
              0.5);
  EXPECT_EQ(out.fusion().operation_count(), 4);
  EXPECT_NEAR(out.fusion().speedup_ratio(), 3, 0.03);  // nine arrays moved, or three
  ASSERT_EQ(out.launches().size(), 2);
  EXPECT_NE(out.launches(0).kind(), out.launches(1).kind());
  for (const v1::LaunchMeasurement& launch : out.launches()) {
    EXPECT_NEAR(launch.time().median_seconds(), 2e-6, 1e-8);
  }
}

TEST_F(MemoryPointsTest, CopiesWithTheHostAreBothWaysAndOfBothKinds) {
  const auto measured = MeasureAll(v1::PROBE_MODE_FULL, Open(), "host_copy").value();
  std::map<int64_t, int> copies_of_size;
  for (const v1::HostCopyMeasurement& copy : measured.calibration.host_copies()) {
    ++copies_of_size[copy.size_bytes()];
    const double seconds =
        2e-6 + static_cast<double>(copy.size_bytes()) / gpu_.host_bytes_per_second;
    EXPECT_NEAR(copy.time().median_seconds() / seconds, 1, 1e-3) << copy.ShortDebugString();
    EXPECT_DOUBLE_EQ(copy.bytes_per_second() * copy.time().median_seconds(),
                     static_cast<double>(copy.size_bytes()));
  }
  const std::map<int64_t, int> expected = {
      {kMiB / 16, 4}, {kMiB, 4}, {16 * kMiB, 4}, {256 * kMiB, 4}};
  EXPECT_EQ(copies_of_size, expected);
}

TEST_F(MemoryPointsTest, AQuickProbeCopiesInMemoryAndWithTheHost) {
  const v1::Calibration out = MeasureAll(v1::PROBE_MODE_QUICK, Open()).value().calibration;
  ASSERT_EQ(out.streams().size(), 1);
  EXPECT_EQ(out.streams(0).operation(), v1::StreamMeasurement::OPERATION_COPY);
  EXPECT_TRUE(out.streams(0).main_memory());
  ASSERT_EQ(out.host_copies().size(), 2);
  for (const v1::HostCopyMeasurement& copy : out.host_copies()) EXPECT_FALSE(copy.pageable());
  EXPECT_EQ(out.elementwise().size() + out.launches().size(), 0);
  EXPECT_LT(clock_.NowSeconds(), 0.5);
}

TEST_F(MemoryPointsTest, ArraysThatFourCachesHoldAreNotMemory) {
  const auto measured = MeasureAll(v1::PROBE_MODE_STANDARD, Open(), "cache").value();
  std::vector<int64_t> sizes;
  for (const v1::StreamMeasurement& pass : measured.calibration.streams()) {
    EXPECT_FALSE(pass.main_memory());
    sizes.push_back(pass.array_bytes());
  }
  // 256 MiB is more than four times the cache of 60 MiB.
  EXPECT_THAT(sizes, ElementsAre(kMiB / 16, kMiB / 4, kMiB, 4 * kMiB, 16 * kMiB, 64 * kMiB));
}

TEST_F(MemoryPointsTest, WhereThreeArraysDontFitMemoryIsLeftOutWithANote) {
  const SharedSession session = Open(512 * kMiB);
  const v1::Calibration out = MeasureAll(v1::PROBE_MODE_STANDARD, session).value().calibration;
  for (const v1::StreamMeasurement& pass : out.streams()) {
    EXPECT_FALSE(pass.main_memory());
    EXPECT_LE(2 * pass.array_bytes(), 512 * kMiB);
  }
  EXPECT_GT(out.streams().size(), 3);
  EXPECT_FALSE(out.has_fusion());
  EXPECT_EQ(out.elementwise().size(), 8) << "one array of 496 MiB does fit";
  EXPECT_EQ(out.elementwise(0).array_bytes(), 496 * kMiB);
  for (const v1::HostCopyMeasurement& copy : out.host_copies()) {
    EXPECT_LE(copy.size_bytes(), 64 * kMiB);
  }
  EXPECT_LT(out.coverage_ratio(), 1);
  ASSERT_GE(out.notes().size(), 2);
  EXPECT_THAT(out.notes(0), HasSubstr("was left out: needs 3 array(s) of 240.00 MiB"));
  EXPECT_LE(session->peak_bytes(), 512 * kMiB);
}

TEST_F(MemoryPointsTest, WithNextToNoMemoryAllThatIsLeftIsLaunches) {
  const auto measured = MeasureAll(v1::PROBE_MODE_STANDARD, Open(kMiB)).value();
  EXPECT_EQ(measured.calibration.streams().size(), 0);
  EXPECT_EQ(measured.calibration.host_copies().size(), 0);
  EXPECT_EQ(measured.calibration.launches().size(), 2);
  EXPECT_FALSE(measured.left_out.ok());
}

TEST_F(MemoryPointsTest, WhatIsMemoryFollowsTheCache) {
  const SharedSession session = Open();
  EXPECT_TRUE(IsMainMemory(240 * kMiB, *session));
  EXPECT_FALSE(IsMainMemory(240 * kMiB - 1, *session));
  const auto three = GpuArrayBytes({.array_count = 3, .wanted_bytes = 1 << 30}, *session).value();
  EXPECT_EQ(three, 677 * kMiB);
  EXPECT_EQ(*GpuArrayBytes({.array_count = 1, .wanted_bytes = kMiB}, *session), 240 * kMiB);

  gpu_.cache_bytes = 0;
  const SharedSession unknown = Open();
  EXPECT_FALSE(IsMainMemory(1023 * kMiB, *unknown));
  EXPECT_TRUE(IsMainMemory(1024 * kMiB, *unknown));
  EXPECT_EQ(GpuArrayBytes({.array_count = 2}, *unknown).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(MemoryPointsTest, GridsCoverSmallArraysAndFillTheGpu) {
  const SharedSession session = Open();
  EXPECT_EQ(GridOver(1, *session).block_count, 1);
  EXPECT_EQ(GridOver(257, *session).block_count, 2);
  EXPECT_EQ(GridOver(int64_t{1} << 40, *session).block_count, 132 * 6);
}

// Wrong results, and GPUs that vanish while their memory is measured. With a cache and a memory so
// small that the host's memory costs a test no time.
class MemoryFaultsTest : public MemoryPointsTest {
 protected:
  static constexpr int64_t kSmallCapBytes = int64_t{256} << 20;
  static constexpr int kSmallCacheBytes = 16 << 20;

  MemoryFaultsTest() { gpu_.cache_bytes = kSmallCacheBytes; }
  SharedSession OpenSmall() { return Open(kSmallCapBytes); }
};

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
    EXPECT_THAT(MeasureAll(v1::PROBE_MODE_STANDARD, session),
                AllOf(IsFailure(v1::ProbeFailure::KIND_MISMATCH, check, "1 of "), Says(" 7")))
        << kernel;
    EXPECT_EQ(session->allocated_bytes(), 0) << kernel;
  }
}

TEST_F(MemoryFaultsTest, WrongCopiesInTheCacheAreTheCaches) {
  gpu_.wrong_kernels = {"check_memory_pass"};
  EXPECT_THAT(MeasureAll(v1::PROBE_MODE_STANDARD, OpenSmall(), "cache"),
              IsFailure(v1::ProbeFailure::KIND_MISMATCH, "cache"));
}

TEST_F(MemoryFaultsTest, AMultiprocessorThatComputesWronglyIsNamed) {
  ASSERT_THAT(MeasureAll(v1::PROBE_MODE_STANDARD, OpenSmall(), "multiprocessor"), IsOk());
  for (const int multiprocessor : {0, 17, 131}) {
    gpu_.wrong_multiprocessor = multiprocessor;
    EXPECT_THAT(MeasureAll(v1::PROBE_MODE_STANDARD, OpenSmall(), "multiprocessor"),
                IsFailure(v1::ProbeFailure::KIND_MISMATCH, "multiprocessor",
                          absl::StrCat("multiprocessor ", multiprocessor, " computed ")));
  }
}

TEST_F(MemoryFaultsTest, ABlockThatLeavesNothingIsFound) {
  host_.cuda.kernels["multiprocessor_hash"] = [](FakeGpu&, double, void**) { return 2e-5; };
  EXPECT_THAT(MeasureAll(v1::PROBE_MODE_STANDARD, OpenSmall(), "multiprocessor"),
              Says("block 0 left no result"));
}

TEST_F(MemoryFaultsTest, MultiprocessorsThatNoBlockRanOnAreToldOf) {
  gpu_.multiprocessors_in_use = 100;
  const auto measured = MeasureAll(v1::PROBE_MODE_STANDARD, OpenSmall(), "multiprocessor").value();
  ASSERT_EQ(measured.calibration.notes().size(), 1);
  EXPECT_THAT(measured.calibration.notes(0), HasSubstr("of 100 of 132 multiprocessors"));
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
    EXPECT_THAT(gone, IsFailure(v1::ProbeFailure::KIND_INTERNAL, "sticky")) << fatal;
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
    auto gpus = ListGpus(system).value();
    const SharedSession session = OpenParts({.driver = *system.driver,
                                             .gpu = gpus.front(),
                                             .memory_cap_bytes = kSmallCapBytes,
                                             .images = {{.name = "fake", .bytes = ""}}});
    ProbePlan plan;
    plan.points = GpuMemoryPoints(v1::PROBE_MODE_STANDARD, session);
    FakeHostClock clock(host);
    const auto gone =
        Measure(plan, {.budget_seconds = 5}, clock, [](const v1::ProbeProgress&) { return true; });
    EXPECT_THAT(gone, IsFailure(v1::ProbeFailure::KIND_INTERNAL, "cuda")) << i;
  }
}

}  // namespace
}  // namespace sextant::probe
