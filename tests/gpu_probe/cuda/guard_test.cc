#include "gpu_probe/cuda/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu_probe/cuda/fake_host.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/gpu_probe/failure_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;

constexpr nvml::Return kNoPermission = 4;  // NVML_ERROR_NO_PERMISSION
constexpr int64_t kGiB = int64_t{1} << 30;

class GuardTest : public ::testing::Test {
 protected:
  Guard GuardOf(const FakeGpu& gpu) { return GuardOf(gpu, host_.NvmlTable()); }
  Guard GuardOf(const FakeGpu& gpu, Nvml nvml) {
    return Guard({.nvml = std::move(nvml),
                  .uuid = FakeHost::UuidOf(gpu),
                  .mps_sign = host_.environment.mps_sign,
                  .sleep = [this](double seconds) { host_.Sleep(seconds); },
                  .clock = &clock_,
                  .own_process_id = kOwnId});
  }

  static constexpr unsigned kOwnId = 4711;
  FakeHost host_{1};
  FakeGpu& gpu_ = host_.gpus.front();
  FakeHostClock clock_{host_};
};

// On a host of its own, whose clock goes on while it sleeps.
Guard GuardOn(FakeHost& host, const FakeGpu& gpu) {
  return Guard({.nvml = host.NvmlTable(),
                .uuid = FakeHost::UuidOf(gpu),
                .sleep = [&host](double seconds) { host.Sleep(seconds); }});
}

// The word of a refusal, as the probe writes it; "" for anything else.
std::string RefusalOf(const absl::Status& status) {
  if (status.ok()) return "";
  const v1::ProbeFailure failure = FailureOf(status);
  return failure.kind() == v1::ProbeFailure::KIND_REFUSED ? failure.reason() : "";
}

MATCHER_P(IsRefused, reason, "") {
  return ::testing::ExplainMatchResult(IsFailure(v1::ProbeFailure::KIND_REFUSED, reason), arg,
                                       result_listener);
}

TEST_F(GuardTest, AnIdleGpuIsReadTwiceAndAdmitted) {
  EXPECT_EQ(GuardOf(gpu_).Admit().value(), 2 * kGiB);
  EXPECT_DOUBLE_EQ(host_.slept_seconds(), 0.15);
}

struct RefusalCase {
  const char* reason;
  const char* in_message;
  std::function<void(FakeGpu&)> change;
};

const std::vector<RefusalCase>& RefusalCases() {
  static const auto* const kCases = new std::vector<RefusalCase>{
      {"busy", "processes that compute on it: 2",
       [](FakeGpu& g) {
         g.process_ids = {71, 72};
       }},
      // The list is empty, as in a container: that proves nothing.
      {"busy", "1.50 GiB of its memory is taken", [](FakeGpu& g) { g.Take(kFakeGiB); }},
      {"memory", "memory free",
       [](FakeGpu& g) {
         g.memory = {0, kFakeGiB, 0, kFakeGiB - 1, 1};
       }},
      {"mig", "cut into instances", [](FakeGpu& g) { g.mig_mode = 1; }},
      {"mps", "MPS", [](FakeGpu& g) { g.mps_process_ids = {71}; }},
      {"hot", "80 degrees", [](FakeGpu& g) { g.celsius = 80; }},
      {"ecc", "3 errors", [](FakeGpu& g) { g.error_count = 3; }},
      {"ecc", "waits for a reset", [](FakeGpu& g) { g.retirement_pending = 1; }},
      {"ecc", "waits for a reset", [](FakeGpu& g) { g.remap_pending = 1; }},
      {"ecc", "could not be replaced", [](FakeGpu& g) { g.remap_failed = 1; }},
      {"mode", "exclusive", [](FakeGpu& g) { g.compute_mode = 3; }},
      {"mode", "exclusive", [](FakeGpu& g) { g.compute_mode = 1; }},
      {"mode", "prohibited", [](FakeGpu& g) { g.compute_mode = 2; }},
      // Garbage is not a figure: 140 GiB free of 1, 255 % of the time, as hot as a star.
      {"unreadable", "its memory", [](FakeGpu& g) { g.memory.total = kFakeGiB; }},
      {"unreadable", "its memory", [](FakeGpu& g) { g.memory = {}; }},
      {"unreadable", "its utilization", [](FakeGpu& g) { g.utilization_percent = 255; }},
      {"unreadable", "its temperature", [](FakeGpu& g) { g.celsius = 4294967282U; }},
      // Nothing is reported, e.g. without permission.
      {"unreadable", "its memory", [](FakeGpu& g) { g.nvml_code = kNoPermission; }},
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
    Guard guard(
        {.nvml = nvml, .uuid = "GPU-x", .sleep = [&host](double seconds) { host.Sleep(seconds); }});
    const absl::Status refused = guard.Admit().status();
    EXPECT_EQ(RefusalOf(refused), c.reason) << c.in_message << ": " << refused;
    EXPECT_THAT(refused, Says(c.in_message));
    EXPECT_EQ(host.slept_seconds(), 0) << c.in_message;
  }
}

TEST_F(GuardTest, EachFaultThatComesBetweenTheReadingsIsSeen) {
  for (const RefusalCase& c : RefusalCases()) {
    FakeHost host(1);
    // How it is set up is asked once.
    const bool once = c.reason == std::string("mig") || c.reason == std::string("mode");
    host.At(0.1, [&] { c.change(host.gpus.front()); });
    Guard guard = GuardOn(host, host.gpus.front());
    EXPECT_EQ(RefusalOf(guard.Admit().status()), once ? "" : c.reason) << c.in_message;
  }
}

TEST_F(GuardTest, LoadThatFadesIsAnEarlierProbes) {
  gpu_.utilization_percent = 97;
  host_.At(0.55, [this] { gpu_.utilization_percent = 0; });
  EXPECT_THAT(GuardOf(gpu_).Admit(), IsOk());
  EXPECT_NEAR(host_.slept_seconds(), 0.75, 1e-9) << "idle at 0.6 s, and again at 0.75";
}

TEST_F(GuardTest, LoadThatStaysIsSomebodys) {
  gpu_.utilization_percent = 6;
  EXPECT_THAT(GuardOf(gpu_).Admit(), AllOf(IsRefused("busy"), Says("it works 6% of the time")));
  EXPECT_NEAR(host_.slept_seconds(), 1.2, 1e-9);
}

TEST_F(GuardTest, LoadThatComesAndGoesIsSomebodys) {
  for (int i = 0; i < 40; ++i) {
    host_.At(0.15 * i + 0.1, [this, i] { gpu_.utilization_percent = i % 2 == 0 ? 50 : 0; });
  }
  EXPECT_THAT(GuardOf(gpu_).Admit(), IsRefused("busy"));
  EXPECT_LT(host_.slept_seconds(), 1.5);
}

TEST_F(GuardTest, LoadBesideAnotherSignRefusesAtOnce) {
  gpu_.utilization_percent = 97;
  gpu_.process_ids = {71};
  EXPECT_THAT(GuardOf(gpu_).Admit(), IsRefused("busy"));
  EXPECT_EQ(host_.slept_seconds(), 0);
  gpu_.process_ids = {};
  host_.At(0.4, [this] { gpu_.Take(kFakeGiB); });
  EXPECT_THAT(GuardOf(gpu_).Admit(), IsRefused("busy"));
  EXPECT_NEAR(host_.slept_seconds(), 0.45, 1e-9) << "while it looked again";
}

TEST_F(GuardTest, ItsOwnProcessNeverCounts) {
  gpu_.process_ids = {kOwnId};
  EXPECT_THAT(GuardOf(gpu_).Admit(), IsOk());
  gpu_.process_ids = {kOwnId, 71};
  EXPECT_THAT(GuardOf(gpu_).Admit(), AllOf(IsRefused("busy"), Says("compute on it: 1;")));
}

TEST_F(GuardTest, MoreProcessesThanThereWasRoomForAreAllCounted) {
  for (unsigned id = 1; id <= 300; ++id) gpu_.process_ids.push_back(id);
  EXPECT_THAT(GuardOf(gpu_).Admit(), Says("on it: 300;"));
}

// Some drivers of R535 write entries of 32 bytes (gpu_reading.cc).
TEST_F(GuardTest, LongerEntriesFitAndAreCounted) {
  Nvml nvml = host_.NvmlTable();
  nvml.processes = [](nvml::Device, unsigned* count, nvml::ProcessInfo* entries) {
    auto* const bytes = reinterpret_cast<unsigned char*>(entries);
    std::memset(bytes, 0, *count * std::size_t{32});
    for (unsigned i = 0; i < 2; ++i) std::memcpy(bytes + 32 * i, &kOwnId, sizeof(kOwnId));
    *count = 2;
    return nvml::kSuccess;
  };
  EXPECT_THAT(GuardOf(gpu_, nvml).Admit(), IsRefused("busy"));
}

TEST_F(GuardTest, TellsWhatItsQuestionsTook) {
  gpu_.on_question = [this] { host_.Sleep(0.001); };
  Guard guard = GuardOf(gpu_);
  EXPECT_THAT(guard.Admit(), IsOk());
  const double pause_seconds = 0.15;
  EXPECT_EQ(guard.cost().reading_count, 3) << "how it is set up, and two readings";
  EXPECT_NEAR(guard.cost().total_seconds, host_.slept_seconds() - pause_seconds, 1e-9);
  EXPECT_THAT(guard.MayGoOn(0), IsOk());
  EXPECT_EQ(guard.cost().reading_count, 4);
  EXPECT_NEAR(guard.cost().total_seconds, host_.slept_seconds() - pause_seconds, 1e-9);
  EXPECT_GT(guard.cost().longest_seconds, guard.cost().total_seconds / 4);
  EXPECT_LT(guard.cost().longest_seconds, guard.cost().total_seconds / 2);
}

TEST_F(GuardTest, HowItIsSetUpIsAskedOnce) {
  Nvml nvml = host_.NvmlTable();
  int asked = 0;
  const auto counted = [&asked](auto function) {
    return [&asked, function](auto... arguments) {
      ++asked;
      return function(arguments...);
    };
  };
  nvml.find = counted(nvml.find);
  nvml.compute_mode = counted(nvml.compute_mode);
  nvml.mig_mode = counted(nvml.mig_mode);
  Guard guard = GuardOf(gpu_, nvml);
  EXPECT_THAT(guard.Admit(), IsOk());
  EXPECT_THAT(guard.MayGoOn(0), IsOk());
  EXPECT_EQ(asked, 3);
}

TEST_F(GuardTest, WhatIsUsualOnAnIdleGpuIsAdmitted) {
  gpu_.utilization_percent = 5;
  gpu_.celsius = 79;
  gpu_.Take(kFakeGiB / 2 - 1);  // with what was taken before, a byte less than 1 GiB
  EXPECT_THAT(GuardOf(gpu_).Admit(), IsOk());
}

TEST_F(GuardTest, ASignOfMpsInTheEnvironmentIsEnough) {
  host_.environment.mps_sign = "CUDA_MPS_PIPE_DIRECTORY is set";
  EXPECT_THAT(GuardOf(gpu_).Admit(), AllOf(IsRefused("mps"), Says("CUDA_MPS_PIPE_DIRECTORY")));
}

TEST_F(GuardTest, AGpuWithoutEccOrMigIsAdmitted) {
  Nvml nvml = host_.NvmlTable();
  nvml.ecc_errors = {};
  nvml.remapped_rows = {};
  nvml.retirement_pending = {};
  nvml.mig_mode = {};
  nvml.mps_processes = {};
  Guard guard = GuardOf(gpu_, nvml);
  EXPECT_THAT(guard.Admit(), IsOk());
}

TEST_F(GuardTest, ADriverWithoutReservedMemoryIsReadByTheOlderCall) {
  Nvml nvml = host_.NvmlTable();
  nvml.memory2 = {};
  Guard guard = GuardOf(gpu_, nvml);
  // 1 GiB is not free, half of it the driver's own, which that call does not tell apart.
  EXPECT_THAT(guard.Admit(), IsRefused("busy"));
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
  host.gpus[5].process_ids = {71};
  for (const FakeGpu& gpu : host.gpus) {
    Guard guard = GuardOn(host, gpu);
    const absl::Status admitted = guard.Admit().status();
    if (gpu.identity != 6) {
      EXPECT_THAT(admitted, IsOk());
      continue;
    }
    EXPECT_THAT(admitted,
                AllOf(IsRefused("busy"), Says("GPU-06060606-0606-0606-0606-060606060606")));
  }
}

class AdmittedTest : public GuardTest {
 protected:
  // Admits the GPU, and has the probe's context and 2 GiB of data come onto it.
  AdmittedTest() : guard_(GuardOf(gpu_)) {
    EXPECT_THAT(guard_.Admit(), IsOk());
    gpu_.Take(kFakeGiB / 2 + 2 * kFakeGiB);
    gpu_.process_ids = {kOwnId};
    gpu_.utilization_percent = 100;
  }
  std::string Stopped() { return RefusalOf(guard_.MayGoOn(2 * kGiB)); }

  Guard guard_;
};

TEST_F(AdmittedTest, TheProbesOwnWorkDoesNotStopIt) {
  EXPECT_THAT(guard_.MayGoOn(2 * kGiB), IsOk());
  gpu_.process_ids = {};  // a container that shows nothing
  EXPECT_THAT(guard_.MayGoOn(2 * kGiB), IsOk());
  gpu_.process_ids = {90210};  // one that shows the host's numbers
  EXPECT_THAT(guard_.MayGoOn(2 * kGiB), IsOk());
}

TEST_F(AdmittedTest, ATenantStopsItByItsProcessOrByItsMemory) {
  gpu_.process_ids = {kOwnId, 71};
  EXPECT_EQ(Stopped(), "busy");
  gpu_.process_ids = {90210, 71};
  EXPECT_EQ(Stopped(), "busy");
  gpu_.process_ids = {90210};
  gpu_.Take(3 * kFakeGiB / 2 - 1);
  EXPECT_EQ(Stopped(), "");
  gpu_.Take(1);  // half of the context's allowance unused: 2 GiB in addition to our own
  EXPECT_EQ(Stopped(), "busy");
  gpu_.mps_process_ids = {71};
  EXPECT_EQ(Stopped(), "mps");
}

TEST_F(AdmittedTest, HeatStopsIt) {
  gpu_.celsius = 90;
  EXPECT_EQ(Stopped(), "hot");
  gpu_.celsius = 89;  // its own work's heat
  EXPECT_EQ(Stopped(), "");
}

TEST_F(AdmittedTest, MemoryThatFailsMeanwhileIsAMismatchSinceResultsMayBeWrong) {
  gpu_.error_count = 1;
  EXPECT_THAT(guard_.MayGoOn(2 * kGiB),
              IsFailure(v1::ProbeFailure::KIND_MISMATCH, "ecc", "1 errors since the last reset"));
}

TEST_F(AdmittedTest, AGpuThatIsGoneIsAFaultAndNoRefusal) {
  gpu_.nvml_code = nvml::kGpuIsLost;
  EXPECT_THAT(guard_.MayGoOn(0), IsFailure(v1::ProbeFailure::KIND_INTERNAL, "lost"));
}

}  // namespace
}  // namespace sextant::probe
