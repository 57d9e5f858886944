#include "server/calibration_store.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/calibration_file.h"
#include "server/convert/calibration.h"
#include "server/convert/calibration_clock.h"
#include "server/event_log.h"

namespace sextant {
namespace {

using StoredPointer = std::shared_ptr<const StoredCalibration>;

StoredPointer Store(v1::Calibration calibration) {
  std::string fingerprint = CalibrationFingerprint(calibration);
  return std::make_shared<StoredCalibration>(
      StoredCalibration{std::move(calibration), std::move(fingerprint)});
}

void Remove(absl::string_view uuid, CalibrationSnapshot& snapshot) {
  auto& all = snapshot.calibrations;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const StoredPointer& stored) {
                             return stored->calibration.device().uuid() == uuid;
                           }),
            all.end());
}

// Named after a device: anything else in the folder is someone else's.
bool IsOfADevice(const std::filesystem::directory_entry& entry) {
  std::error_code error;
  if (entry.symlink_status(error).type() != std::filesystem::file_type::regular) return false;
  const std::string uuid = entry.path().stem();
  return IsFileNameUuid(uuid) && (absl::StartsWith(uuid, "CPU-") ||
                                  absl::StartsWith(uuid, "GPU-") || absl::StartsWith(uuid, "MIG-"));
}

void LogSetAside(const std::string& path, absl::string_view reason,
                 const absl::StatusOr<std::string>& aside) {
  LogEvent("calibration_set_aside",
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

CalibrationStore::CalibrationStore(std::string folder, std::string hostname, absl::Time now)
    : folder_(std::move(folder)),
      hostname_(std::move(hostname)),
      snapshot_(std::make_shared<const CalibrationSnapshot>()) {
  if (!folder_.empty()) Load(now);
}

template <typename Change>
void CalibrationStore::Publish(Change change) {
  auto next = std::make_shared<CalibrationSnapshot>(*snapshot_.load());
  change(*next);
  snapshot_.store(std::move(next));
}

void CalibrationStore::Load(absl::Time now) {
  RemoveLeftovers(folder_);
  std::vector<std::string> paths;
  std::vector<std::string> distrusted;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder_, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (!IsOfADevice(*entry)) continue;
    if (entry->path().extension() == ".json") paths.push_back(entry->path());
    if (entry->path() == DistrustPath(folder_, entry->path().stem().string())) {
      distrusted.push_back(entry->path().stem());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    LogEvent("calibrations_unreadable", {{"folder", folder_}, {"reason", error.message()}});
  }
  for (const std::string& uuid : distrusted) LoadDistrusted(uuid);
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) LoadFile(path, now);
}

void CalibrationStore::LoadDistrusted(const std::string& uuid) {
  Publish([&](CalibrationSnapshot& next) { next.distrusted.insert(uuid); });
  LogEvent("device_distrusted", {{"device", uuid},
                                 {"reason", "its last probe had a wrong result: measure it again"},
                                 {"mark", DistrustPath(folder_, uuid)}});
  Withdraw(uuid);  // where a crash kept the server from doing so
}

void CalibrationStore::LoadFile(const std::string& path, absl::Time now) {
  const std::string uuid = std::filesystem::path(path).stem();
  if (snapshot_.load()->distrusted.count(uuid) > 0) return;  // withdrawn, or can't be
  absl::StatusOr<v1::Calibration> calibration = ReadCalibrationFile(path);
  if (calibration.ok()) {
    if (const absl::Status clock = ClockStatus(*calibration, now); !clock.ok()) {
      LogEvent("calibration_from_future",
               {{"file", path}, {"reason", std::string(clock.message())}});
      return;
    }
    Publish([&](CalibrationSnapshot& next) {
      // Until the probe has listed what is really there: plans need not wait for it. A shared
      // home, a moved volume or a cloned image holds other hosts' devices, too.
      const v1::Device& device = calibration->device();
      if (!hostname_.empty() && device.hostname() == hostname_) next.devices.push_back(device);
      next.calibrations.push_back(Store(*std::move(calibration)));
    });
    return;
  }
  const absl::Status& fault = calibration.status();
  if (absl::IsUnavailable(fault)) {
    obstructed_.insert(uuid);
    LogEvent("calibration_unreadable", {{"file", path}, {"reason", std::string(fault.message())}});
    return;
  }
  const auto aside = SetFileAside(path, absl::IsUnimplemented(fault) ? "newer" : "damaged");
  if (!aside.ok()) obstructed_.insert(uuid);
  LogSetAside(path, fault.message(), aside);
}

void CalibrationStore::SetDevices(std::vector<v1::Device> devices) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Publish([&](CalibrationSnapshot& next) { next.devices = std::move(devices); });
}

CalibrationStore::Kept CalibrationStore::Keep(v1::Calibration calibration) {
  const std::lock_guard<std::mutex> files_lock(files_mutex_);
  Kept kept = {.stored = Store(std::move(calibration)), .warning = ""};
  const std::string& uuid = kept.stored->calibration.device().uuid();
  kept.warning = Write(kept.stored->calibration);
  const std::lock_guard<std::mutex> lock(mutex_);
  Publish([&](CalibrationSnapshot& next) {
    next.distrusted.erase(uuid);
    Remove(uuid, next);
    next.calibrations.push_back(kept.stored);
  });
  return kept;
}

std::string CalibrationStore::Write(const v1::Calibration& calibration) {
  constexpr char kConsequence[] = ": plans use this calibration until the server stops";
  const std::string& uuid = calibration.device().uuid();
  if (folder_.empty()) {
    return absl::StrCat("there is no folder for calibrations (--calibration_directory)",
                        kConsequence);
  }
  if (!IsFileNameUuid(uuid)) return absl::StrCat("its UUID can't name a file", kConsequence);
  if (obstructed_.count(uuid) > 0) {
    return absl::StrCat(
        "a file that can't be read, or be moved aside, is in its place: mend or move ",
        CalibrationPath(folder_, uuid), " and start the server again", kConsequence);
  }
  // In this order: a mark beside a file is a withdrawal that did not come to its end.
  absl::Status written = UnmarkDistrusted(folder_, uuid);
  if (written.ok()) written = WriteCalibrationFile(folder_, calibration);
  return written.ok() ? "" : absl::StrCat(written.message(), kConsequence);
}

void CalibrationStore::Distrust(const std::string& uuid) {
  const std::lock_guard<std::mutex> files_lock(files_mutex_);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Publish([&](CalibrationSnapshot& next) {
      next.distrusted.insert(uuid);
      Remove(uuid, next);
    });
  }
  if (folder_.empty() || !IsFileNameUuid(uuid)) return;
  const absl::Status marked = MarkDistrusted(folder_, uuid);
  if (!marked.ok()) {
    LogEvent("distrust_not_kept", {{"device", uuid}, {"reason", std::string(marked.message())}});
  }
  Withdraw(uuid);
}

void CalibrationStore::Withdraw(const std::string& uuid) {
  const std::string path = CalibrationPath(folder_, uuid);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  const auto aside = SetFileAside(path, "mismatch");
  LogSetAside(path, "the probe had a wrong result on this device", aside);
}

}  // namespace sextant
