#include "gpu_probe/measure_device.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "gpu_probe/budget.h"
#include "gpu_probe/device_lock.h"
#include "gpu_probe/measure.h"

namespace sextant {
namespace {

constexpr int kSchemaVersion = 1;

// Any number would do: the order only has to be the same from run to run.
constexpr uint64_t kShuffleSeed = 1;

// A shape that was asked for and can't be measured is a failure, not a note.
absl::Status CheckRequested(const ProbeOptions& options, const Measurement& measurement) {
  const auto& matmuls = measurement.calibration.matmuls();
  const auto requested_count =
      std::count_if(matmuls.begin(), matmuls.end(),
                    [](const v1::MatmulMeasurement& matmul) { return matmul.requested(); });
  if (static_cast<size_t>(requested_count) >= options.matmuls.size()) return absl::OkStatus();
  if (!measurement.left_out.ok()) return measurement.left_out;
  return absl::InternalError(absl::StrCat("only ", requested_count, " of ", options.matmuls.size(),
                                          " shapes were measured"));
}

// The device that was asked for, or the first.
absl::StatusOr<std::string> ChosenUuid(const std::vector<v1::Device>& devices,
                                       const ProbeOptions& options) {
  if (options.device.empty()) return devices.front().uuid();
  std::vector<std::string> uuids;
  for (const v1::Device& device : devices) uuids.push_back(device.uuid());
  if (std::find(uuids.begin(), uuids.end(), options.device) != uuids.end()) return options.device;
  return absl::NotFoundError(absl::StrCat("there is no device ", options.device, "; this host has ",
                                          absl::StrJoin(uuids, ", ")));
}

v1::ProbeProgress Loading(double elapsed_seconds) {
  v1::ProbeProgress loading;
  loading.set_phase("load");
  loading.set_elapsed_seconds(elapsed_seconds);
  return loading;
}

}  // namespace

absl::StatusOr<const Backend*> BackendNamed(const std::string& name,
                                            absl::Span<const Backend> backends) {
  for (const Backend& backend : backends) {
    if (name == "auto" || name == backend.name) return &backend;
  }
  return absl::UnimplementedError(absl::StrCat("this program has no backend \"", name, "\""));
}

double BudgetSecondsOf(const ProbeOptions& options) {
  return options.budget_seconds > 0 ? options.budget_seconds
                                    : DefaultBudgetSeconds(options.mode, !options.matmuls.empty());
}

absl::StatusOr<v1::Calibration> MeasureDevice(
    const Backend& backend, const ProbeOptions& options, Clock& clock,
    const std::function<bool(const v1::ProbeProgress&)>& show) {
  const MeasureOptions measure_options = {.start_seconds = clock.NowSeconds(),
                                          .budget_seconds = BudgetSecondsOf(options),
                                          .all_essential = !options.matmuls.empty(),
                                          .shuffle_seed = kShuffleSeed};
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<v1::Device> devices, backend.devices());
  if (devices.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no device for --backend=", backend.name));
  }
  SEXTANT_ASSIGN_OR_RETURN(const std::string uuid, ChosenUuid(devices, options));
  SEXTANT_ASSIGN_OR_RETURN(const DeviceLock lock, DeviceLock::Take(LockFolder(), uuid));
  show(Loading(clock.NowSeconds() - measure_options.start_seconds));
  ProbeOptions options_of_device = options;
  options_of_device.device = uuid;
  SEXTANT_ASSIGN_OR_RETURN(ProbePlan plan, backend.plan(options_of_device));
  if (!lock.note().empty()) plan.notes.push_back(lock.note());
  SEXTANT_ASSIGN_OR_RETURN(Measurement measurement, Measure(plan, measure_options, clock, show));
  SEXTANT_RETURN_IF_ERROR(CheckRequested(options, measurement));
  v1::Calibration calibration = std::move(measurement.calibration);
  calibration.set_schema_version(kSchemaVersion);
  calibration.set_mode(options.mode);
  calibration.set_probe_version(absl::StrCat("sextant-probe ", EngineVersion()));
  *calibration.mutable_measured_time() =
      google::protobuf::util::TimeUtil::TimeTToTimestamp(std::time(nullptr));
  return calibration;
}

}  // namespace sextant
