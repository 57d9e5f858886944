#include "server/store/calibration_snapshot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/convert/calibration.h"

namespace sextant::server {
namespace {

// As kSamePowerWatts of gpu_probe/health/figures.cc.
constexpr double kSameLimitWatts = 1;

bool Fits(const CalibrationFacts& facts, const CalibrationDemand& demand) {
  const absl::Duration age = demand.now - facts.measured;
  return IsSameState(facts.state, demand.state) && age <= demand.maximum_age &&
         age >= -kMaxClockSkew;
}

// The modes of a valid calibration are numbered from the least thorough on.
static_assert(v1::PROBE_MODE_QUICK == 1 && v1::PROBE_MODE_STANDARD == 2 &&
              v1::PROBE_MODE_FULL == 3);

CalibrationFacts FactsOf(const v1::Calibration& calibration, const DeviceModel& model) {
  const auto& measured = calibration.measured_time();
  return {
      .thoroughness = calibration.mode(),
      .coverage_ratio = calibration.coverage_ratio(),
      .stable = model.calibration().IsStable(),
      .measured = absl::FromUnixSeconds(measured.seconds()) + absl::Nanoseconds(measured.nanos()),
      .state = StateOf(calibration.device())};
}

}  // namespace

bool IsSameState(const DeviceState& a, const DeviceState& b) {
  const bool told = a.power_limit_watts.has_value();
  if (a.driver_version != b.driver_version || told != b.power_limit_watts.has_value()) return false;
  return !told || std::abs(*a.power_limit_watts - *b.power_limit_watts) <= kSameLimitWatts;
}

CalibrationPreference Prefer(const CalibrationFacts& first, const CalibrationFacts& second,
                             const CalibrationDemand& demand) {
  const bool fits = Fits(first, demand);
  if (fits != Fits(second, demand)) return {fits, CalibrationMerit::kFits};
  if (!fits && first.measured != second.measured) {
    return {first.measured > second.measured, CalibrationMerit::kNewer};
  }
  if (first.stable != second.stable) return {first.stable, CalibrationMerit::kStable};
  if (first.thoroughness != second.thoroughness) {
    return {first.thoroughness > second.thoroughness, CalibrationMerit::kFuller};
  }
  if (first.coverage_ratio != second.coverage_ratio) {
    return {first.coverage_ratio > second.coverage_ratio, CalibrationMerit::kFuller};
  }
  return {first.measured >= second.measured, CalibrationMerit::kNewer};
}

size_t ChooseCalibration(absl::Span<const CalibrationFacts* const> all,
                         const CalibrationDemand& demand) {
  size_t best = 0;
  for (size_t i = 1; i < all.size(); ++i) {
    if (!Prefer(*all[best], *all[i], demand).first) best = i;
  }
  return best;
}

std::shared_ptr<const StoredCalibration> StoredFrom(v1::Calibration calibration) {
  std::string fingerprint = CalibrationFingerprint(calibration);
  std::shared_ptr<const DeviceModel> model = DeviceModelFrom(calibration, fingerprint);
  CalibrationFacts facts = FactsOf(calibration, *model);
  return std::make_shared<StoredCalibration>(StoredCalibration{
      std::move(calibration), std::move(fingerprint), std::move(model), std::move(facts)});
}

DeviceState StateOf(const v1::Device& device) {
  DeviceState out = {.driver_version = device.driver_version()};
  if (device.has_power_limit_watts()) out.power_limit_watts = device.power_limit_watts();
  return out;
}

absl::optional<int64_t> CalibrationQuery::OldestUnixSeconds() const {
  if (!maximum_age.has_value()) return absl::nullopt;
  const absl::Time oldest = now - *maximum_age;
  const int64_t whole = absl::ToUnixSeconds(oldest);  // rounded down
  return absl::FromUnixSeconds(whole) < oldest ? whole + 1 : whole;
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

std::vector<const DeviceModel*> CalibrationSnapshot::TrustedModels(
    const CalibrationQuery& query) const {
  std::vector<const DeviceModel*> out;
  for (const DeviceCalibrations& kept : calibrations) {
    if (distrusted.count(kept.device.uuid()) > 0) continue;
    out.push_back(InUse(kept, query)->model.get());
  }
  return out;
}

double MeasuredUnixSeconds(const v1::Calibration& calibration) {
  const auto& measured = calibration.measured_time();
  return static_cast<double>(measured.seconds()) + 1e-9 * static_cast<double>(measured.nanos());
}

double CalibrationAgeSeconds(const v1::Calibration& calibration,
                             std::chrono::system_clock::time_point now) {
  const double now_seconds = std::chrono::duration<double>(now.time_since_epoch()).count();
  return now_seconds - MeasuredUnixSeconds(calibration);
}

}  // namespace sextant::server
