#include "engine/hardware/device_selection.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/base/reason.h"
#include "engine/base/text.h"
#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

// One of the devices that a selection names.
struct Member {
  absl::string_view uuid;  // empty: unknown
  absl::string_view product_name;
};

std::vector<Member> MembersOf(const DeviceSelection& selection) {
  std::vector<Member> out;
  out.reserve(selection.named_count());
  for (const NamedDevice& d : selection.devices) out.push_back({d.uuid, d.product_name});
  for (const auto& model : selection.calibrations) {
    out.push_back({model->calibration().uuid, model->calibration().product_name});
  }
  return out;
}

// The index of the first member that is the same device as `members[index]`.
size_t FirstOf(const std::vector<Member>& members, size_t index) {
  size_t first = 0;
  while (members[first].uuid != members[index].uuid) ++first;
  return first;
}

// Whose rates a fleet's are.
std::string FleetText(const FleetRates& fleet) {
  std::string out = absl::StrCat(
      "Rates are ",
      fleet.source == RateSource::kMeasuredModel ? "the median of " : "of the slowest of ",
      fleet.device_count, " devices");
  if (fleet.host_count > 0) absl::StrAppend(&out, " on ", fleet.host_count, " hosts");
  absl::StrAppend(&out, ", by the fleet's metrics");
  if (fleet.oldest_unix_seconds > 0) {
    absl::StrAppend(&out, "; the oldest measured ", UtcText(fleet.oldest_unix_seconds));
  }
  return absl::StrCat(out, ".");
}

}  // namespace

std::vector<const DeviceModel*> DeviceSelection::models() const {
  std::vector<const DeviceModel*> out;
  out.reserve(named_count());
  for (const NamedDevice& device : devices) {
    if (device.model != nullptr) out.push_back(device.model.get());
  }
  for (const auto& model : calibrations) out.push_back(model.get());
  if (!fleet.has_value()) return out;
  for (const auto& model : fleet->models) out.push_back(model.get());
  return out;
}

int64_t DeviceSelection::measured_count(int64_t device_count) const {
  if (!fleet.has_value()) return static_cast<int64_t>(named_count());
  if (fleet->source == RateSource::kMeasuredModel) return device_count;
  return std::min(device_count, fleet->device_count);
}

std::string DeviceSelection::ListField(absl::string_view path) const {
  return FieldPath(path, devices.empty() ? "calibrations.calibrations" : "host_devices.devices");
}

std::string DeviceSelection::FieldOf(size_t index, absl::string_view path) const {
  return absl::StrCat(ListField(path), "[", index, "]");
}

void RequireSelection(const DeviceSelection& selection, absl::string_view path,
                      FieldViolations& violations) {
  if (!selection.empty() || violations.Mentions(path)) return;
  violations.Add(
      path, absl::StrCat("names no device: write ", path,
                         ".accelerator, e.g. h100-sxm (docs/accelerators.md lists them), or else ",
                         path, ".host_devices or ", path, ".calibrations"));
}

void CheckSelection(const DeviceSelection& selection, absl::string_view path,
                    FieldViolations& violations) {
  const std::vector<Member> members = MembersOf(selection);
  const Member* known = nullptr;  // the first whose product is known
  for (size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    if (member.uuid.empty()) continue;
    if (known == nullptr) known = &member;
    if (const size_t first = FirstOf(members, i); first != i) {
      violations.Add(selection.FieldOf(i, path),
                     absl::StrCat("is ", member.uuid, ", which ", selection.FieldOf(first, path),
                                  " is too: name it once"));
    } else if (member.product_name != known->product_name) {
      violations.Add(selection.FieldOf(i, path),
                     absl::StrCat("is of product \"", member.product_name, "\", but ", known->uuid,
                                  " is of product \"", known->product_name,
                                  "\": name devices of one product"));
    }
  }
}

const Accelerator* FindSelected(const DeviceSelection& selection, absl::string_view path,
                                std::vector<UnknownName>& unknown) {
  for (size_t i = 0; i < selection.devices.size(); ++i) {
    const absl::Status& found = selection.devices[i].found;
    if (!found.ok()) unknown.push_back({selection.FieldOf(i, path), found});
  }
  if (selection.accelerator.empty()) return nullptr;
  const auto accelerator = FindAccelerator(selection.accelerator);
  if (accelerator.ok()) return *accelerator;
  unknown.push_back(
      {FieldPath(path, selection.fleet.has_value() ? "fleet.accelerator" : "accelerator"),
       accelerator.status()});
  return nullptr;
}

absl::Status StatusOfAll(const std::vector<UnknownName>& unknown, FieldViolations& violations) {
  if (violations.empty() && unknown.size() == 1) {
    return WithField(unknown.front().status, unknown.front().field);
  }
  for (const UnknownName& name : unknown) violations.Add(name.field, name.status.message());
  return violations.ToStatus();
}

absl::optional<std::string> UnmeasuredText(const NamedDevice& device, absl::string_view instead) {
  if (device.distrusted) {
    return absl::StrCat("device ", device.uuid,
                        " had a wrong result in its last probe, so what was measured of it is "
                        "withdrawn: have it inspected, and measure it again");
  }
  if (device.model != nullptr) return absl::nullopt;
  return absl::StrCat("device ", device.uuid, " was never measured: measure it, or ", instead);
}

void AppendFleetNotes(const DeviceSelection& selection, absl::string_view field, bool assumptions,
                      Notes& out) {
  if (!selection.fleet.has_value()) return;
  const FleetRates& fleet = *selection.fleet;
  if (fleet.models.empty() || !fleet.missing.empty()) {
    AddNote(out, NoteKind::kFleetUnread,
            absl::StrCat(
                "No rates of these devices were read from the fleet's metrics: ", fleet.missing,
                "; ", fleet.models.empty() ? "what is published" : "the fleet's median", " of ",
                selection.accelerator, " stands in."),
            field);
  }
  if (!fleet.models.empty() && assumptions) {
    AddNote(out, NoteKind::kFleetRates, FleetText(fleet), field).values = {
        {"device_count", fleet.device_count}, {"host_count", fleet.host_count}};
  }
  if (fleet.unread_seconds.has_value()) {
    AddNote(
        out, NoteKind::kFleetStale,
        absl::StrFormat("The fleet's rates are those of %.0f seconds ago%s%s.",
                        *fleet.unread_seconds, fleet.failure.empty() ? "" : ": ", fleet.failure))
        .values = {{"age_seconds", *fleet.unread_seconds}};
  }
  if (!fleet.unhealthy.empty()) {
    AddNote(out, NoteKind::kFleetDevicesUnhealthy,
            absl::StrCat(
                "Devices had a wrong result in their last probe, and their rates are withdrawn: ",
                absl::StrJoin(fleet.unhealthy, ", "), "; have them inspected."),
            field)
        .values = {{"device_count", fleet.unhealthy.size()}};
  }
}

absl::Status CheckMeasured(const DeviceSelection& selection, absl::string_view instead) {
  std::vector<PreconditionViolation> missing;
  for (const NamedDevice& device : selection.devices) {
    absl::optional<std::string> text = UnmeasuredText(device, instead);
    if (!text.has_value()) continue;
    missing.push_back({kRatesNotMeasured, std::string(device.uuid), *std::move(text)});
  }
  return missing.empty() ? absl::OkStatus() : FailedPrecondition(kRatesNotMeasured, missing);
}

}  // namespace sextant
