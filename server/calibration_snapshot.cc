#include "server/calibration_snapshot.h"

#include <algorithm>
#include <utility>

#include "server/calibration_figures.h"
#include "server/convert/calibration.h"

namespace sextant {
namespace {

// The modes of a valid calibration are numbered from the least thorough on.
static_assert(v1::PROBE_MODE_QUICK == 1 && v1::PROBE_MODE_STANDARD == 2 &&
              v1::PROBE_MODE_FULL == 3);

CalibrationFacts FactsOf(const v1::Calibration& calibration) {
  const auto& measured = calibration.measured_time();
  return {
      .thoroughness = calibration.mode(),
      .coverage_ratio = calibration.coverage_ratio(),
      .stable = IsStable(calibration),
      .measured = absl::FromUnixSeconds(measured.seconds()) + absl::Nanoseconds(measured.nanos()),
      .state = StateOf(calibration.device())};
}

}  // namespace

std::shared_ptr<const StoredCalibration> StoredFrom(v1::Calibration calibration) {
  std::string fingerprint = CalibrationFingerprint(calibration);
  CalibrationFacts facts = FactsOf(calibration);
  return std::make_shared<StoredCalibration>(
      StoredCalibration{std::move(calibration), std::move(fingerprint), std::move(facts)});
}

DeviceState StateOf(const v1::Device& device) {
  DeviceState out = {.driver_version = device.driver_version()};
  if (device.has_power_limit_watts()) out.power_limit_watts = device.power_limit_watts();
  return out;
}

std::shared_ptr<const StoredCalibration> DeviceCalibrations::OfMode(v1::ProbeMode mode) const {
  for (const auto& stored : by_mode) {
    if (stored->calibration.mode() == mode) return stored;
  }
  return nullptr;
}

const v1::Device* CalibrationSnapshot::FindDevice(absl::string_view uuid) const {
  for (const v1::Device& device : devices) {
    if (device.uuid() == uuid) return &device;
    if (uuid == "host" && device.kind() == v1::DEVICE_KIND_CPU) return &device;
  }
  return nullptr;
}

const DeviceCalibrations* CalibrationSnapshot::FindAll(absl::string_view uuid) const {
  const v1::Device* device = FindDevice(uuid);
  if (device == nullptr) return nullptr;
  for (const DeviceCalibrations& kept : calibrations) {
    if (kept.device.uuid() == device->uuid()) return &kept;
  }
  return nullptr;
}

std::shared_ptr<const StoredCalibration> CalibrationSnapshot::InUse(
    const DeviceCalibrations& kept, const CalibrationQuery& query) const {
  const v1::Device* listed = FindDevice(kept.device.uuid());
  const CalibrationDemand demand = {
      .state = StateOf(listed != nullptr ? *listed : kept.device),
      .now = query.now,
      .maximum_age = std::min(query.maximum_age.value_or(kMaxCalibrationAge), kMaxCalibrationAge)};
  std::vector<const CalibrationFacts*> facts;
  facts.reserve(kept.by_mode.size());
  for (const auto& stored : kept.by_mode) facts.push_back(&stored->facts);
  return kept.by_mode[ChooseCalibration(facts, demand)];
}

const StoredCalibration* CalibrationSnapshot::Find(absl::string_view uuid,
                                                   const CalibrationQuery& query) const {
  const DeviceCalibrations* kept = FindAll(uuid);
  return kept == nullptr ? nullptr : InUse(*kept, query).get();
}

}  // namespace sextant
