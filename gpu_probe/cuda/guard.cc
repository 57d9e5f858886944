#include "gpu_probe/cuda/guard.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kHighestCapBytes = 2 * kGiB;
constexpr int64_t kShareOfFree = 4;
// With less than this the probe has no grid worth the name.
constexpr int64_t kLeastCapBytes = kGiB / 4;

// What a process takes of a GPU before it allocates anything: the context, and the code of the
// libraries. Half of this is believed to be usual; not yet measured.
constexpr int64_t kContextBytes = kGiB;

std::string GiBText(int64_t bytes) {
  return absl::StrFormat("%.2f GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

absl::Status CheckModes(const GpuReading& reading, absl::string_view uuid,
                        absl::string_view mps_sign) {
  if (reading.mig_enabled) {
    return Refuse(kMig, absl::StrCat(uuid,
                                     " is cut into instances (MIG), which share its memory's "
                                     "bandwidth and its clock; measure a whole GPU"));
  }
  if (!mps_sign.empty() || reading.mps_process_count.value_or(0) > 0) {
    return Refuse(kMps,
                  absl::StrCat(uuid, " may be shared with others through MPS (",
                               mps_sign.empty() ? "processes of it compute on the GPU" : mps_sign,
                               "); measure without MPS"));
  }
  if (reading.compute_mode.value_or(nvml::kComputeModeDefault) != nvml::kComputeModeDefault) {
    const bool prohibited = reading.compute_mode == nvml::kComputeModeProhibited;
    return Refuse(
        kMode, absl::StrCat(uuid, " is in compute mode ", prohibited ? "prohibited" : "exclusive",
                            ": the probe would be kept out, or keep others out; "
                            "nvidia-smi -c DEFAULT allows it"));
  }
  return absl::OkStatus();
}

// What is wrong with its memory; "" for nothing.
std::string MemoryFault(const GpuReading& reading) {
  std::string fault;
  if (reading.repair_failed) fault = "a bad row of its memory could not be replaced";
  if (reading.repair_pending) fault = "bad memory waits for a reset to be taken out of use";
  if (reading.uncorrected_error_count.value_or(0) > 0) {
    fault = absl::StrCat("its memory had ", *reading.uncorrected_error_count,
                         " errors since the last reset that ECC could not mend");
  }
  return fault;
}

absl::Status CheckMemoryIsSound(const GpuReading& reading, absl::string_view uuid) {
  const std::string fault = MemoryFault(reading);
  if (fault.empty()) return absl::OkStatus();
  return Refuse(kEcc, absl::StrCat(uuid, ": ", fault, "; drain it, and reset it (nvidia-smi -r)"));
}

absl::Status CheckCool(const GpuReading& reading, absl::string_view uuid, int64_t hot_celsius) {
  if (reading.temperature_celsius.value_or(0) < hot_celsius) return absl::OkStatus();
  return Refuse(kHot, absl::StrCat(uuid, " has ", *reading.temperature_celsius,
                                   " degrees Celsius, and is measured below ", hot_celsius,
                                   "; let it cool down, or see to its cooling"));
}

absl::Status RefuseBusy(absl::string_view uuid, absl::string_view sign) {
  return Refuse(kBusy, absl::StrCat(uuid, " is in use: ", sign,
                                    "; wait until that ends, or measure another GPU"));
}

absl::Status CheckUnused(const GpuReading& reading, absl::string_view uuid) {
  if (reading.process_count.value_or(0) > 0) {
    return RefuseBusy(uuid, absl::StrCat("processes that compute on it: ", *reading.process_count));
  }
  if (*reading.utilization_percent > kIdlePercent) {
    return RefuseBusy(uuid,
                      absl::StrCat("it works ", *reading.utilization_percent, "% of the time"));
  }
  if (*reading.taken_bytes >= kIdleBytes) {
    return RefuseBusy(uuid, absl::StrCat(GiBText(*reading.taken_bytes), " of its memory is taken"));
  }
  return absl::OkStatus();
}

// What must be known before a GPU counts as idle. The list of processes is not of it: it may be
// empty in a container.
absl::Status CheckReadable(const GpuReading& reading, absl::string_view uuid) {
  const char* const untold = !reading.free_bytes            ? "memory"
                             : !reading.utilization_percent ? "utilization"
                             : !reading.temperature_celsius ? "temperature"
                                                            : nullptr;
  if (untold == nullptr) return absl::OkStatus();
  return Refuse(kUnreadable, absl::StrCat(uuid, " does not tell its ", untold,
                                          ", so that nobody can say whether it is in use; see "
                                          "nvidia-smi -q"));
}

}  // namespace

absl::Status Refuse(absl::string_view reason, absl::string_view sentence) {
  const bool memory = reason == kTooLittleMemory;
  return WithMetadata(
      memory ? absl::ResourceExhaustedError(sentence) : absl::AbortedError(sentence), "reason",
      reason);
}

int64_t MemoryCapBytes(int64_t free_bytes) {
  return std::min(kHighestCapBytes, free_bytes / kShareOfFree);
}

absl::Status CheckIdle(const GpuReading& reading, absl::string_view uuid,
                       absl::string_view mps_sign) {
  SEXTANT_RETURN_IF_ERROR(CheckModes(reading, uuid, mps_sign));
  SEXTANT_RETURN_IF_ERROR(CheckMemoryIsSound(reading, uuid));
  SEXTANT_RETURN_IF_ERROR(CheckReadable(reading, uuid));
  SEXTANT_RETURN_IF_ERROR(CheckUnused(reading, uuid));
  SEXTANT_RETURN_IF_ERROR(CheckCool(reading, uuid, kCoolCelsius));
  if (MemoryCapBytes(*reading.free_bytes) >= kLeastCapBytes) return absl::OkStatus();
  return Refuse(kTooLittleMemory, absl::StrCat(uuid, " has ", GiBText(*reading.free_bytes),
                                               " of memory free, and the probe needs four times ",
                                               GiBText(kLeastCapBytes), "; free some"));
}

Guard::Guard(Nvml nvml, std::string uuid, std::string mps_sign,
             std::function<void(double seconds)> sleep)
    : nvml_(std::move(nvml)),
      uuid_(std::move(uuid)),
      mps_sign_(std::move(mps_sign)),
      sleep_(std::move(sleep)) {}

absl::StatusOr<int64_t> Guard::Admit() {
  SEXTANT_ASSIGN_OR_RETURN(const GpuReading first, ReadGpu(nvml_, uuid_));
  SEXTANT_RETURN_IF_ERROR(CheckIdle(first, uuid_, mps_sign_));
  sleep_(kReadingPauseSeconds);
  SEXTANT_ASSIGN_OR_RETURN(admitted_, ReadGpu(nvml_, uuid_));
  SEXTANT_RETURN_IF_ERROR(CheckIdle(admitted_, uuid_, mps_sign_));
  return MemoryCapBytes(std::min(*first.free_bytes, *admitted_.free_bytes));
}

absl::Status Guard::MayGoOn(int64_t own_bytes) const {
  SEXTANT_ASSIGN_OR_RETURN(const GpuReading now, ReadGpu(nvml_, uuid_));
  SEXTANT_RETURN_IF_ERROR(CheckModes(now, uuid_, mps_sign_));
  // It was sound when it was admitted, so that results since then may be wrong.
  if (const std::string fault = MemoryFault(now); !fault.empty()) {
    return WithMetadata(
        absl::DataLossError(absl::StrCat(uuid_, " failed while it was measured: ", fault,
                                         "; drain it, and reset it (nvidia-smi -r)")),
        "reason", kEcc);
  }
  SEXTANT_RETURN_IF_ERROR(CheckReadable(now, uuid_));
  // The probe's own entry, where it has one: in a container it has another number, or none.
  if (now.process_count.value_or(0) > 1) {
    return RefuseBusy(
        uuid_, absl::StrCat("another process has come, ", *now.process_count, " compute on it"));
  }
  const int64_t others_bytes = *now.taken_bytes - *admitted_.taken_bytes - own_bytes;
  if (others_bytes >= kContextBytes + kIdleBytes) {
    return RefuseBusy(uuid_, absl::StrCat("somebody took ", GiBText(others_bytes - kContextBytes),
                                          " of its memory"));
  }
  return CheckCool(now, uuid_, kTooHotCelsius);
}

}  // namespace sextant
