#include "server/store/calibration_store.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"
#include "proto/check/calibration.h"
#include "server/base/log.h"
#include "server/convert/calibration.h"
#include "server/store/calibration_file.h"

namespace sextant::server {
namespace {

using StoredPointer = std::shared_ptr<const StoredCalibration>;

constexpr absl::string_view kDevicePrefixes[] = {"CPU-", "GPU-", "MIG-"};

DeviceCalibrations* KeptOf(absl::string_view uuid, CalibrationSnapshot& snapshot) {
  for (DeviceCalibrations& kept : snapshot.calibrations) {
    if (kept.device.uuid() == uuid) return &kept;
  }
  return nullptr;
}

// The calibration that a new one of the mode may replace; null: none.
StoredPointer FormerOf(absl::string_view uuid, v1::ProbeMode mode,
                       const CalibrationSnapshot& snapshot) {
  for (const DeviceCalibrations& kept : snapshot.calibrations) {
    if (kept.device.uuid() == uuid) return kept.OfMode(mode);
  }
  return nullptr;
}

void Remove(absl::string_view uuid, CalibrationSnapshot& snapshot) {
  auto& all = snapshot.calibrations;
  all.erase(
      std::remove_if(all.begin(), all.end(),
                     [&](const DeviceCalibrations& kept) { return kept.device.uuid() == uuid; }),
      all.end());
}

// Stores `stored` as the calibration of its device and mode.
void Put(const StoredPointer& stored, CalibrationSnapshot& snapshot) {
  const v1::Device& device = stored->calibration.device();
  DeviceCalibrations* kept = KeptOf(device.uuid(), snapshot);
  if (kept == nullptr) kept = &snapshot.calibrations.emplace_back();
  auto& all = kept->by_mode;
  const StoredPointer former = kept->OfMode(stored->calibration.mode());
  all.erase(std::remove(all.begin(), all.end(), former), all.end());
  all.push_back(stored);
  if (stored->facts.measured < kept->last_measured) return;
  kept->device = device;
  kept->last_measured = stored->facts.measured;
  kept->last_stable = stored->facts.stable;
}

// Stores a file's calibration, unless the present one is better or the same.
void PutLoaded(const StoredPointer& loaded, absl::Time now, CalibrationSnapshot& snapshot) {
  const v1::Calibration& calibration = loaded->calibration;
  const StoredPointer former = FormerOf(calibration.device().uuid(), calibration.mode(), snapshot);
  if (former != nullptr) {
    const bool later = loaded->facts.measured > former->facts.measured;
    const DeviceState& state = later ? loaded->facts.state : former->facts.state;
    if (Prefer(former->facts, loaded->facts, {.state = state, .now = now}).first) return;
  }
  Put(loaded, snapshot);
}

// Records the device as just measured, whether or not the calibration is kept.
void SetLastMeasured(const StoredCalibration& stored, CalibrationSnapshot& snapshot) {
  const v1::Device& device = stored.calibration.device();
  DeviceCalibrations& kept = *KeptOf(device.uuid(), snapshot);
  kept.device = device;
  kept.last_measured = stored.facts.measured;
  kept.last_stable = stored.facts.stable;
  for (v1::Device& listed : snapshot.devices) {
    if (listed.uuid() == device.uuid()) listed = device;
  }
}

bool IsRegularFile(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::regular;
}

// The UUID of the device that a regular file is named after; absent: not a calibration's file.
absl::optional<std::string> DeviceOf(const std::filesystem::path& path) {
  if (!IsRegularFile(path)) return absl::nullopt;
  const auto name = CalibrationNameFrom(path.filename().string());
  std::string uuid = path.stem();
  if (name.has_value()) {
    uuid = name->uuid;
  } else if (path != DistrustPath(path.parent_path().string(), uuid)) {
    return absl::nullopt;
  }
  for (const absl::string_view prefix : kDevicePrefixes) {
    if (absl::StartsWith(uuid, prefix)) return uuid;
  }
  return absl::nullopt;
}

void LogSetAside(const std::string& path, absl::string_view reason,
                 const absl::StatusOr<std::string>& aside) {
  LogEvent(LogLevel::kWarning, "calibration_set_aside",
           {{"file", path},
            {"reason", std::string(reason)},
            {aside.ok() ? "renamed_to" : "not_renamed",
             aside.ok() ? *aside : std::string(aside.status().message())}});
}

absl::Status ClockStatus(const v1::Calibration& calibration, absl::Time now) {
  FieldViolations violations;
  CheckNotAhead(calibration, "", now, violations);
  return violations.ToStatus();
}

}  // namespace

std::string Hostname() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

CalibrationStore::CalibrationStore(std::string folder, std::string hostname, absl::Time now)
    : folder_(std::move(folder)),
      hostname_(std::move(hostname)),
      snapshot_(std::make_shared<const CalibrationSnapshot>()) {
  if (!folder_.empty()) Load(now);
}

template <typename Change>
void CalibrationStore::Publish(Change change) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto next = std::make_shared<CalibrationSnapshot>(*snapshot_.load());
  change(*next);
  snapshot_.store(std::move(next));
}

void CalibrationStore::ReadAgain(absl::Time now) {
  const std::lock_guard<std::mutex> files_lock(files_mutex_);
  if (!folder_.empty()) RefreshAll(now);
}

void CalibrationStore::RefreshAll(absl::Time now) {
  std::set<std::string> uuids;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const absl::optional<std::string> uuid = DeviceOf(entry->path());
    if (uuid.has_value()) uuids.insert(*uuid);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    LogEvent(LogLevel::kError, "calibrations_unreadable",
             {{"folder", folder_}, {"reason", error.message()}});
  }
  for (const std::string& uuid : uuids) Refresh(uuid, now);
}

void CalibrationStore::Load(absl::Time now) {
  RemoveLeftovers(folder_);
  RefreshAll(now);
  Publish([&](CalibrationSnapshot& next) {
    // Until the probe has listed the host's devices: plans need not wait for it. A shared home, a
    // moved volume or a cloned image holds other hosts' devices, too.
    for (const DeviceCalibrations& kept : next.calibrations) {
      const bool ours = !hostname_.empty() && kept.device.hostname() == hostname_;
      if (ours) next.devices.push_back(kept.device);
    }
  });
}

void CalibrationStore::Refresh(const std::string& uuid, absl::Time now) {
  if (folder_.empty() || !check::IsUuid(uuid)) return;
  if (snapshot_.load()->distrusted.count(uuid) > 0) return;  // withdrawn, or can't be
  if (IsRegularFile(DistrustPath(folder_, uuid))) return LoadDistrusted(uuid);
  for (const std::string& path : CalibrationPathsOf(folder_, uuid)) {
    if (IsRegularFile(path)) LoadFile(path, now);
  }
}

void CalibrationStore::LoadDistrusted(const std::string& uuid) {
  Publish([&](CalibrationSnapshot& next) {
    next.distrusted.insert(uuid);
    Remove(uuid, next);
  });
  LogEvent(LogLevel::kWarning, "device_distrusted",
           {{"device", uuid},
            {"reason", "its last probe had a wrong result: measure it again"},
            {"mark", DistrustPath(folder_, uuid)}});
  (void)Withdraw(uuid);  // where a crash kept the server from doing so; it is logged
}

void CalibrationStore::LoadFile(const std::string& path, absl::Time now) {
  absl::StatusOr<v1::Calibration> calibration = ReadCalibrationFile(path);
  if (calibration.ok()) {
    if (const absl::Status clock = ClockStatus(*calibration, now); !clock.ok()) {
      LogEvent(LogLevel::kWarning, "calibration_from_future",
               {{"file", path}, {"reason", std::string(clock.message())}});
      return;
    }
    const StoredPointer loaded = StoredFrom(*std::move(calibration));
    Publish([&](CalibrationSnapshot& next) { PutLoaded(loaded, now, next); });
    return;
  }
  const absl::Status& fault = calibration.status();
  if (absl::IsUnavailable(fault)) {
    obstructed_.insert(path);
    LogEvent(LogLevel::kError, "calibration_unreadable",
             {{"file", path}, {"reason", std::string(fault.message())}});
    return;
  }
  const auto aside = SetFileAside(path, absl::IsUnimplemented(fault) ? "newer" : "damaged");
  if (!aside.ok()) obstructed_.insert(path);
  LogSetAside(path, fault.message(), aside);
}

void CalibrationStore::SetDevices(std::vector<v1::Device> devices) {
  Publish([&](CalibrationSnapshot& next) {
    next.devices = std::move(devices);
    next.is_listed = true;
  });
}

CalibrationStore::Kept CalibrationStore::Keep(v1::Calibration calibration, absl::Time now) {
  const std::lock_guard<std::mutex> files_lock(files_mutex_);
  Kept kept;
  kept.stored = StoredFrom(std::move(calibration));
  const CalibrationFacts& facts = kept.stored->facts;
  const v1::Calibration& measured = kept.stored->calibration;
  Refresh(measured.device().uuid(), now);
  const StoredPointer former =
      FormerOf(measured.device().uuid(), measured.mode(), *snapshot_.load());
  const CalibrationDemand demand = {.state = facts.state, .now = now};
  if (former != nullptr && !Prefer(facts, former->facts, demand).first) kept.better = former;
  if (kept.better == nullptr) kept.warning = Write(measured);
  Publish([&](CalibrationSnapshot& next) {
    next.distrusted.erase(measured.device().uuid());
    if (kept.better == nullptr) Put(kept.stored, next);
    SetLastMeasured(*kept.stored, next);
    kept.in_use = next.InUse(*KeptOf(measured.device().uuid(), next), {.now = now});
  });
  kept.merit = Prefer(kept.in_use->facts, facts, demand).merit;
  return kept;
}

std::string CalibrationStore::Write(const v1::Calibration& calibration) {
  constexpr char kConsequence[] = ": plans use this calibration until the server stops";
  const std::string& uuid = calibration.device().uuid();
  if (folder_.empty()) {
    return absl::StrCat("there is no folder for calibrations (--calibration_directory)",
                        kConsequence);
  }
  if (!check::IsUuid(uuid)) return absl::StrCat("its UUID can't name a file", kConsequence);
  const std::string path = CalibrationPath(folder_, uuid, calibration.mode());
  if (obstructed_.count(path) > 0) {
    return absl::StrCat(
        "a file that can't be read, or be moved aside, is in its place: repair or move ", path,
        " and start the server again", kConsequence);
  }
  const absl::Status written = WriteFiles(calibration);
  return written.ok() ? "" : absl::StrCat(written.message(), kConsequence);
}

absl::Status CalibrationStore::WriteFiles(const v1::Calibration& calibration) {
  const std::string& uuid = calibration.device().uuid();
  // In this order: a mark next to a file is a withdrawal that was interrupted.
  if (snapshot_.load()->distrusted.count(uuid) > 0) SEXTANT_RETURN_IF_ERROR(Withdraw(uuid));
  SEXTANT_RETURN_IF_ERROR(UnmarkDistrusted(folder_, uuid));
  SEXTANT_RETURN_IF_ERROR(WriteCalibrationFile(folder_, calibration));
  const absl::Status removed = RemoveFormerCalibration(folder_, uuid, calibration.mode());
  if (!removed.ok()) {
    LogEvent(LogLevel::kWarning, "former_calibration_stays",
             {{"device", uuid}, {"reason", std::string(removed.message())}});
  }
  return absl::OkStatus();
}

void CalibrationStore::Distrust(const std::string& uuid) {
  const std::lock_guard<std::mutex> files_lock(files_mutex_);
  Publish([&](CalibrationSnapshot& next) {
    next.distrusted.insert(uuid);
    Remove(uuid, next);
  });
  if (folder_.empty() || !check::IsUuid(uuid)) return;
  const absl::Status marked = MarkDistrusted(folder_, uuid);
  if (!marked.ok()) {
    LogEvent(LogLevel::kError, "distrust_not_kept",
             {{"device", uuid}, {"reason", std::string(marked.message())}});
  }
  (void)Withdraw(uuid);  // it is logged
}

absl::Status CalibrationStore::Withdraw(const std::string& uuid) {
  absl::Status first_fault;
  for (const std::string& path : CalibrationPathsOf(folder_, uuid)) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    const auto aside = SetFileAside(path, "mismatch");
    LogSetAside(path, "the probe had a wrong result on this device", aside);
    first_fault.Update(aside.status());
  }
  return first_fault;
}

}  // namespace sextant::server
