#include "gpu_probe/cuda/guard.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/reason.h"
#include "engine/base/status_macros.h"

namespace sextant::probe {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kHighestCapBytes = 2 * kGiB;
constexpr int64_t kShareOfFree = 4;
// With less memory than this the probe has no useful grid.
constexpr int64_t kMinCapBytes = kGiB / 4;

// GPU memory that a process takes before it allocates anything: the context, and the code of the
// libraries. Half of this is believed to be usual; not yet measured.
constexpr int64_t kContextBytes = kGiB;

std::string GiBText(int64_t bytes) {
  return absl::StrFormat("%.2f GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

absl::Status CheckModes(const GpuModes& modes, absl::string_view uuid) {
  if (modes.mig_enabled) {
    return Refuse(kMig, absl::StrCat(uuid,
                                     " is cut into instances (MIG), which share its memory's "
                                     "bandwidth and its clock; measure a whole GPU"));
  }
  if (modes.compute_mode.value_or(nvml::kComputeModeDefault) == nvml::kComputeModeDefault) {
    return absl::OkStatus();
  }
  const bool prohibited = modes.compute_mode == nvml::kComputeModeProhibited;
  return Refuse(kMode,
                absl::StrCat(uuid, " is in compute mode ", prohibited ? "prohibited" : "exclusive",
                             ": the probe would be kept out, or keep others out; "
                             "nvidia-smi -c DEFAULT allows it"));
}

absl::Status RefuseMps(absl::string_view uuid, absl::string_view sign) {
  return Refuse(kMps, absl::StrCat(uuid, " may be shared with others through MPS (", sign,
                                   "); measure without MPS"));
}

absl::Status CheckWithoutMps(const GpuReading& reading, absl::string_view uuid) {
  if (reading.mps_process_count.value_or(0) == 0) return absl::OkStatus();
  return RefuseMps(uuid, "processes of it compute on the GPU");
}

// The fault of its memory; "" for none.
std::string MemoryFault(const GpuReading& reading) {
  std::string fault;
  if (reading.repair_failed) fault = "a bad row of its memory could not be replaced";
  if (reading.repair_pending) fault = "bad memory waits for a reset to be taken out of use";
  if (reading.uncorrected_error_count.value_or(0) > 0) {
    fault = absl::StrCat("its memory had ", *reading.uncorrected_error_count,
                         " errors since the last reset that ECC could not correct");
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

absl::Status CheckLoad(const GpuReading& reading, absl::string_view uuid) {
  if (*reading.utilization_percent <= kIdlePercent) return absl::OkStatus();
  return RefuseBusy(uuid, absl::StrCat("it works ", *reading.utilization_percent, "% of the time"));
}

// Checks that the values that decide if a GPU is idle were read. The list of processes is not one
// of them: it may be empty in a container.
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

Clock* Guard::ProcessClock() {
  static SteadyClock clock;
  return &clock;
}

int64_t Guard::OwnProcessId() { return getpid(); }

void Guard::AddCost(double start_seconds) {
  const double seconds = parts_.clock->NowSeconds() - start_seconds;
  ++cost_.reading_count;
  cost_.total_seconds += seconds;
  cost_.longest_seconds = std::max(cost_.longest_seconds, seconds);
}

absl::StatusOr<GpuReading> Guard::Read() {
  const double start_seconds = parts_.clock->NowSeconds();
  absl::StatusOr<GpuReading> reading = reader_->Read();
  AddCost(start_seconds);
  return reading;
}

int64_t Guard::OtherCount(const GpuReading& reading) const {
  if (!reading.process_ids) return 0;
  const std::vector<int64_t>& ids = *reading.process_ids;
  return static_cast<int64_t>(ids.size()) -
         std::count(ids.begin(), ids.end(), parts_.own_process_id);
}

// Checks everything except load, which may fade.
absl::Status Guard::CheckIdle(const GpuReading& reading) const {
  const std::string& uuid = parts_.uuid;
  SEXTANT_RETURN_IF_ERROR(CheckWithoutMps(reading, uuid));
  SEXTANT_RETURN_IF_ERROR(CheckMemoryIsSound(reading, uuid));
  SEXTANT_RETURN_IF_ERROR(CheckReadable(reading, uuid));
  if (const int64_t other_count = OtherCount(reading); other_count > 0) {
    return RefuseBusy(uuid, absl::StrCat("processes that compute on it: ", other_count));
  }
  if (*reading.taken_bytes >= kIdleBytes) {
    return RefuseBusy(uuid, absl::StrCat(GiBText(*reading.taken_bytes), " of its memory is taken"));
  }
  SEXTANT_RETURN_IF_ERROR(CheckCool(reading, uuid, kCoolCelsius));
  if (MemoryCapBytes(*reading.free_bytes) >= kMinCapBytes) return absl::OkStatus();
  return Refuse(kTooLittleMemory, absl::StrCat(uuid, " has ", GiBText(*reading.free_bytes),
                                               " of memory free, and the probe needs four times ",
                                               GiBText(kMinCapBytes), "; free some"));
}

absl::StatusOr<int64_t> Guard::Admit() {
  const std::string& uuid = parts_.uuid;
  if (!parts_.mps_sign.empty()) return RefuseMps(uuid, parts_.mps_sign);
  const double start_seconds = parts_.clock->NowSeconds();
  SEXTANT_ASSIGN_OR_RETURN(reader_, GpuReader::Find(parts_.nvml, uuid));
  SEXTANT_ASSIGN_OR_RETURN(const GpuModes modes, reader_->ReadModes());
  AddCost(start_seconds);
  SEXTANT_RETURN_IF_ERROR(CheckModes(modes, uuid));
  absl::optional<int64_t> free_bytes;  // of an idle reading just before
  for (int i = 0;; ++i) {
    SEXTANT_ASSIGN_OR_RETURN(admitted_, Read());
    SEXTANT_RETURN_IF_ERROR(CheckIdle(admitted_));
    const absl::Status load = CheckLoad(admitted_, uuid);
    if (load.ok()) {
      if (free_bytes) return MemoryCapBytes(std::min(*free_bytes, *admitted_.free_bytes));
      free_bytes = admitted_.free_bytes;
    } else {
      if (i >= kFadingReadingCount) return load;
      free_bytes.reset();
    }
    parts_.sleep(kReadingPauseSeconds);
  }
}

absl::Status Guard::MayGoOn(int64_t own_bytes) {
  const std::string& uuid = parts_.uuid;
  SEXTANT_ASSIGN_OR_RETURN(const GpuReading now, Read());
  SEXTANT_RETURN_IF_ERROR(CheckWithoutMps(now, uuid));
  // Its memory was sound at admission, so results since then may be wrong.
  if (const std::string fault = MemoryFault(now); !fault.empty()) {
    return WithMetadata(
        absl::DataLossError(absl::StrCat(uuid, " failed while it was measured: ", fault,
                                         "; drain it, and reset it (nvidia-smi -r)")),
        "reason", kEcc);
  }
  SEXTANT_RETURN_IF_ERROR(CheckReadable(now, uuid));
  // There was none at admission. Without an entry of this process's number, one of the others is
  // this process under the host's number.
  const int64_t other_count = OtherCount(now);
  const bool own_is_listed =
      now.process_ids && other_count < static_cast<int64_t>(now.process_ids->size());
  if (other_count > (own_is_listed ? 0 : 1)) {
    return RefuseBusy(uuid, absl::StrCat("another process has come, ", now.process_ids->size(),
                                         " compute on it"));
  }
  const int64_t others_bytes = *now.taken_bytes - *admitted_.taken_bytes - own_bytes;
  if (others_bytes >= kContextBytes + kIdleBytes) {
    return RefuseBusy(uuid, absl::StrCat("somebody took ", GiBText(others_bytes - kContextBytes),
                                         " of its memory"));
  }
  return CheckCool(now, uuid, kTooHotCelsius);
}

absl::StatusOr<Admission> AdmitGpu(const CudaSystem& system, const std::string& uuid,
                                   const std::function<void(double seconds)>& sleep) {
  if (!system.nvml.ok()) {
    return Refuse(kUnreadable,
                  absl::StrCat("nobody can say whether ", uuid,
                               " is in use: ", system.nvml.status().message(),
                               "; give this container the driver's capability \"utility\""));
  }
  Guard guard({.nvml = *system.nvml,
               .uuid = uuid,
               .mps_sign = system.environment.mps_sign,
               .sleep = sleep});
  SEXTANT_ASSIGN_OR_RETURN(const int64_t cap_bytes, guard.Admit());
  return Admission{.guard = std::move(guard), .memory_cap_bytes = cap_bytes};
}

}  // namespace sextant::probe
