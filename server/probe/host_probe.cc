#include "server/probe/host_probe.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "server/probe/probe_events.h"
#include "server/probe/probe_process.h"
#include "server/store/default_paths.h"

namespace sextant::server {
namespace {

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
