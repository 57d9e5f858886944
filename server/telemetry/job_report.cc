#include "server/telemetry/job_report.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/device_selection.h"
#include "engine/run/run_spec.h"
#include "server/convert/calibration.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"
#include "server/store/device_names.h"

namespace sextant::server {
namespace {

constexpr size_t kMaxJobNameBytes = 128;
constexpr double kMaxFlopsPerToken = 1e18;
// A plan's MFU may be above 1: it counts FLOPs by a convention, and rates may be the caller's.
constexpr double kMaxPlannedMfu = 100;

bool IsPrintableAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isprint(c); });
}

void RequireName(absl::string_view name, absl::string_view field, FieldViolations& violations) {
  if (!name.empty() && name.size() <= kMaxJobNameBytes && IsPrintableAscii(name)) return;
  violations.Add(
      field, name.empty()
                 ? absl::StrCat("is required: write 1 to ", kMaxJobNameBytes,
                                " printable ASCII characters, the same in every process "
                                "of the job, e.g. Slurm's job id")
                 : absl::StrCat("must be 1 to ", kMaxJobNameBytes, " printable ASCII characters"));
}

absl::Time StartFrom(const v1::ReportProgressRequest& request, absl::Time now,
                     FieldViolations& violations) {
  constexpr char kField[] = "start_time";
  if (!request.has_start_time()) {
    violations.Add(kField, "is required: write the time at which the reporter began to count");
    return {};
  }
  const google::protobuf::Timestamp& wire = request.start_time();
  if (!IsSound(wire)) {
    violations.Add(kField, kUnsoundTimestamp);
    return {};
  }
  const absl::Time start = absl::FromUnixSeconds(wire.seconds()) + absl::Nanoseconds(wire.nanos());
  if (start > now + kMaxClockSkew) {
    violations.Add(kField, absl::StrCat("is after ", absl::FormatTime(now, absl::UTCTimeZone()),
                                        ", the server's time: set the reporter's clock"));
  }
  return start;
}

void FlopsFrom(const v1::ReportProgressRequest& request, FieldViolations& violations,
               JobReport& out) {
  if (request.flops_case() == v1::ReportProgressRequest::FLOPS_NOT_SET) {
    violations.Add("model_flops_per_token",
                   "is required: write the model FLOPs of a token, or telemetry, the block of the "
                   "run's plan");
    return;
  }
  const bool is_planned = request.has_telemetry();
  const v1::TelemetryPlan& plan = request.telemetry();
  out.count.model_flops_per_token =
      is_planned ? plan.model_flops_per_token() : request.model_flops_per_token();
  if (is_planned) {
    violations.RequireRange("telemetry", "model_flops_per_token", plan.model_flops_per_token(),
                            {.low = 0, .high = kMaxFlopsPerToken, .above_low = true});
  }
  if (!v1::DataType_IsValid(plan.compute_data_type())) {
    violations.Add("telemetry.compute_data_type",
                   check::UnknownEnumNumber(plan.compute_data_type()));
  }
  if (!plan.has_planned_mfu()) return;
  violations.RequireRange("telemetry", "planned_mfu", plan.planned_mfu(),
                          {.low = 0, .high = kMaxPlannedMfu, .above_low = true});
  if (plan.compute_data_type() == v1::DATA_TYPE_UNSPECIFIED) {
    violations.Add("telemetry.compute_data_type",
                   "is required with telemetry.planned_mfu: write the type of the peak that it is "
                   "a share of");
  }
  // The measured MFU is a share of the bf16 peak.
  if (plan.compute_data_type() == v1::DATA_TYPE_BF16) out.planned_mfu = plan.planned_mfu();
}

// Appends unknown devices to `unknown`, all other violations to `violations`.
void GpusFrom(const v1::ReportProgressRequest& request, const CalibrationSnapshot& host,
              FieldViolations& violations, std::vector<UnknownName>& unknown, JobReport& out) {
  constexpr char kField[] = "gpu_uuids";
  const int count = request.gpu_uuids_size();
  if (count < 1 || count > static_cast<int>(kMaxGpusOfReportedJob)) {
    violations.Add(
        kField, absl::StrCat(count == 0 ? "is empty" : "has too many", ": write 1 to ",
                             kMaxGpusOfReportedJob, " UUIDs of this host's GPUs (nvidia-smi -L)"));
    return;
  }
  if (request.device_count() >= 1 && request.device_count() < count) {
    violations.Add("device_count", absl::StrCat("is of the whole job: at least ", count,
                                                ", as gpu_uuids names ", count));
  }
  for (int i = 0; i < count; ++i) {
    const std::string& name = request.gpu_uuids(i);
    const std::string field = absl::StrCat(kField, "[", i, "]");
    if (!RequireDeviceName(name, field, violations)) continue;
    const v1::Device* device = host.FindDevice(name);
    if (device == nullptr && (host.is_listed || name == "host")) {
      unknown.push_back({field, UnknownDevice(name, host.devices)});
      continue;
    }
    if (device == nullptr) RequireName(name, field, violations);
    const std::string& uuid = device == nullptr ? name : device->uuid();
    const auto& former = out.gpu_uuids;
    if (std::find(former.begin(), former.end(), uuid) != former.end()) {
      violations.Add(field, "names a device a second time: name each once");
    }
    out.gpu_uuids.push_back(uuid);
  }
}

}  // namespace

absl::StatusOr<JobReport> JobReportFrom(const v1::ReportProgressRequest& request,
                                        const CalibrationSnapshot& host, absl::Time now) {
  static const check::NumberLimits limits(*v1::ReportProgressRequest::descriptor());
  FieldViolations violations;
  CheckNumbers(limits, request, "", violations);
  std::vector<UnknownName> unknown;
  JobReport out = {.job_id = request.job_id()};
  RequireName(request.job_id(), "job_id", violations);
  out.count.start = StartFrom(request, now, violations);
  out.count.token_count = request.token_count();
  out.count.device_count = request.device_count();
  FlopsFrom(request, violations, out);
  GpusFrom(request, host, violations, unknown, out);
  SEXTANT_RETURN_IF_ERROR(StatusOfAll(unknown, violations));
  return out;
}

}  // namespace sextant::server
