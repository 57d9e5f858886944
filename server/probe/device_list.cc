#include "server/probe/device_list.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "server/probe/probe_process.h"

namespace sextant::server {
namespace {

// Longer than the probe's own limit, so that the probe reports what hangs. A driver that nothing
// keeps awake first starts each GPU, which takes some seconds.
constexpr double kListSeconds = 15;

// More than a host has: 16 GPUs (HGX-2), each as 7 instances (NVIDIA's "MIG User Guide"), and its
// processors. A device takes less than 4 KiB.
constexpr size_t kMaxListedDevices = 256;
constexpr size_t kMaxListBytes = kMaxListedDevices * 4096;

ProbeRun ListRun(const std::string& program, const std::string& backend) {
  return {.program = program,
          .arguments = {"--list", "--format=json", absl::StrCat("--backend=", backend),
                        absl::StrCat("--parent_pid=", getpid())},
          .deadline_seconds = kListSeconds,
          .silence_seconds = kListSeconds,
          .output_bytes = kMaxListBytes,
          .late_advice = "try again"};
}

}  // namespace

absl::StatusOr<std::vector<v1::Device>> ListDevices(const std::string& program,
                                                    const Cancellation& cancellation) {
  std::vector<v1::Device> devices;
  const auto take = [&](const v1::ProbeEvent& event) {
    if (!event.has_device()) return absl::OkStatus();
    if (event.device().uuid().empty()) return absl::InvalidArgumentError("a device has no UUID");
    if (devices.size() == kMaxListedDevices) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are more than ", kMaxListedDevices, " devices"));
    }
    devices.push_back(event.device());
    devices.back().clear_accelerator();
    return absl::OkStatus();
  };
  SEXTANT_RETURN_IF_ERROR(RunProbe(ListRun(program, "auto"), cancellation, take));
  return devices;
}

std::string GpuState(const std::vector<v1::Device>& devices, const std::string& program,
                     const Cancellation& cancellation) {
  for (const v1::Device& device : devices) {
    if (device.kind() == v1::DEVICE_KIND_GPU) return "ok";
  }
  std::string word;
  // This run is expected to fail: its failure names the reason.
  (void)RunProbe(ListRun(program, "cuda"), cancellation, [&](const v1::ProbeEvent& event) {
    if (event.has_failure()) word = event.failure().reason();
    return absl::OkStatus();
  });
  return word;
}

DeviceList::DeviceList(Lister list, ProbeWorker& worker, CalibrationStore& store)
    : list_(std::move(list)), worker_(worker), store_(store) {}

void DeviceList::WhenListed(std::function<void(const absl::Status&)> done) {
  bool first = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!listed_) {
      first = waiting_.empty();
      waiting_.push_back(std::move(done));
      if (!first) return;  // the first waiter's task lists
    }
  }
  if (!first) {
    done(absl::OkStatus());
    return;
  }
  const auto cancellation = std::make_shared<Cancellation>();
  worker_.Post(cancellation, [this, cancellation] { List(*cancellation); });
}

void DeviceList::List(const Cancellation& cancellation) {
  absl::StatusOr<std::vector<v1::Device>> devices = list_(cancellation);
  if (devices.ok()) store_.SetDevices(*std::move(devices));
  std::vector<std::function<void(const absl::Status&)>> waiting;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    listed_ = devices.ok();
    waiting = std::exchange(waiting_, {});
  }
  for (const auto& done : waiting) done(devices.status());
}

}  // namespace sextant::server
