#include "gpu_probe/backend.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"

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

}  // namespace sextant::probe
