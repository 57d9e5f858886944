#include "server/probe/probe_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "server/probe/probe_schedule.h"
#include "tests/server/fake_probe.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::UnorderedElementsAre;

CalibrationSnapshot HostSnapshot() {
  CalibrationSnapshot host;
  host.devices = {FakeDevice()};
  return host;
}

v1::RunProbeRequest WithShape(v1::DataType type, int64_t m, int64_t n, int64_t k) {
  v1::RunProbeRequest request;
  v1::MatmulShape* shape = request.add_matmuls();
  shape->set_data_type(type);
  shape->set_m(m);
  shape->set_n(n);
  shape->set_k(k);
  return request;
}

TEST(ProbeSpec, OfAnEmptyRequestIsStandardOnAllDevices) {
  const auto spec = ProbeSpecFrom({}, HostSnapshot());
  ASSERT_THAT(spec, IsOk());
  ASSERT_EQ(spec->probes.size(), 1u);
  EXPECT_EQ(spec->probes[0].uuid, "CPU-0123456789abcdef");
  EXPECT_FALSE(spec->with_shapes);
  EXPECT_EQ(spec->budget.deadline_seconds, 20);
  EXPECT_THAT(spec->probes[0].arguments,
              ElementsAre("--format=json", "--mode=standard", "--budget=5s", "--backend=host",
                          "--device=CPU-0123456789abcdef"));
}

// A planner's.
TEST(ProbeSpec, NeedsADevice) {
  const absl::Status status = ProbeSpecFrom({}, CalibrationSnapshot()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("this server has no device to measure"));
}

TEST(ProbeSpec, NamesEachDeviceOnce) {
  v1::RunProbeRequest request;
  request.set_mode(v1::PROBE_MODE_FULL);
  request.add_devices("host");
  request.add_devices("CPU-0123456789abcdef");
  const auto spec = ProbeSpecFrom(request, HostSnapshot());
  ASSERT_THAT(spec, IsOk());
  ASSERT_EQ(spec->probes.size(), 1u);
  EXPECT_THAT(spec->probes[0].arguments,
              ElementsAre("--format=json", "--mode=full", "--budget=30s", "--backend=host",
                          "--device=CPU-0123456789abcdef"));
}

TEST(ProbeSpec, PassesShapesOn) {
  v1::RunProbeRequest request = WithShape(v1::DATA_TYPE_BF16, 16384, 32768, 1'000'000);
  request.set_mode(v1::PROBE_MODE_QUICK);
  *request.add_matmuls() = WithShape(v1::DATA_TYPE_INT8, 1, 2, 3).matmuls(0);
  const auto spec = ProbeSpecFrom(request, HostSnapshot());
  ASSERT_THAT(spec, IsOk());
  EXPECT_TRUE(spec->with_shapes);
  EXPECT_THAT(spec->probes[0].arguments,
              ElementsAre("--format=json", "--mode=quick", "--budget=122s", "--backend=host",
                          "--device=CPU-0123456789abcdef", "--matmul=16384x32768x1000000:bf16",
                          "--matmul=1x2x3:int8"));
}

TEST(ProbeSpec, NamesAllFaultsAtOnce) {
  v1::RunProbeRequest request = WithShape(v1::DATA_TYPE_FP8, 0, -1, 1'000'001);
  *request.add_matmuls() =
      WithShape(v1::DATA_TYPE_UNSPECIFIED, 1, std::numeric_limits<int64_t>::max(), 1).matmuls(0);
  request.set_mode(static_cast<v1::ProbeMode>(77));
  request.add_devices("CPU-0");
  EXPECT_THAT(ProbeSpecFrom(request, HostSnapshot()),
              NamesFields(UnorderedElementsAre(
                  "mode", "matmuls[0].data_type", "matmuls[0].m", "matmuls[0].n", "matmuls[0].k",
                  "matmuls[1].data_type", "matmuls[1].n", "devices[0]")));
}

TEST(ProbeSpec, BoundsItsLists) {
  v1::RunProbeRequest request;
  for (int i = 0; i < 65; ++i) request.add_devices("host");
  for (int i = 0; i < 17; ++i) {
    *request.add_matmuls() = WithShape(v1::DATA_TYPE_FP32, 1, 1, 1).matmuls(0);
  }
  EXPECT_THAT(ProbeSpecFrom(request, HostSnapshot()),
              NamesFields(UnorderedElementsAre("devices", "matmuls")));
  request.mutable_devices()->RemoveLast();
  request.mutable_matmuls()->RemoveLast();
  EXPECT_THAT(ProbeSpecFrom(request, HostSnapshot()), IsOk());
}

TEST(ProbeSpec, TellsAnUnknownDeviceItsNearNames) {
  v1::RunProbeRequest request;
  request.add_devices("CPU-0123456789abcdee");
  const auto spec = ProbeSpecFrom(request, HostSnapshot());
  EXPECT_THAT(spec, Fails(absl::StatusCode::kNotFound, "DEVICE_UNKNOWN"));
  EXPECT_THAT(std::string(spec.status().message()), HasSubstr("CPU-0123456789abcdef"));
  EXPECT_THAT(std::string(spec.status().message()), HasSubstr("ListDevices"));
}

// FakeDevice() and two GPUs before it.
CalibrationSnapshot GpuHostSnapshot() {
  CalibrationSnapshot host;
  for (const char* uuid : {"GPU-1", "GPU-2"}) {
    host.devices.push_back(FakeDevice());
    host.devices.back().set_uuid(uuid);
    host.devices.back().set_kind(v1::DEVICE_KIND_GPU);
  }
  host.devices.push_back(FakeDevice());
  return host;
}

TEST(ProbeSpec, MeasuresGpusWhereThereAreSomeEachByAProbeOfItsOwn) {
  const auto spec = ProbeSpecFrom({}, GpuHostSnapshot());
  ASSERT_THAT(spec, IsOk());
  ASSERT_EQ(spec->probes.size(), 2u);
  EXPECT_EQ(spec->probes[0].uuid, "GPU-1");
  EXPECT_THAT(spec->probes[1].arguments,
              ElementsAre("--format=json", "--mode=standard", "--budget=5s", "--backend=cuda",
                          "--device=GPU-2"));
}

TEST(ProbeSpec, MeasuresDevicesOfBothKindsInTheHostsOrder) {
  v1::RunProbeRequest request;
  request.add_devices("host");
  request.add_devices("GPU-2");
  const auto spec = ProbeSpecFrom(request, GpuHostSnapshot());
  ASSERT_THAT(spec, IsOk());
  ASSERT_EQ(spec->probes.size(), 2u);
  EXPECT_EQ(spec->probes[0].uuid, "GPU-2");
  EXPECT_EQ(spec->probes[1].uuid, "CPU-0123456789abcdef");
  EXPECT_THAT(spec->probes[1].arguments, Contains("--backend=host"));
}

TEST(ProbeSpec, TakesTheTypesThatAllItsDevicesMultiplyIn) {
  const v1::DataType gpu_types[] = {
      v1::DATA_TYPE_FP64,  v1::DATA_TYPE_FP32,  v1::DATA_TYPE_TF32,
      v1::DATA_TYPE_FP16,  v1::DATA_TYPE_BF16,  v1::DATA_TYPE_INT8,
      v1::DATA_TYPE_MXFP8, v1::DATA_TYPE_NVFP4, v1::DATA_TYPE_FP8_E4M3};
  for (const v1::DataType type : gpu_types) {
    v1::RunProbeRequest request = WithShape(type, 16, 16, 16);
    EXPECT_THAT(ProbeSpecFrom(request, GpuHostSnapshot()), IsOk()) << type;
    const bool processors =
        type == v1::DATA_TYPE_FP32 || type == v1::DATA_TYPE_BF16 || type == v1::DATA_TYPE_INT8;
    request.add_devices("GPU-1");
    request.add_devices("host");
    EXPECT_EQ(ProbeSpecFrom(request, GpuHostSnapshot()).ok(), processors) << type;
  }
  const auto spec = ProbeSpecFrom(WithShape(v1::DATA_TYPE_FP8_E4M3, 1, 2, 3), GpuHostSnapshot());
  ASSERT_THAT(spec, IsOk());
  EXPECT_THAT(spec->probes[0].arguments, Contains("--matmul=1x2x3:fp8_e4m3"));
  for (const v1::DataType none : {v1::DATA_TYPE_FP8, v1::DATA_TYPE_FP4, v1::DATA_TYPE_INT4}) {
    EXPECT_THAT(ProbeSpecFrom(WithShape(none, 1, 1, 1), GpuHostSnapshot()),
                NamesFields(ElementsAre("matmuls[0].data_type")));
  }
}

TEST(ProbeBudget, IsTheModesAndKilledAtTwiceThatAndTenSeconds) {
  const struct {
    v1::ProbeMode mode;
    bool with_shapes;
    double budget_seconds;
    double deadline_seconds;
  } cases[] = {{v1::PROBE_MODE_QUICK, false, 2, 14},      {v1::PROBE_MODE_STANDARD, false, 5, 20},
               {v1::PROBE_MODE_FULL, false, 30, 70},      {v1::PROBE_MODE_QUICK, true, 122, 254},
               {v1::PROBE_MODE_STANDARD, true, 125, 260}, {v1::PROBE_MODE_FULL, true, 150, 310},
               {v1::PROBE_MODE_UNSPECIFIED, false, 5, 20}};
  for (const auto& c : cases) {
    const ProbeBudget budget = ProbeBudgetOf(c.mode, c.with_shapes);
    EXPECT_EQ(budget.budget_seconds, c.budget_seconds);
    EXPECT_EQ(budget.deadline_seconds, c.deadline_seconds);
    EXPECT_THAT(budget.silence_seconds, AllOf(Ge(c.budget_seconds), Le(c.deadline_seconds)));
  }
}

TEST(ProbeRetrySeconds, IsWhatIsLeftAndUpToAQuarterMore) {
  EXPECT_EQ(ProbeRetrySeconds(30, 10, 0), 20);
  EXPECT_EQ(ProbeRetrySeconds(30, 10, 1), 25);
  // A probe that is overdue ends soon.
  EXPECT_EQ(ProbeRetrySeconds(30, 29.5, 0), 1);
  EXPECT_EQ(ProbeRetrySeconds(30, 300, 0), 1);
}

}  // namespace
}  // namespace sextant::server
