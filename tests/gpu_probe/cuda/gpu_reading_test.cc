#include "gpu_probe/cuda/gpu_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "gpu_probe/cuda/guard.h"
#include "gpu_probe/exit_code.h"
#include "gpu_probe/watchdog.h"
#include "tests/gpu_probe/cuda/fake_host.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

v1::MeasurementEnvironment Described(FakeHost& host) {
  v1::MeasurementEnvironment out;
  DescribeLinksAndLimits(host.NvmlTable(), FakeHost::UuidOf(host.gpus.front()), &out);
  return out;
}

TEST(GpuEnvironmentTest, IsWhatNvmlTells) {
  FakeHost host(1);
  FakeGpu& gpu = host.gpus.front();
  gpu.pcie_generation = 4;
  gpu.pcie_width = 8;
  gpu.nvlinks = {1, 0, 1, 1};
  gpu.persistence = 0;
  gpu.application_sm_megahertz = 1755;
  gpu.application_memory_megahertz = 2619;
  gpu.default_milliwatts = 650'500;
  const v1::MeasurementEnvironment e = Described(host);
  EXPECT_EQ(e.pcie_generation(), 4);
  EXPECT_EQ(e.pcie_lane_count(), 8);
  EXPECT_EQ(e.maximum_pcie_generation(), 5);
  EXPECT_EQ(e.maximum_pcie_lane_count(), 16);
  EXPECT_EQ(e.nvlink_count(), 4);
  EXPECT_EQ(e.active_nvlink_count(), 3);
  EXPECT_TRUE(e.has_persistence_mode());
  EXPECT_FALSE(e.persistence_mode());
  EXPECT_EQ(e.application_sm_clock_hertz(), 1.755e9);
  EXPECT_EQ(e.application_memory_clock_hertz(), 2.619e9);
  EXPECT_EQ(e.default_power_limit_watts(), 650.5);
}

TEST(GpuEnvironmentTest, WhatIsNotToldOrCantBeIsAbsent) {
  FakeHost host(1);
  FakeGpu& gpu = host.gpus.front();
  gpu.pcie_generation = 0;
  gpu.pcie_width = 4'294'967'295u;
  gpu.nvlinks = {};
  gpu.application_sm_megahertz = 0;
  gpu.default_milliwatts = 4'294'967'295u;
  v1::MeasurementEnvironment e = Described(host);
  EXPECT_FALSE(e.has_pcie_generation());
  EXPECT_FALSE(e.has_pcie_lane_count());
  EXPECT_FALSE(e.has_nvlink_count());
  EXPECT_FALSE(e.has_active_nvlink_count());
  EXPECT_FALSE(e.has_application_sm_clock_hertz());
  EXPECT_FALSE(e.has_default_power_limit_watts());

  Nvml bare;
  bare.find = host.NvmlTable().find;
  e.Clear();
  DescribeLinksAndLimits(bare, FakeHost::UuidOf(gpu), &e);
  EXPECT_EQ(e.ByteSizeLong(), 0u);
  gpu.nvml_code = nvml::kGpuIsLost;
  EXPECT_EQ(Described(host).ByteSizeLong(), 0u);
}

// GPUs that vanish, hang or change while they are read: all that is asked of one, one after
// another.
absl::Status AskAll(FakeHost& host) {
  const auto reader = GpuReader::Find(host.NvmlTable(), FakeHost::UuidOf(host.gpus.front()));
  if (!reader.ok()) return reader.status();
  absl::Status status = reader->ReadModes().status();
  if (status.ok()) status = reader->Read().status();
  return status;
}

absl::StatusOr<GpuReading> ReadOnce(const Nvml& nvml, const FakeGpu& gpu) {
  const auto reader = GpuReader::Find(nvml, FakeHost::UuidOf(gpu));
  return reader.ok() ? reader->Read() : reader.status();
}

TEST(GoneTest, WhicheverQuestionItVanishesAtTheReadingFails) {
  FakeHost counted(1);
  int question_count = 0;
  counted.gpus.front().on_question = [&] { ++question_count; };
  ASSERT_THAT(AskAll(counted), IsOk());
  ASSERT_GE(question_count, 10);

  for (int fatal = 1; fatal <= question_count; ++fatal) {
    for (const nvml::Return code : {nvml::kGpuIsLost, nvml::kResetRequired}) {
      FakeHost host(1);
      FakeGpu& gpu = host.gpus.front();
      int asked = 0;
      gpu.on_question = [&] {
        if (++asked == fatal) gpu.nvml_code = code;
      };
      const absl::Status gone = AskAll(host);
      EXPECT_EQ(gone.code(), absl::StatusCode::kUnavailable) << fatal;
      EXPECT_EQ(FailureOf(gone).reason(), code == nvml::kGpuIsLost ? "lost" : "reset");
      // A lost GPU may take long to say so: it is asked no more.
      EXPECT_LE(asked, fatal + 1) << fatal;
    }
  }
}

TEST(GoneTest, OneThatIsNotFoundAnyMoreIsAbsent) {
  FakeHost host(1);
  const absl::Status absent = GpuReader::Find(host.NvmlTable(), "GPU-of-another-host").status();
  EXPECT_THAT(absent, IsFailure(v1::ProbeFailure::KIND_UNSUPPORTED, "no_device"));
}

TEST(GoneTest, ADriverThatHangsLeavesTheWatchdogFree) {
  FakeHost host(1);
  FakeGpu& gpu = host.gpus.front();
  std::promise<void> latch;
  std::future<void> released = latch.get_future();
  bool hung = false;
  gpu.on_question = [&] {
    if (hung) return;
    hung = true;
    released.wait();  // for ever, but for the watchdog
  };
  // In the program it ends the process; that it acts at all is what can be seen here.
  const auto watchdog =
      Watchdog::Start({.seconds = 0.01, .on_expiry = [&latch] { latch.set_value(); }});
  ASSERT_THAT(watchdog, IsOk());
  Guard guard({.nvml = host.NvmlTable(), .uuid = FakeHost::UuidOf(gpu), .sleep = [](double) {}});
  EXPECT_THAT(guard.Admit(), IsOk());
  EXPECT_TRUE(hung);
}

TEST(ReadingTest, WhatIsNotToldIsAbsentAndNeverZero) {
  FakeHost host(1);
  Nvml bare;
  const Nvml whole = host.NvmlTable();
  bare.find = whole.find;
  const auto reading = ReadOnce(bare, host.gpus.front()).value();
  EXPECT_FALSE(reading.free_bytes.has_value());
  EXPECT_FALSE(reading.taken_bytes.has_value());
  EXPECT_FALSE(reading.utilization_percent.has_value());
  EXPECT_FALSE(reading.process_ids.has_value());
  EXPECT_FALSE(reading.mps_process_count.has_value());
  EXPECT_FALSE(reading.temperature_celsius.has_value());
  EXPECT_FALSE(GpuReader::Find(bare, FakeHost::UuidOf(host.gpus.front()))
                   ->ReadModes()
                   ->compute_mode.has_value());
  EXPECT_FALSE(reading.uncorrected_error_count.has_value());
}

TEST(ReadingTest, WhatTheDriverKeepsBackIsNobodys) {
  FakeHost host(1);
  FakeGpu& gpu = host.gpus.front();
  // Two ways of counting: with what is kept back among what is used, and without.
  for (const unsigned long long used : {3 * kFakeGiB, 5 * kFakeGiB}) {
    gpu.memory = {0, 80 * kFakeGiB, 2 * kFakeGiB, 75 * kFakeGiB, used};
    const auto reading = ReadOnce(host.NvmlTable(), gpu).value();
    EXPECT_EQ(reading.taken_bytes, int64_t{3} << 30);
    EXPECT_EQ(reading.free_bytes, int64_t{75} << 30);
  }
}

TEST(ReadingTest, AnInstanceIsReadByItsGpu) {
  FakeHost host(1);
  FakeGpu& gpu = host.gpus.front();
  gpu.mig_instance = true;
  const auto reader = GpuReader::Find(host.NvmlTable(), FakeHost::UuidOf(gpu)).value();
  EXPECT_TRUE(reader.ReadModes()->mig_enabled);
  EXPECT_EQ(reader.Read()->temperature_celsius, 31);
}

}  // namespace
}  // namespace sextant::probe
