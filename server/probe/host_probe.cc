#include "server/probe/host_probe.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "server/probe/probe_events.h"
#include "server/store/default_paths.h"

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

// The status of a call whose probes ended as `ends`, in order; fewer where it was cancelled.
absl::Status EndOf(const std::vector<absl::Status>& ends, const ProbeSpec& spec) {
  if (absl::IsCancelled(ends.back())) return ends.back();
  const auto failed = [](const absl::Status& end) { return !end.ok(); };
  const auto first = std::find_if(ends.begin(), ends.end(), failed);
  if (first == ends.end() || spec.probes.size() == 1) return first == ends.end() ? ends[0] : *first;
  const std::string& uuid = spec.probes[static_cast<size_t>(first - ends.begin())].uuid;
  const std::string message =
      absl::StrCat(std::count_if(ends.begin(), ends.end(), failed), " of ", ends.size(),
                   " devices were not measured; the first of them, ", uuid, ": ", first->message());
  absl::Status end(first->code(), message);
  first->ForEachPayload(
      [&end](absl::string_view type, const absl::Cord& payload) { end.SetPayload(type, payload); });
  return WithMetadata(std::move(end), "device_uuid", uuid);
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

HostProbe::HostProbe(ProbeProgram program, CalibrationStore& store, ProbeMetrics& metrics)
    : program_(std::move(program)),
      store_(store),
      metrics_(metrics),
      devices_([this](const Cancellation& stop) { return List(stop); }, worker_, store) {}

absl::StatusOr<std::vector<v1::Device>> HostProbe::List(const Cancellation& stop) {
  if (program_.off) return std::vector<v1::Device>();
  absl::StatusOr<std::vector<v1::Device>> devices = ListDevices(Path(), stop);
  if (devices.ok()) {
    for (v1::Device& device : *devices) Name(device);
  }
  if (devices.ok() && metrics_.shows_gpu_state()) {
    metrics_.SetGpuState(GpuState(*devices, Path(), stop));
  }
  return devices;
}

void HostProbe::Name(v1::Device& device) const {
  if (!program_.hostname.empty()) device.set_hostname(program_.hostname);
}

std::string HostProbe::Path() const {
  return program_.path.empty() ? FindProbeProgram(ProgramFolder()) : program_.path;
}

void HostProbe::WhenListed(std::function<void(const absl::Status&)> done) {
  devices_.WhenListed(std::move(done));
}

void HostProbe::Run(ProbeJob job) {
  WhenListed([this, job = std::move(job)](const absl::Status& listed) {
    const absl::Status admitted = listed.ok() ? Admit(job) : listed;
    if (!admitted.ok()) job.end(admitted);
  });
}

absl::Status HostProbe::Admit(const ProbeJob& job) {
  if (job.cancellation->cancelled()) return ProbeCancelled();
  SEXTANT_ASSIGN_OR_RETURN(ProbeSpec spec, ProbeSpecFrom(job.request, *store_.snapshot()));
  SEXTANT_RETURN_IF_ERROR(
      slot_.Take(spec.budget.budget_seconds * static_cast<double>(spec.probes.size())));
  worker_.Post(job.cancellation, [this, job, spec = std::move(spec)] { Measure(job, spec); });
  return absl::OkStatus();
}

void HostProbe::Measure(const ProbeJob& job, const ProbeSpec& spec) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<absl::Status> ends;
  for (size_t i = 0; i < spec.probes.size(); ++i) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    ends.push_back(MeasureDevice(job, spec,
                                 {.uuid = spec.probes[i].uuid,
                                  .with_shapes = spec.with_shapes,
                                  .index = i,
                                  .count = spec.probes.size(),
                                  .elapsed_seconds = elapsed.count()}));
    if (absl::IsCancelled(ends.back())) break;
  }
  // Before the caller is answered: it may ask for the next probe at once.
  slot_.Release();
  job.end(EndOf(ends, spec));
}

absl::Status HostProbe::MeasureDevice(const ProbeJob& job, const ProbeSpec& spec,
                                      const RecordedDevice& device) {
  ProbeRun run = {.program = Path(),
                  .arguments = spec.probes[device.index].arguments,
                  .deadline_seconds = spec.budget.deadline_seconds,
                  .silence_seconds = spec.budget.silence_seconds,
                  .late_advice = "try again, or a shorter mode or smaller shapes"};
  if (!program_.library_folder.empty()) {
    run.arguments.push_back(absl::StrCat("--library_folder=", program_.library_folder));
  }
  run.arguments.push_back(absl::StrCat("--parent_pid=", getpid()));
  ProbeRecorder recorder(device, store_, metrics_, job.send);
  const absl::Status end = RunProbe(run, *job.cancellation, [&](v1::ProbeEvent event) {
    if (event.has_calibration()) Name(*event.mutable_calibration()->mutable_device());
    return recorder.Record(event);
  });
  if (end.ok()) recorder.Keep();
  metrics_.CountRun(end, recorder.partial());
  return end;
}

}  // namespace sextant::server
