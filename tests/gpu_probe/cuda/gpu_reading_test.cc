#include "gpu_probe/cuda/gpu_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_probe/cuda/fake_host.h"

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

}  // namespace
}  // namespace sextant::probe
