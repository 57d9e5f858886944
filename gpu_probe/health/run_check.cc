#include "gpu_probe/health/run_check.h"

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <new>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/budget.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/exit_code.h"
#include "gpu_probe/file_write.h"
#include "gpu_probe/health/check_options.h"
#include "gpu_probe/health/report.h"
#include "gpu_probe/health/sound.h"
#include "gpu_probe/health/verdict_json.h"
#include "gpu_probe/health/verdict_text.h"
#include "gpu_probe/measure_device.h"
#include "gpu_probe/process.h"
#include "gpu_probe/watchdog.h"

namespace sextant {
namespace {

int Code(HealthStatus status) { return static_cast<int>(status); }

int Write(const CheckReport& report, bool json) {
  const std::string text = json ? ReportJson(report) : ReportText(report);
  // Who did not get the verdict must not take the exit code for it.
  return WriteAll(STDOUT_FILENO, text).ok() ? Code(StatusOf(report)) : Code(HealthStatus::kUnknown);
}

CheckReport ReportOf(InputProblem problem) {
  CheckReport report;
  report.problems.push_back(std::move(problem));
  report.now_unix_seconds = std::time(nullptr);
  return report;
}

// A wrong result is the device's, or a kernel's, fault; all else only keeps from measuring.
InputProblem ProblemOf(const absl::Status& not_measured) {
  const bool wrong = FailureOf(not_measured).kind() == v1::ProbeFailure::KIND_MISMATCH;
  return {.status = wrong ? HealthStatus::kCritical : HealthStatus::kUnknown,
          .source = "measuring this host",
          .reason = std::string(not_measured.message())};
}

// From the watchdog's thread: the main one may hang in a kernel.
void EndLate(double budget_seconds, bool json) {
  try {
    _exit(Write(ReportOf(ProblemOf(absl::DeadlineExceededError(absl::StrFormat(
                    "it did not end within %gs: a kernel hangs, or the host is overloaded: "
                    "give a longer --budget",
                    HardDeadlineSeconds(budget_seconds))))),
                json));
  } catch (const std::bad_alloc&) {
    _exit(Code(HealthStatus::kUnknown));
  }
}

absl::StatusOr<v1::Calibration> MeasureQuickly(absl::Span<const Backend> backends,
                                               const CheckOptions& check) {
  ProbeOptions options;
  options.mode = v1::PROBE_MODE_QUICK;
  options.budget_seconds = check.budget_seconds;
  const double budget_seconds = BudgetSecondsOf(options);
  const auto watchdog = Watchdog::Start(
      {.seconds = HardDeadlineSeconds(budget_seconds),
       .on_expiry = [budget_seconds, json = check.json] { EndLate(budget_seconds, json); },
       .tick_seconds = HardDeadlineSeconds(budget_seconds)});
  if (!watchdog.ok()) return watchdog.status();
  SteadyClock clock;
  absl::StatusOr<v1::Calibration> calibration =
      MeasureDevice(backends, options, clock, [](const v1::ProbeProgress&) { return true; });
  if (!calibration.ok()) return calibration.status();
  SEXTANT_RETURN_IF_ERROR(CheckSound(*calibration, std::time(nullptr)));
  return calibration;
}

// "UUID-20260131T235959Z.json": by name the files of a device lie in the order of time.
std::string FileNameOf(const v1::Calibration& calibration) {
  const std::time_t seconds = static_cast<std::time_t>(calibration.measured_time().seconds());
  std::tm utc = {};
  gmtime_r(&seconds, &utc);
  char time[32] = "";
  (void)std::strftime(time, sizeof(time), "%Y%m%dT%H%M%SZ", &utc);
  return absl::StrCat(calibration.device().uuid(), "-", time, ".json");
}

void Keep(const v1::Calibration& calibration, const std::string& folder, CheckReport* report) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = true;
  const std::string path = absl::StrCat(folder, "/", FileNameOf(calibration));
  std::string json;
  absl::Status written = absl::InternalError("it can't be written as JSON");
  if (google::protobuf::util::MessageToJsonString(calibration, &json, options).ok()) {
    written = ReplaceFile(path, json);
  }
  if (written.ok()) return;
  report->problems.push_back({.status = HealthStatus::kWarning,
                              .source = path,
                              .reason = absl::StrCat("not kept: ", written.message())});
}

void JudgeAll(std::vector<MeasuredDevice> measured, const JudgeOptions& options,
              CheckReport* report) {
  const std::vector<KnownDevice> devices = GroupByDevice(std::move(measured));
  report->devices = JudgeDevices(devices, options);
  if (!report->devices.empty() || !report->problems.empty()) return;
  const std::string reason =
      options.only_uuid.empty()
          ? "there is no measurement to judge"
          : absl::StrCat("there is no measurement of it, but of ", devices.size(), " others");
  report->problems.push_back(
      {.source = options.only_uuid.empty() ? "all that was given" : options.only_uuid,
       .reason = reason});
}

int CheckAndWrite(const CheckOptions& options, absl::Span<const Backend> backends) {
  absl::optional<v1::Calibration> fresh;
  if (options.measure) {
    absl::StatusOr<v1::Calibration> calibration = MeasureQuickly(backends, options);
    if (!calibration.ok()) return Write(ReportOf(ProblemOf(calibration.status())), options.json);
    fresh = *std::move(calibration);
  }
  CheckReport report;
  report.now_unix_seconds = std::time(nullptr);
  const std::string only_uuid = fresh.has_value() ? fresh->device().uuid() : options.device;
  ReadResult read =
      ReadCalibrations(options.paths, {.now_unix_seconds = report.now_unix_seconds,
                                       .limit_tolerance = options.limits.limit_tolerance,
                                       .only_uuid = only_uuid,
                                       .may_be_empty = options.measure});
  report.problems = std::move(read.problems);
  report.notes = std::move(read.notes);
  if (fresh.has_value()) {
    read.measured.push_back(MeasuredFrom(*fresh, options.limits.limit_tolerance));
  }
  JudgeAll(std::move(read.measured),
           {.limits = options.limits,
            .now_unix_seconds = report.now_unix_seconds,
            .only_uuid = only_uuid},
           &report);
  if (fresh.has_value() && !options.keep.empty()) Keep(*fresh, options.keep, &report);
  return Write(report, options.json);
}

int RunArgs(const std::vector<std::string>& args, absl::Span<const Backend> backends, bool json) {
  const auto parsed = ParseCheckOptions(args);
  if (!parsed.ok()) {
    return Write(
        ReportOf({.source = "command line", .reason = std::string(parsed.status().message())}),
        json);
  }
  if (const auto* asked = std::get_if<AskedText>(&*parsed)) {
    (void)WriteAll(STDOUT_FILENO, asked->text);
    return Code(HealthStatus::kUnknown);  // as the guidelines have it: nothing was judged
  }
  return CheckAndWrite(std::get<CheckOptions>(*parsed), backends);
}

}  // namespace

bool AsksForCheck(const std::vector<std::string>& args) {
  return !args.empty() && args.front() == "check";
}

int RunCheck(const std::vector<std::string>& args, absl::Span<const Backend> backends) {
  PrepareProcess();
  // protobuf would write to stderr of each text that is not UTF-8.
  google::protobuf::SetLogHandler(nullptr);
  const bool json = std::find(args.begin(), args.end(), "--format=json") != args.end();
  try {
    return RunArgs({args.begin() + 1, args.end()}, backends, json);
  } catch (const std::bad_alloc&) {
    return Code(HealthStatus::kUnknown);  // without a word
  } catch (const std::exception& error) {
    return Write(ReportOf({.source = "a defect", .reason = error.what()}), json);
  }
}

}  // namespace sextant
