#include "gpu_probe/cuda/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu_probe/exit_code.h"
#include "tests/gpu_probe/cuda/fake_host.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

class GuardTest : public ::testing::Test {
 protected:
  Guard GuardOf(const FakeGpu& gpu) {
    return {host_.NvmlTable(), FakeHost::UuidOf(gpu), host_.environment.mps_sign,
            [this](double seconds) { host_.Sleep(seconds); }};
  }

  FakeHost host_{1};
  FakeGpu& gpu_ = host_.gpus.front();
};

// The word of a refusal, as the probe writes it; "" for anything else.
std::string RefusalOf(const absl::Status& status) {
  if (status.ok()) return "";
  const v1::ProbeFailure failure = FailureOf(status);
  return failure.kind() == v1::ProbeFailure::KIND_REFUSED ? failure.reason() : "";
}

TEST_F(GuardTest, AnIdleGpuIsReadTwiceAndAdmitted) {
  const auto cap_bytes = GuardOf(gpu_).Admit();
  ASSERT_THAT(cap_bytes, IsOk());
  EXPECT_EQ(*cap_bytes, 2 * kGiB);
  EXPECT_DOUBLE_EQ(host_.slept_seconds(), 0.15);
}

struct RefusalCase {
  const char* reason;
  const char* in_message;
  std::function<void(FakeGpu&)> change;
};

const std::vector<RefusalCase>& RefusalCases() {
  static const auto* const kCases = new std::vector<RefusalCase>{
      {"busy", "processes that compute on it: 2", [](FakeGpu& g) { g.process_count = 2; }},
      // The list is empty, as in a container: that proves nothing.
      {"busy", "it works 6% of the time", [](FakeGpu& g) { g.utilization_percent = 6; }},
      {"busy", "1.50 GiB of its memory is taken", [](FakeGpu& g) { g.Take(kFakeGiB); }},
      {"memory", "memory free",
       [](FakeGpu& g) {
         g.memory = {0, kFakeGiB, 0, kFakeGiB - 1, 1};
       }},
      {"mig", "cut into instances", [](FakeGpu& g) { g.mig_mode = 1; }},
      {"mps", "MPS", [](FakeGpu& g) { g.mps_process_count = 1; }},
      {"hot", "80 degrees", [](FakeGpu& g) { g.celsius = 80; }},
      {"ecc", "3 errors", [](FakeGpu& g) { g.error_count = 3; }},
      {"ecc", "waits for a reset", [](FakeGpu& g) { g.retirement_pending = 1; }},
      {"ecc", "waits for a reset", [](FakeGpu& g) { g.remap_pending = 1; }},
      {"ecc", "could not be replaced", [](FakeGpu& g) { g.remap_failed = 1; }},
      {"mode", "exclusive", [](FakeGpu& g) { g.compute_mode = 3; }},
      {"mode", "exclusive", [](FakeGpu& g) { g.compute_mode = 1; }},
      {"mode", "prohibited", [](FakeGpu& g) { g.compute_mode = 2; }},
      // Garbage is no figure: 140 GiB free of 1, 255 % of the time, as hot as a star.
      {"unreadable", "its memory", [](FakeGpu& g) { g.memory.total = kFakeGiB; }},
      {"unreadable", "its memory", [](FakeGpu& g) { g.memory = {}; }},
      {"unreadable", "its utilization", [](FakeGpu& g) { g.utilization_percent = 255; }},
      {"unreadable", "its temperature", [](FakeGpu& g) { g.celsius = 4294967282U; }},
      // Nothing is told, e.g. without permission.
      {"unreadable", "its memory", [](FakeGpu& g) { g.nvml_code = nvml::kNoPermission; }},
  };
  return *kCases;
}

TEST_F(GuardTest, EachFaultIsRefusedByItsWordAtOnce) {
  for (const RefusalCase& c : RefusalCases()) {
    FakeHost host(1);
    Nvml nvml = host.NvmlTable();
    // Found all the same, as where only the answers are kept back.
    nvml.find = [&host](const char*, nvml::Device* device) {
      *device = reinterpret_cast<nvml::Device>(&host.gpus.front());
      return nvml::kSuccess;
    };
    c.change(host.gpus.front());
    Guard guard(nvml, "GPU-x", "", [&host](double seconds) { host.Sleep(seconds); });
    const absl::Status refused = guard.Admit().status();
    EXPECT_EQ(RefusalOf(refused), c.reason) << c.in_message << ": " << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(c.in_message));
    EXPECT_EQ(host.slept_seconds(), 0) << c.in_message;
  }
}

TEST_F(GuardTest, EachFaultThatComesBetweenTheReadingsIsSeen) {
  for (const RefusalCase& c : RefusalCases()) {
    FakeHost host(1);
    if (c.reason == std::string("unreadable")) continue;  // the handle is not found either
    host.At(0.1, [&] { c.change(host.gpus.front()); });
    Guard guard(host.NvmlTable(), FakeHost::UuidOf(host.gpus.front()), "",
                [&host](double seconds) { host.Sleep(seconds); });
    EXPECT_EQ(RefusalOf(guard.Admit().status()), c.reason) << c.in_message;
  }
}

TEST_F(GuardTest, WhatIsUsualOnAnIdleGpuIsAdmitted) {
  gpu_.utilization_percent = 5;
  gpu_.celsius = 79;
  gpu_.Take(kFakeGiB / 2 - 1);  // with what was taken before, a byte less than 1 GiB
  EXPECT_THAT(GuardOf(gpu_).Admit(), IsOk());
}

TEST_F(GuardTest, ASignOfMpsInTheEnvironmentIsEnough) {
  host_.environment.mps_sign = "CUDA_MPS_PIPE_DIRECTORY is set";
  const absl::Status refused = GuardOf(gpu_).Admit().status();
  EXPECT_EQ(RefusalOf(refused), "mps");
  EXPECT_THAT(std::string(refused.message()), HasSubstr("CUDA_MPS_PIPE_DIRECTORY"));
}

TEST_F(GuardTest, AGpuWithoutEccOrMigIsAdmitted) {
  Nvml nvml = host_.NvmlTable();
  nvml.ecc_errors = {};
  nvml.remapped_rows = {};
  nvml.retirement_pending = {};
  nvml.mig_mode = {};
  nvml.mps_processes = {};
  Guard guard(nvml, FakeHost::UuidOf(gpu_), "", [](double) {});
  EXPECT_THAT(guard.Admit(), IsOk());
}

TEST_F(GuardTest, ADriverWithoutReservedMemoryIsReadByTheOlderCall) {
  Nvml nvml = host_.NvmlTable();
  nvml.memory2 = {};
  Guard guard(nvml, FakeHost::UuidOf(gpu_), "", [](double) {});
  // 1 GiB is not free, half of it the driver's own, which that call does not tell apart.
  EXPECT_EQ(RefusalOf(guard.Admit().status()), "busy");
  gpu_.memory.free += kFakeGiB / 4;
  EXPECT_THAT(guard.Admit(), IsOk());
}

TEST_F(GuardTest, TheProbeTakesAQuarterOfWhatIsFreeAndNeverMoreThanTwoGiB) {
  EXPECT_EQ(MemoryCapBytes(4 * kGiB), kGiB);
  EXPECT_EQ(MemoryCapBytes(8 * kGiB), 2 * kGiB);
  EXPECT_EQ(MemoryCapBytes(80 * kGiB), 2 * kGiB);
}

TEST_F(GuardTest, OneOfEightIsBusyAndNoneOfTheOthers) {
  FakeHost host(8);
  host.gpus[5].process_count = 1;
  for (const FakeGpu& gpu : host.gpus) {
    Guard guard(host.NvmlTable(), FakeHost::UuidOf(gpu), "", [](double) {});
    const absl::Status admitted = guard.Admit().status();
    if (gpu.identity == 6) {
      EXPECT_EQ(RefusalOf(admitted), "busy");
      EXPECT_THAT(std::string(admitted.message()),
                  HasSubstr("GPU-06060606-0606-0606-0606-060606060606"));
    } else {
      EXPECT_THAT(admitted, IsOk());
    }
  }
}

class AdmittedTest : public GuardTest {
 protected:
  // Admits the GPU, and has the probe's context and 2 GiB of data come onto it.
  AdmittedTest() : guard_(GuardOf(gpu_)) {
    EXPECT_THAT(guard_.Admit(), IsOk());
    gpu_.Take(kFakeGiB / 2 + 2 * kFakeGiB);
    gpu_.process_count = 1;
    gpu_.utilization_percent = 100;
  }
  std::string Stopped() { return RefusalOf(guard_.MayGoOn(2 * kGiB)); }

  Guard guard_;
};

TEST_F(AdmittedTest, TheProbesOwnWorkDoesNotStopIt) {
  EXPECT_THAT(guard_.MayGoOn(2 * kGiB), IsOk());
  gpu_.process_count = 0;  // a container that shows nothing
  EXPECT_THAT(guard_.MayGoOn(2 * kGiB), IsOk());
}

TEST_F(AdmittedTest, ATenantStopsItByItsProcessOrByItsMemory) {
  gpu_.process_count = 2;
  EXPECT_EQ(Stopped(), "busy");
  gpu_.process_count = 1;
  gpu_.Take(3 * kFakeGiB / 2 - 1);
  EXPECT_EQ(Stopped(), "");
  gpu_.Take(1);  // with half of the context's allowance unused: 2 GiB beside what is ours
  EXPECT_EQ(Stopped(), "busy");
  gpu_.mps_process_count = 1;
  EXPECT_EQ(Stopped(), "mps");
}

TEST_F(AdmittedTest, HeatAndAnotherModeStopIt) {
  gpu_.celsius = 90;
  EXPECT_EQ(Stopped(), "hot");
  gpu_.celsius = 89;  // its own work's heat
  EXPECT_EQ(Stopped(), "");
  gpu_.compute_mode = nvml::kComputeModeExclusiveProcess;
  EXPECT_EQ(Stopped(), "mode");
}

TEST_F(AdmittedTest, MemoryThatFailsMeanwhileIsAMismatchSinceResultsMayBeWrong) {
  gpu_.error_count = 1;
  const v1::ProbeFailure failure = FailureOf(guard_.MayGoOn(2 * kGiB));
  EXPECT_EQ(failure.kind(), v1::ProbeFailure::KIND_MISMATCH);
  EXPECT_EQ(failure.reason(), "ecc");
  EXPECT_THAT(failure.message(), HasSubstr("1 errors since the last reset"));
}

TEST_F(AdmittedTest, AGpuThatIsGoneIsAFaultAndNoRefusal) {
  gpu_.nvml_code = nvml::kGpuIsLost;
  const absl::Status lost = guard_.MayGoOn(0);
  EXPECT_EQ(FailureOf(lost).kind(), v1::ProbeFailure::KIND_INTERNAL);
  EXPECT_EQ(FailureOf(lost).reason(), "lost");
}

}  // namespace
}  // namespace sextant
