// A session's memory and the kernels of memory/ on a real GPU, against double precision on the
// host.
#include <cmath>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/memory/grid.h"
#include "gpu_probe/cuda/memory/memory_points.h"
#include "gpu_probe/cuda/memory/multiprocessors.h"
#include "gpu_probe/fusion_chain.h"
#include "gpu_probe/measure.h"
#include "gpu_probe/point.h"
#include "tests/gpu/on_gpu.h"

namespace sextant::probe {
namespace {

constexpr uint64_t kVectors = 100'003;  // leaves tails of each kind
constexpr uint64_t kCount = 4 * kVectors;
constexpr uint64_t kSeedA = 5;
constexpr uint64_t kSeedB = 500'000'000;
constexpr float kScalar = 3;

class MemoryGpuTest : public OnGpuTest {
 protected:
  void SetUp() override {
    OnGpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto check = GpuCheck::Create(session_);
    ASSERT_TRUE(check.ok()) << check.status();
    check_ = std::make_unique<GpuCheck>(*std::move(check));
  }
  LaunchShape Shape() const { return GridOver(kVectors, *session_); }

  // kCount numbers of `scale` times whole ones.
  DeviceMemory Whole(uint64_t seed, float scale = 1) {
    DeviceMemory memory = Allocate(kCount * sizeof(float));
    Launch("fill_whole_fp32", memory.address(), kCount, seed, scale);
    return memory;
  }
  DeviceMemory Poisoned() {
    DeviceMemory memory = Allocate(kCount * sizeof(float));
    EXPECT_EQ(session_->Fill(memory.address(), 0xFF, memory.size_bytes()), absl::OkStatus());
    return memory;
  }
  template <typename... Arguments>
  void Launch(const std::string& kernel, Arguments... arguments) {
    EXPECT_EQ(session_->Launch(kernel.c_str(), Shape(), arguments...), absl::OkStatus());
  }
  template <typename... Arguments>
  uint64_t WrongCount(const char* kernel, Arguments... arguments) {
    const auto report = check_->Run(kernel, Shape(), arguments...);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? report->wrong_count : ~uint64_t{0};
  }
  void Write(const DeviceMemory& to, uint64_t element, float value) {
    EXPECT_EQ(session_->CopyToDevice(to.address() + element * sizeof(float), &value, sizeof(value)),
              absl::OkStatus());
  }

  std::unique_ptr<GpuCheck> check_;
};

TEST_F(MemoryGpuTest, StreamsAreExactAndTheirCheckFindsOneWrongElement) {
  const DeviceMemory a = Whole(kSeedA);
  const DeviceMemory b = Whole(kSeedB);
  const std::vector<float> host_a = Read<float>(a, kCount);
  const std::vector<float> host_b = Read<float>(b, kCount);
  struct Case {
    const char* kernel;
    float added, of_a, of_b;
  };
  for (const Case& c :
       {Case{"memory_pass_copy", 0, 1, 0}, Case{"memory_pass_scale", 0, kScalar, 0},
        Case{"memory_pass_triad", 0, 1, kScalar}, Case{"memory_pass_write", kScalar, 0, 0}}) {
    const DeviceMemory out = Poisoned();
    const std::string kernel = c.kernel;
    if (kernel == "memory_pass_copy") Launch(kernel, out.address(), a.address(), kVectors);
    if (kernel == "memory_pass_scale")
      Launch(kernel, out.address(), a.address(), kVectors, kScalar);
    if (kernel == "memory_pass_write") Launch(kernel, out.address(), kVectors, kScalar);
    if (kernel == "memory_pass_triad") {
      Launch(kernel, out.address(), a.address(), b.address(), kVectors, kScalar);
    }
    const std::vector<float> got = Read<float>(out, kCount);
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(double{got[i]}, c.added + double{c.of_a} * host_a[i] + double{c.of_b} * host_b[i])
          << kernel << " " << i;
    }
    const auto wrong_count = [&] {
      return WrongCount("check_memory_pass", out.address(), kCount, kSeedA, kSeedB, c.added, c.of_a,
                        c.of_b);
    };
    EXPECT_EQ(wrong_count(), 0) << kernel;
    Write(out, kCount - 1, got[kCount - 1] + 1);
    EXPECT_EQ(wrong_count(), 1) << kernel;
  }
}

TEST_F(MemoryGpuTest, SumsOfReadsAreThoseOfTheHost) {
  const DeviceMemory a = Whole(kSeedA);
  const size_t thread_count = size_t{Shape().block_count} * Shape().thread_count;
  const DeviceMemory sums = Allocate(thread_count * sizeof(uint32_t));
  Launch("memory_pass_read", sums.address(), a.address(), kVectors);
  uint32_t expected = 0;
  for (const uint32_t bits : Read<uint32_t>(a, kCount)) expected += bits;
  uint32_t sum = 0;
  for (const uint32_t part : Read<uint32_t>(sums, thread_count)) sum += part;
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(WrongCount("check_memory_pass_read", sums.address(), kVectors, kSeedA), 0);
  Write(sums, 77, 1);
  EXPECT_EQ(WrongCount("check_memory_pass_read", sums.address(), kVectors, kSeedA), 1);
}

TEST_F(MemoryGpuTest, MultiplyAddsAreThoseOfDoublePrecision) {
  constexpr float kScale = 0x1p-18F;
  constexpr float kFactor = 1 - 0x1p-14F;
  constexpr float kSummand = 0x1p-14F;
  for (int steps = 2; steps <= 256; steps *= 2) {
    const DeviceMemory x = Whole(kSeedA, kScale);
    const std::vector<float> start = Read<float>(x, kCount);
    Launch(absl::StrCat("multiply_adds_", steps), x.address(), kVectors, kFactor, kSummand);
    const std::vector<float> got = Read<float>(x, kCount);
    const double rounding = steps * 2 * 0x1p-24;
    for (size_t i = 0; i < kCount; ++i) {
      double expected = start[i];
      for (int s = 0; s < steps; ++s) expected = double{kFactor} * expected + double{kSummand};
      ASSERT_NEAR(got[i], expected, rounding * 2) << steps << " " << i;
    }
    const double power = std::pow(double{kFactor}, steps);
    EXPECT_EQ(WrongCount("check_multiply_adds", x.address(), kCount, kSeedA, kScale, 1.0, power,
                         rounding),
              0);
    Write(x, 12, 1.5F + got[12]);
    EXPECT_EQ(WrongCount("check_multiply_adds", x.address(), kCount, kSeedA, kScale, 1.0, power,
                         rounding),
              1);
  }
}

TEST_F(MemoryGpuTest, FusedAndUnfusedChainsAreThatOfDoublePrecision) {
  constexpr float kScale = 0x1p-18F;
  constexpr float kHalf = 0.5F;
  constexpr uint64_t kBiasSeed = 9'000'000'000;
  constexpr double kRounding = 10 * 0x1p-24;
  const DeviceMemory x = Whole(kSeedA, kScale);
  const DeviceMemory residual = Whole(kSeedB, kScale);
  const DeviceMemory bias = Whole(kBiasSeed, kScale);
  const std::vector<float> host_x = Read<float>(x, kCount);
  const std::vector<float> host_residual = Read<float>(residual, kCount);
  const std::vector<float> host_bias = Read<float>(bias, kCount);
  for (const bool fused : {false, true}) {
    const DeviceMemory y = Poisoned();
    if (fused) {
      Launch("fusion_all", y.address(), x.address(), bias.address(), residual.address(), kVectors,
             kHalf);
    } else {
      Launch("fusion_scale", y.address(), x.address(), kVectors, kHalf);
      Launch("fusion_add_bias", y.address(), bias.address(), kVectors);
      Launch("fusion_activate", y.address(), kVectors);
      Launch("fusion_add_residual", y.address(), residual.address(), kVectors);
    }
    const std::vector<float> got = Read<float>(y, kCount);
    for (size_t i = 0; i < kCount; ++i) {
      const double z = 0.5 * host_x[i] + host_bias[i % kFusionChannelCount];
      const double expected =
          z * (kActivationLinear + z * (kActivationSquare + kActivationFourth * z * z)) +
          host_residual[i];
      ASSERT_NEAR(got[i], expected, kRounding * (3 + z * z * z * z)) << fused << " " << i;
    }
    const auto wrong_count = [&] {
      return WrongCount("check_fusion", y.address(), kCount, kSeedA, kBiasSeed, kSeedB, kScale,
                        kHalf, kRounding);
    };
    EXPECT_EQ(wrong_count(), 0) << fused;
    Write(y, 4000, got[4000] + 1e-3F);
    EXPECT_EQ(wrong_count(), 1) << fused;
  }
}

TEST_F(MemoryGpuTest, RandomBitsAreFoundRightAndOneWrongBitWrong) {
  constexpr uint64_t kWords = kCount / 2;
  const DeviceMemory bits = Allocate(kWords * sizeof(uint64_t));
  Launch("fill_bits", bits.address(), kWords, kSeedA);
  EXPECT_EQ(WrongCount("check_bits", bits.address(), kWords, kSeedA), 0);
  uint64_t word = Read<uint64_t>(bits, 1)[0] ^ 1;
  ASSERT_EQ(session_->CopyToDevice(bits.address(), &word, sizeof(word)), absl::OkStatus());
  EXPECT_EQ(WrongCount("check_bits", bits.address(), kWords, kSeedA), 1);
}

TEST_F(MemoryGpuTest, AllMultiprocessorsComputeWhatTheHostDoes) {
  const auto run = MultiprocessorRun::Create(session_);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->Poison(*session_), absl::OkStatus());
  ASSERT_EQ(run->Enqueue(*session_), absl::OkStatus());
  const auto seen = run->Check(*session_);
  ASSERT_TRUE(seen.ok()) << seen.status();
  EXPECT_EQ(*seen, session_->multiprocessor_count());
}

TEST_F(MemoryGpuTest, TheClockIsAGpus) {
  const auto awake = WakeUp(session_);
  ASSERT_TRUE(awake.ok()) << awake.status();
  EXPECT_LT(awake->seconds, 2 * kMaxWakeSeconds);
  EXPECT_GT(awake->sm_clock_hertz, 1e8);
  EXPECT_LT(awake->sm_clock_hertz, 4e9);
}

TEST_F(MemoryGpuTest, AStandardPlanIsMeasuredWithinItsTimeAndMemory) {
  ProbePlan plan;
  plan.device = session_->device();
  plan.points = GpuMemoryPoints(v1::PROBE_MODE_STANDARD, session_);
  plan.finish = SummariseGpuMemory;
  SteadyClock clock;
  const auto measured = Measure(plan, {.start_seconds = clock.NowSeconds(), .budget_seconds = 5},
                                clock, [](const v1::ProbeProgress&) { return true; });
  ASSERT_TRUE(measured.ok()) << measured.status();
  const v1::Calibration& out = measured->calibration;
  EXPECT_EQ(out.coverage_ratio(), 1) << out.DebugString();
  EXPECT_LE(session_->peak_bytes(), session_->memory_cap_bytes());
  for (const v1::StreamMeasurement& stream : out.streams()) {
    // From a small GPU's to beyond the fastest memory that is announced.
    if (!stream.main_memory()) continue;
    EXPECT_GT(stream.bytes_per_second(), 1e11) << stream.ShortDebugString();
    EXPECT_LT(stream.bytes_per_second(), 3e13) << stream.ShortDebugString();
  }
  EXPECT_GT(out.fusion().speedup_ratio(), 1.5);
  EXPECT_GT(out.ridge_flops_per_byte(), 2);
  std::printf("%s\n", out.DebugString().c_str());
}

// The session, and the kernels of data.cu.
using DataGpuTest = OnGpuTest;

TEST_F(DataGpuTest, FillsEveryElementWithNormalNumbers) {
  constexpr uint64_t kDrawn = 1'000'003;
  const DeviceMemory memory = Allocate(kDrawn * sizeof(float));
  ASSERT_EQ(session_->Fill(memory.address(), 0xFF, memory.size_bytes()), absl::OkStatus());
  ASSERT_EQ(session_->Launch("fill_normal_fp32", {.block_count = 64}, memory.address(), kDrawn,
                             uint64_t{1}),
            absl::OkStatus());
  double sum = 0;
  double squares = 0;
  for (const float x : Read<float>(memory, kDrawn)) {
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += double{x} * x;
  }
  EXPECT_NEAR(sum / kDrawn, 0, 0.01);
  EXPECT_NEAR(squares / kDrawn, 1, 0.01);
}

TEST_F(DataGpuTest, MemoryBeyondTheCapIsNotTaken) {
  const auto more = DeviceMemory::Allocate(session_, session_->memory_cap_bytes() + 1);
  EXPECT_EQ(more.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(session_->allocated_bytes(), 0);
}

}  // namespace
}  // namespace sextant::probe
