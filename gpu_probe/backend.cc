#include "gpu_probe/backend.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "gpu_probe/device_lock.h"
#include "gpu_probe/host_environment.h"
#include "gpu_probe/measure.h"
#include "gpu_probe/options.h"
#include "proto/check/calibration.h"
#include "proto/matmul_kind.h"

namespace sextant::probe {
namespace {

constexpr char kAuto[] = "auto";

struct FoundDevice {
  const Backend* backend;
  v1::Device device;
};

struct Survey {
  std::vector<FoundDevice> found;  // never empty
  std::vector<std::string> notes;
  absl::Status first_fault;  // OK where each backend listed its devices
};

// False where the host just has no such devices, as most hosts: no note is needed.
bool IsWorthANote(const Backend& backend, const absl::Status& absent) {
  return backend.is_plain_absence == nullptr || !backend.is_plain_absence(absent);
}

// Asks each backend for its devices by `ask`.
absl::StatusOr<Survey> SurveyOf(
    const std::string& backend_name, absl::Span<const Backend> backends,
    absl::StatusOr<std::vector<v1::Device>> (*ask)(const Backend& backend)) {
  Survey survey;
  absl::Status none_named =
      absl::UnimplementedError(absl::StrCat("this program has no backend \"", backend_name, "\""));
  for (const Backend& backend : backends) {
    if (backend_name != kAuto && backend_name != backend.name) continue;
    none_named =
        absl::NotFoundError(absl::StrCat("there is no device for --backend=", backend_name));
    absl::StatusOr<std::vector<v1::Device>> devices = ask(backend);
    if (!devices.ok()) {
      survey.first_fault.Update(devices.status());
      if (IsWorthANote(backend, devices.status())) {
        survey.notes.push_back(absl::StrCat("No device of --backend=", backend.name,
                                            " could be seen: ", devices.status().message(), "."));
      }
      continue;
    }
    for (v1::Device& device : *devices) survey.found.push_back({&backend, std::move(device)});
  }
  if (!survey.found.empty()) return survey;
  return survey.first_fault.ok() ? none_named : survey.first_fault;
}

absl::Status NoSuchDevice(const std::string& uuid, const Survey& survey) {
  const std::string uuids = absl::StrJoin(
      survey.found, ", ",
      [](std::string* out, const FoundDevice& it) { absl::StrAppend(out, it.device.uuid()); });
  const std::string message = absl::StrCat("there is no device ", uuid, "; this host has ", uuids);
  if (survey.first_fault.ok()) return absl::NotFoundError(message);
  absl::Status status =
      absl::NotFoundError(absl::StrCat(message, "; ", survey.first_fault.message()));
  for (const auto& [key, value] : MetadataOf(survey.first_fault)) {
    status = WithMetadata(std::move(status), key, value);
  }
  return status;
}

// Returns the first device whose backend can measure it. Adds a note for each one before it.
absl::StatusOr<const FoundDevice*> FirstMeasurable(const Survey& survey,
                                                   std::vector<std::string>* notes) {
  absl::Status first_fault;
  for (const FoundDevice& found : survey.found) {
    const absl::Status able =
        found.backend->can_measure ? found.backend->can_measure() : absl::OkStatus();
    if (able.ok()) return &found;
    if (first_fault.ok()) notes->push_back(absl::StrCat(able.message(), "."));
    first_fault.Update(able);
  }
  return first_fault;
}

// Any number works: the order only has to be the same in each run.
constexpr uint64_t kShuffleSeed = 1;

// A requested shape that can't be measured is a failure, not a note.
absl::Status CheckRequested(const ProbeOptions& options, const Measurement& measurement) {
  const auto& matmuls = measurement.calibration.matmuls();
  const auto requested_count = std::count_if(matmuls.begin(), matmuls.end(), IsRequested);
  if (static_cast<size_t>(requested_count) >= options.matmuls.size()) return absl::OkStatus();
  if (!measurement.left_out.ok()) return measurement.left_out;
  return absl::InternalError(absl::StrCat("only ", requested_count, " of ", options.matmuls.size(),
                                          " shapes were measured"));
}

// GPUs of a host are measured one after another: they share its power, its processors and their
// links.
constexpr char kAllGpus[] = "GPUs of this host";

// Locks that are held while a device is measured.
struct Locks {
  DeviceLock device;
  absl::optional<DeviceLock> all_gpus;
};

absl::StatusOr<Locks> TakeLocks(const v1::Device& device) {
  absl::optional<DeviceLock> all_gpus;
  if (device.kind() == v1::DEVICE_KIND_GPU) {
    SEXTANT_ASSIGN_OR_RETURN(DeviceLock taken, DeviceLock::Take(LockFolder(), kAllGpus));
    all_gpus.emplace(std::move(taken));
  }
  SEXTANT_ASSIGN_OR_RETURN(DeviceLock lock, DeviceLock::Take(LockFolder(), device.uuid()));
  return Locks{.device = std::move(lock), .all_gpus = std::move(all_gpus)};
}

v1::ProbeProgress Preparing(const std::string& phase, double elapsed_seconds) {
  v1::ProbeProgress progress;
  progress.set_phase(phase);
  progress.set_elapsed_seconds(elapsed_seconds);
  return progress;
}

}  // namespace

absl::StatusOr<ListedDevices> ListDevices(const std::string& backend_name,
                                          absl::Span<const Backend> backends) {
  SEXTANT_ASSIGN_OR_RETURN(Survey survey, SurveyOf(backend_name, backends,
                                                   [](const Backend& it) { return it.devices(); }));
  ListedDevices listed = {.devices = {}, .notes = std::move(survey.notes)};
  for (FoundDevice& found : survey.found) listed.devices.push_back(std::move(found.device));
  return listed;
}

absl::StatusOr<ChosenDevice> ChooseDevice(const ProbeOptions& options,
                                          absl::Span<const Backend> backends) {
  SEXTANT_ASSIGN_OR_RETURN(Survey survey,
                           SurveyOf(options.backend, backends, [](const Backend& it) {
                             return it.choices ? it.choices() : it.devices();
                           }));
  const auto& found = survey.found;
  if (!options.device.empty()) {
    const auto named = std::find_if(found.begin(), found.end(), [&](const FoundDevice& it) {
      return it.device.uuid() == options.device;
    });
    if (named == found.end()) return NoSuchDevice(options.device, survey);
    return ChosenDevice{.backend = named->backend, .device = named->device, .notes = {}};
  }
  SEXTANT_ASSIGN_OR_RETURN(const FoundDevice* const chosen, FirstMeasurable(survey, &survey.notes));
  const FoundDevice& first = *chosen;
  const auto alike_count = std::count_if(found.begin(), found.end(), [&](const FoundDevice& it) {
    return it.backend == first.backend;
  });
  if (alike_count > 1) {
    survey.notes.push_back(absl::StrCat("This is the first of ", alike_count,
                                        " devices of --backend=", first.backend->name,
                                        " on this host; --device names another (see --list)."));
  }
  return ChosenDevice{
      .backend = first.backend, .device = first.device, .notes = std::move(survey.notes)};
}

absl::StatusOr<v1::Calibration> MeasureDevice(
    absl::Span<const Backend> backends, const ProbeOptions& options, Clock& clock,
    const std::function<bool(const v1::ProbeProgress&)>& show) {
  MeasureOptions measure_options = {.start_seconds = clock.NowSeconds(),
                                    .budget_seconds = BudgetSecondsOf(options),
                                    .all_essential = !options.matmuls.empty(),
                                    .shuffle_seed = kShuffleSeed};
  SEXTANT_ASSIGN_OR_RETURN(const ChosenDevice chosen, ChooseDevice(options, backends));
  SEXTANT_ASSIGN_OR_RETURN(const Locks locks, TakeLocks(chosen.device));
  const auto show_phase = [&](const std::string& phase) {
    show(Preparing(phase, clock.NowSeconds() - measure_options.start_seconds));
  };
  show_phase("load");
  ProbeOptions options_of_device = options;
  options_of_device.device = chosen.device.uuid();
  SEXTANT_ASSIGN_OR_RETURN(ProbePlan plan, chosen.backend->plan(options_of_device, show_phase));
  plan.notes.insert(plan.notes.begin(), chosen.notes.begin(), chosen.notes.end());
  if (!locks.device.note().empty()) plan.notes.push_back(locks.device.note());
  measure_options.ending_seconds =
      std::min(plan.ending_seconds, kMaxEndingShare * measure_options.budget_seconds);
  SEXTANT_ASSIGN_OR_RETURN(Measurement measurement, Measure(plan, measure_options, clock, show));
  SEXTANT_RETURN_IF_ERROR(CheckRequested(options, measurement));
  v1::Calibration calibration = std::move(measurement.calibration);
  AddHostEnvironment("", &calibration);
  calibration.set_schema_version(check::kSchemaVersion);
  calibration.set_mode(options.mode);
  calibration.set_probe_version(absl::StrCat("sextant-probe ", EngineVersion()));
  *calibration.mutable_measured_time() =
      google::protobuf::util::TimeUtil::TimeTToTimestamp(std::time(nullptr));
  return calibration;
}

}  // namespace sextant::probe
