#include "server/host_probe.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "server/default_paths.h"
#include "server/probe_fault.h"
#include "server/probe_runner.h"

namespace sextant {

HostProbe::HostProbe(std::string program, CalibrationStore& store, ProbeMetrics& metrics)
    : program_(std::move(program)),
      store_(store),
      metrics_(metrics),
      devices_([this](const Cancellation& stop) { return ListDevices(Program(), stop); }, worker_,
               store) {}

std::string HostProbe::Program() const {
  return program_.empty() ? FindProbeProgram(ProgramFolder()) : program_;
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
  SEXTANT_RETURN_IF_ERROR(slot_.Take(spec.budget.budget_seconds));
  worker_.Post(job.cancellation, [this, job, spec = std::move(spec)] { Measure(job, spec); });
  return absl::OkStatus();
}

void HostProbe::Measure(const ProbeJob& job, const ProbeSpec& spec) {
  ProbeRun run = {.program = Program(),
                  .arguments = spec.arguments,
                  .deadline_seconds = spec.budget.deadline_seconds,
                  .silence_seconds = spec.budget.silence_seconds,
                  .late_advice = "try again, or a shorter mode or smaller shapes"};
  run.arguments.push_back(absl::StrCat("--parent_pid=", getpid()));
  ProbeRecorder recorder(spec, store_, metrics_, job.send);
  const absl::Status end = RunProbe(
      run, *job.cancellation, [&](const v1::ProbeEvent& event) { return recorder.Record(event); });
  if (end.ok()) recorder.Keep();
  metrics_.CountRun(end, recorder.partial());
  // Before the caller hears: it may ask for the next probe at once.
  slot_.Release();
  job.end(end);
}

}  // namespace sextant
