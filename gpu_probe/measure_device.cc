#include "gpu_probe/measure_device.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "gpu_probe/backend.h"
#include "gpu_probe/device_lock.h"
#include "gpu_probe/host_environment.h"
#include "gpu_probe/measure.h"
#include "gpu_probe/options.h"
#include "proto/check/calibration.h"
#include "proto/matmul_kind.h"

namespace sextant::probe {
namespace {

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
