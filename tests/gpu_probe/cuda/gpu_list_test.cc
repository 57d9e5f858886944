#include "gpu_probe/cuda/gpu_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu_probe/cuda/guard.h"
#include "tests/gpu_probe/cuda/fake_host.h"
#include "tests/gpu_probe/failure_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;

TEST(GpuListTest, TellsWhatTheDriverTells) {
  FakeHost host(1);
  const auto gpus = ListGpus(host.System()).value();
  ASSERT_EQ(gpus.size(), 1u);
  const v1::Device& device = gpus.front().device;
  EXPECT_EQ(device.uuid(), "GPU-01010101-0101-0101-0101-010101010101");
  EXPECT_EQ(device.kind(), v1::DEVICE_KIND_GPU);
  EXPECT_EQ(device.product_name(), "NVIDIA H200");
  EXPECT_FALSE(device.hostname().empty());
  EXPECT_EQ(device.memory_bytes(), 150'754'820'096);
  EXPECT_EQ(device.compute_unit_count(), 132);
  EXPECT_EQ(device.cache_bytes(), 62'914'560);
  EXPECT_EQ(device.compute_capability(), "9.0");
  EXPECT_EQ(device.pci_bus_id(), "0000:19:00.0");
  EXPECT_EQ(device.driver_version(), "580.65.06");
  EXPECT_EQ(device.cuda_version(), "13.0");
  EXPECT_EQ(device.power_limit_watts(), 700);
  EXPECT_TRUE(device.ecc_enabled());
  EXPECT_FALSE(gpus.front().mig_instance);
}

// NVML counts the GPUs the other way round: whoever mixes up the two orders mixes up the limits.
TEST(GpuListTest, EightGpusEachKeepWhatIsTheirsByUuid) {
  FakeHost host(8);
  for (FakeGpu& gpu : host.gpus) gpu.milliwatts = 100'000u * gpu.identity;
  const auto gpus = ListGpus(host.System()).value();
  ASSERT_EQ(gpus.size(), 8u);
  for (size_t i = 0; i < gpus.size(); ++i) {
    EXPECT_EQ(gpus[i].ordinal, static_cast<int>(i));
    EXPECT_EQ(gpus[i].device.uuid(), FakeHost::UuidOf(host.gpus[i]));
    EXPECT_EQ(gpus[i].device.power_limit_watts(), 100.0 * static_cast<double>(i + 1));
  }
}

TEST(GpuListTest, WithoutNvmlWhatItTellsIsAbsent) {
  FakeHost host(1);
  CudaSystem system = host.System();
  system.nvml = absl::NotFoundError("no libnvidia-ml.so.1");
  const auto gpus = ListGpus(system).value();
  EXPECT_FALSE(gpus.front().device.has_power_limit_watts());
  EXPECT_FALSE(gpus.front().device.has_ecc_enabled());
  EXPECT_FALSE(gpus.front().device.has_driver_version());
  EXPECT_EQ(gpus.front().device.memory_bytes(), 150'754'820'096);
}

TEST(GpuListTest, GarbageIsAbsentToo) {
  FakeHost host(1);
  FakeGpu& gpu = host.gpus.front();
  gpu.cache_bytes = 0;
  gpu.multiprocessor_count = -1;
  gpu.milliwatts = 4'294'967'295u;
  const auto gpus = ListGpus(host.System()).value();
  const v1::Device& device = gpus.front().device;
  EXPECT_FALSE(device.has_cache_bytes());
  EXPECT_FALSE(device.has_compute_unit_count());
  EXPECT_FALSE(device.has_power_limit_watts());

  CudaSystem system = host.System();
  system.driver->device_count = [](int* count) {
    *count = 2'000'000'000;
    return 0;
  };
  EXPECT_EQ(ListGpus(system).status().code(), absl::StatusCode::kInternal);
}

TEST(GpuListTest, AnInstanceIsNamedAsOneWithNvmlAndWithout) {
  FakeHost host(1);
  host.gpus.front().mig_instance = true;
  host.gpus.front().name = "NVIDIA H200 MIG 1g.18gb";
  for (const bool with_nvml : {true, false}) {
    CudaSystem system = host.System();
    if (!with_nvml) system.nvml = absl::NotFoundError("no libnvidia-ml.so.1");
    const auto gpus = ListGpus(system).value();
    EXPECT_TRUE(gpus.front().mig_instance);
    EXPECT_EQ(gpus.front().device.uuid(), "MIG-01010101-0101-0101-0101-010101010101");
  }
}

TEST(GpuListTest, OneThatHasJustGoneIsLeftOut) {
  FakeHost host(8);
  host.gpus[2].cuda_code = 719;
  const auto gpus = ListGpus(host.System()).value();
  ASSERT_EQ(gpus.size(), 7u);
  EXPECT_EQ(gpus[2].ordinal, 3);
}

TEST(GpuListTest, WhereNoneIsLeftTheFirstFaultIsTold) {
  FakeHost host(2);
  host.gpus[0].cuda_code = 46;
  host.gpus[1].cuda_code = 719;
  EXPECT_EQ(FailureOf(ListGpus(host.System()).status()).reason(), "mode");
  host.gpus.clear();
  EXPECT_EQ(FailureOf(ListGpus(host.System()).status()).reason(), "no_device");
}

TEST(GpuListTest, IsInTheOrderOfPciAddressesAsNvmlsChoiceIs) {
  FakeHost host(3);
  host.gpus[0].pci_bus_id = "0000:df:00.0";
  host.gpus[1].pci_bus_id = "0001:02:00.0";
  const auto gpus = ListGpus(host.System()).value();
  std::vector<std::string> listed;
  for (const Gpu& gpu : gpus) listed.push_back(gpu.device.uuid());
  EXPECT_THAT(listed, ElementsAre(FakeHost::UuidOf(host.gpus[2]), FakeHost::UuidOf(host.gpus[0]),
                                  FakeHost::UuidOf(host.gpus[1])));
  FakeHost asked(3);
  asked.gpus = host.gpus;
  EXPECT_EQ(UuidsByNvml(asked.System()), listed);
  EXPECT_EQ(asked.cuda_init_count, 0);
}

// The GPUs that NVML alone finds for CUDA_VISIBLE_DEVICES on a host of four; absent where only CUDA
// knows.
absl::optional<std::vector<std::string>> Chosen(const std::string& visible_devices) {
  FakeHost host(4);
  host.environment.visible_devices = visible_devices;
  return UuidsByNvml(host.System());
}

TEST(UuidsByNvmlTest, ObeysNamesAndLeavesNumbersToCuda) {
  const std::string second = "GPU-02020202-0202-0202-0202-020202020202";
  const std::string third = "GPU-03030303-0303-0303-0303-030303030303";
  EXPECT_EQ(Chosen(second), std::vector<std::string>{second});
  EXPECT_EQ(Chosen("GPU-03,GPU-0202"), (std::vector<std::string>{third, second}));
  for (const char* unclear :
       {"", "-1", "0", "1,GPU-03", "GPU-", "GPU-0", "GPU-09", "GPU-03,GPU-0303",
        "MIG-03030303-0303-0303-0303-030303030303", "GPU-03,"}) {
    EXPECT_EQ(Chosen(unclear), absl::nullopt) << unclear;
  }
}

TEST(UuidsByNvmlTest, IsAbsentWhereNvmlDoesNotTellAll) {
  FakeHost host(2);
  EXPECT_TRUE(UuidsByNvml(host.System()).has_value());
  host.gpus[1].mig_mode = 1;
  EXPECT_FALSE(UuidsByNvml(host.System()).has_value()) << "CUDA sees its instances";
  host.gpus[1].mig_mode = 0;
  host.gpus[1].nvml_code = nvml::kGpuIsLost;
  EXPECT_FALSE(UuidsByNvml(host.System()).has_value());
  host.gpus.clear();
  EXPECT_FALSE(UuidsByNvml(host.System()).has_value());
}

// Admission is for the first of them, as the guard sees it.
absl::StatusOr<Admission> Admit(FakeHost& host, const CudaSystem& system) {
  return AdmitGpu(system, FakeHost::UuidOf(host.gpus.front()),
                  [&host](double seconds) { host.Sleep(seconds); });
}

TEST(AdmitGpuTest, TellsWhatMayBeTakenAndStartsNoCuda) {
  FakeHost host(2);
  EXPECT_EQ(Admit(host, host.System()).value().memory_cap_bytes, int64_t{2} << 30);
  host.At(0.2, [&host] { host.gpus.front().process_ids = {71}; });
  EXPECT_EQ(FailureOf(Admit(host, host.System()).status()).reason(), "busy");
  EXPECT_EQ(host.cuda_init_count, 0);
}

TEST(AdmitGpuTest, RefusesWhatNobodyCanLookAt) {
  FakeHost host(1);
  CudaSystem system = host.System();
  system.nvml = absl::NotFoundError("no libnvidia-ml.so.1");
  EXPECT_THAT(Admit(host, system), IsFailure(v1::ProbeFailure::KIND_REFUSED, "unreadable"));
}

TEST(FindGpuTest, FindsItByItsUuidAndLeavesOldGpusAlone) {
  FakeHost host(2);
  const std::string uuid = FakeHost::UuidOf(host.gpus[1]);
  EXPECT_EQ(FindGpu(host.System(), uuid).value().ordinal, 1);
  EXPECT_EQ(FindGpu(host.System(), "GPU-09").status().code(), absl::StatusCode::kNotFound);
  host.gpus[1].major = 7;
  host.gpus[1].minor = 5;
  EXPECT_EQ(FindGpu(host.System(), uuid).status().code(), absl::StatusCode::kUnimplemented);
  host.gpus[1].major = 12;
  EXPECT_THAT(FindGpu(host.System(), uuid), IsOk());
}

}  // namespace
}  // namespace sextant::probe
