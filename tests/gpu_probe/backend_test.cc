#include "gpu_probe/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "engine/base/reason.h"
#include "tests/gpu_probe/failure_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::Device DeviceNamed(const std::string& uuid) {
  v1::Device device;
  device.set_uuid(uuid);
  return device;
}

Backend BackendWith(std::string name, absl::StatusOr<std::vector<v1::Device>> devices) {
  return {.name = std::move(name),
          .devices = [devices = std::move(devices)] { return devices; },
          .plan = nullptr,
          .is_plain_absence = [](const absl::Status& s) { return s.message() == "none, plainly"; }};
}

Backend Gpus(int count) {
  std::vector<v1::Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back(DeviceNamed("GPU-" + std::to_string(i)));
  return BackendWith("cuda", devices);
}

Backend NoGpus(const std::string& reason, const std::string& message) {
  return BackendWith("cuda", WithMetadata(absl::NotFoundError(message), "reason", reason));
}

Backend Processor() { return BackendWith("host", std::vector<v1::Device>{DeviceNamed("CPU-1")}); }

std::vector<std::string> UuidsOf(const ListedDevices& listed) {
  std::vector<std::string> out;
  for (const v1::Device& device : listed.devices) out.push_back(device.uuid());
  return out;
}

TEST(ListDevicesTest, AutoListsThoseOfAllBackends) {
  const std::vector<Backend> backends = {Gpus(2), Processor()};
  const auto listed = ListDevices("auto", backends).value();
  EXPECT_THAT(UuidsOf(listed), ElementsAre("GPU-0", "GPU-1", "CPU-1"));
  EXPECT_THAT(listed.notes, IsEmpty());
  EXPECT_THAT(UuidsOf(ListDevices("host", backends).value()), ElementsAre("CPU-1"));
}

TEST(ListDevicesTest, AHostWithoutADriverHasItsProcessorAndNoNote) {
  const std::vector<Backend> backends = {NoGpus("no_driver", "none, plainly"), Processor()};
  const auto listed = ListDevices("auto", backends).value();
  EXPECT_THAT(UuidsOf(listed), ElementsAre("CPU-1"));
  EXPECT_THAT(listed.notes, IsEmpty());
  EXPECT_EQ(FailureOf(ListDevices("cuda", backends).status()).reason(), "no_driver");
}

TEST(ListDevicesTest, ABrokenDriverIsToldOfBesideTheProcessor) {
  const std::vector<Backend> backends = {NoGpus("driver_too_old", "install a newer one"),
                                         Processor()};
  const auto listed = ListDevices("auto", backends).value();
  EXPECT_THAT(UuidsOf(listed), ElementsAre("CPU-1"));
  EXPECT_THAT(listed.notes, ElementsAre(HasSubstr("install a newer one")));
}

TEST(ListDevicesTest, WithoutAnyDeviceItFailsAsTheFirstBackendDid) {
  const std::vector<Backend> none = {NoGpus("stub", "a stub"),
                                     BackendWith("host", absl::InternalError("no /proc"))};
  EXPECT_EQ(FailureOf(ListDevices("auto", none).status()).reason(), "stub");
  const std::vector<Backend> empty = {BackendWith("host", std::vector<v1::Device>{})};
  EXPECT_EQ(ListDevices("auto", empty).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ListDevices("cuda", empty).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(ChooseDeviceTest, TheFirstGpuIsMeasuredAndTheNoteSaysThatThereAreOthers) {
  const std::vector<Backend> backends = {Gpus(8), Processor()};
  const auto chosen = ChooseDevice({}, backends).value();
  EXPECT_EQ(chosen.backend->name, "cuda");
  EXPECT_EQ(chosen.device.uuid(), "GPU-0");
  EXPECT_THAT(chosen.notes, ElementsAre(HasSubstr("the first of 8 devices")));
  EXPECT_THAT(ChooseDevice({}, {Gpus(1), Processor()})->notes, IsEmpty());
}

TEST(ChooseDeviceTest, AUuidNamesItsBackend) {
  const std::vector<Backend> backends = {Gpus(8), Processor()};
  const auto gpu = ChooseDevice({.device = "GPU-5"}, backends).value();
  EXPECT_EQ(gpu.backend->name, "cuda");
  EXPECT_EQ(gpu.device.uuid(), "GPU-5");
  EXPECT_THAT(gpu.notes, IsEmpty());
  EXPECT_EQ(ChooseDevice({.device = "CPU-1"}, backends).value().backend->name, "host");
  EXPECT_EQ(ChooseDevice({.backend = "cuda", .device = "CPU-1"}, backends).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(ChooseDeviceTest, AnUnknownUuidIsToldWhatThereIsAndWhatIsAmiss) {
  const std::vector<Backend> backends = {Gpus(2), Processor()};
  EXPECT_THAT(ChooseDevice({.device = "GPU-9"}, backends), Says("GPU-0, GPU-1, CPU-1"));
  const std::vector<Backend> broken = {NoGpus("mismatch", "reboot"), Processor()};
  const absl::Status hidden = ChooseDevice({.device = "GPU-0"}, broken).status();
  EXPECT_THAT(hidden, Says("reboot"));
  EXPECT_THAT(hidden, IsFailure(v1::ProbeFailure::KIND_UNSUPPORTED, "mismatch"));
}

TEST(ChooseDeviceTest, TheProcessorOfABrokenDriversHostIsMeasuredWithANote) {
  const std::vector<Backend> broken = {NoGpus("mismatch", "reboot"), Processor()};
  const auto chosen = ChooseDevice({}, broken).value();
  EXPECT_EQ(chosen.backend->name, "host");
  EXPECT_THAT(chosen.notes, ElementsAre(HasSubstr("reboot")));
}

Backend GpusWithoutKernels() {
  Backend gpus = Gpus(2);
  gpus.can_measure = [] {
    return WithMetadata(absl::NotFoundError("built without CUDA"), "reason", "built_without_cuda");
  };
  return gpus;
}

TEST(ChooseDeviceTest, AutoPassesOverWhatThisProgramCannotMeasureAndSaysWhy) {
  const std::vector<Backend> backends = {GpusWithoutKernels(), Processor()};
  const auto chosen = ChooseDevice({.backend = "auto"}, backends).value();
  EXPECT_EQ(chosen.device.uuid(), "CPU-1");
  EXPECT_THAT(chosen.notes, ElementsAre("built without CUDA."));
  EXPECT_EQ(UuidsOf(*ListDevices("auto", backends)).size(), 3U);  // they are there all the same
}

TEST(ChooseDeviceTest, WhereNothingCanBeMeasuredTheReasonIsTheFailure) {
  const std::vector<Backend> backends = {GpusWithoutKernels()};
  for (const char* backend : {"auto", "cuda"}) {
    EXPECT_THAT(ChooseDevice({.backend = backend}, backends),
                IsFailure(v1::ProbeFailure::KIND_UNSUPPORTED, "built_without_cuda"))
        << backend;
  }
}

TEST(ChooseDeviceTest, ChoicesAreAskedForAMeasurementAndDevicesForAList) {
  Backend gpus = Gpus(1);
  gpus.choices = [] { return std::vector<v1::Device>{DeviceNamed("GPU-7"), DeviceNamed("GPU-8")}; };
  const std::vector<Backend> backends = {gpus, Processor()};
  EXPECT_EQ(ChooseDevice({}, backends).value().device.uuid(), "GPU-7");
  ProbeOptions options;
  options.device = "GPU-0";
  EXPECT_EQ(ChooseDevice(options, backends).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(UuidsOf(*ListDevices("auto", backends)), ElementsAre("GPU-0", "CPU-1"));
}

}  // namespace
}  // namespace sextant::probe
