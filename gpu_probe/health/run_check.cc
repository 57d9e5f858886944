#include "gpu_probe/health/run_check.h"

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <exception>
#include <new>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "gpu_probe/backend.h"
#include "gpu_probe/exit_code.h"
#include "gpu_probe/file_write.h"
#include "gpu_probe/health/report.h"
#include "gpu_probe/point.h"
#include "gpu_probe/run_probe.h"
#include "gpu_probe/watchdog.h"

namespace sextant::probe {
namespace {

constexpr char kFooter[] =
    "Exit codes, of check alone: those of monitoring plugins (Nagios, Icinga)\n"
    "  0  OK: as fast as it was, and as its peers\n"
    "  1  WARNING: measured too long ago; slower, but not in a row, or perhaps by chance, or as "
    "all\n"
    "     its peers are\n"
    "  2  CRITICAL: slower than it was, or than its peers, in two measurements in a row; a figure "
    "is\n"
    "     lost; the hardware protects itself; a result was wrong\n"
    "  3  UNKNOWN: not measured, nothing to compare with, no calibration, a damaged one, one from "
    "the\n"
    "     future, rates that can't be; a wrong command line; --help\n"
    "\n"
    "Example: sextant-probe check /var/lib/sextant-probe\n"
    "Example: sextant-probe check --measure --keep=/var/lib/sextant-probe /var/lib/sextant-probe";

constexpr int kMaxInARow = 100;

// Adds an option for a share between 0 and 1, both ends excluded.
CLI::Option* AddShare(CLI::App& app, const std::string& name, double& value,
                      const std::string& help) {
  return app.add_option(name, value, help)
      ->check(CLI::Range(1e-6, 1 - 1e-6).description(""))
      ->type_name("SHARE")
      ->capture_default_str();
}

// Options as text, where CLI11 can't parse their values.
struct OptionTexts {
  std::string budget = {};
  std::string max_age = "7d";
  std::string format = "text";
};

void DefineWhat(CLI::App& app, CheckOptions& options, OptionTexts& texts) {
  app.add_option("PATH", options.paths,
                 "calibration files, or folders of them (*.json): of each device the newest is "
                 "judged, those before it are its history, other devices its peers")
      ->type_name("");
  app.add_option("--device", options.device, "judge this device only; default: each")
      ->type_name("UUID");
  app.add_flag("--measure", options.measure,
               "measure this host first (quick, some 2 s), and judge that");
  app.add_option("--budget", texts.budget,
                 "with --measure: time to measure in, more for a busy host; 100ms to 1h (default: "
                 "2s)")
      ->type_name("TIME");
  app.add_option("--keep", options.keep,
                 "with --measure: add the calibration to this folder, as UUID-TIME.json")
      ->type_name("FOLDER");
}

void DefineHow(CLI::App& app, HealthLimits& limits, OptionTexts& texts) {
  AddShare(app, "--history_tolerance", limits.history_tolerance,
           "slower than the median of its last 5 measurements by more than this is bad");
  AddShare(app, "--peer_tolerance", limits.peer_tolerance,
           "slower than the median of its peers by more than this, and by --peer_z, is bad");
  app.add_option("--peer_z", limits.peer_z, "standard deviations of its peers below them")
      ->check(CLI::Range(1.0, 100.0).description(""))
      ->type_name("NUMBER")
      ->capture_default_str();
  app.add_option("--in_a_row", limits.in_a_row,
                 "measurements in a row that have to be slow for CRITICAL; fewer are a WARNING")
      ->check(CLI::Range(1, kMaxInARow).description(""))
      ->type_name("NUMBER")
      ->capture_default_str();
  AddShare(app, "--limit_tolerance", limits.limit_tolerance,
           "faster than the registers at the same clock by more than this: wrongly measured");
  app.add_option("--max_age", texts.max_age, "warn where the newest measurement is older")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--format", texts.format, "text: a plugin's output; json: one line, all figures")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("text|json")
      ->capture_default_str();
}

// CLI11's ranges accept NaN.
bool IsNumber(const HealthLimits& limits) {
  return !std::isnan(limits.history_tolerance + limits.peer_tolerance + limits.limit_tolerance +
                     limits.peer_z);
}

absl::Status CheckTogether(const CheckOptions& options) {
  if (!IsNumber(options.limits)) return absl::InvalidArgumentError("a limit is \"nan\": no number");
  for (const std::string& path : options.paths) {
    if (path.empty()) return absl::InvalidArgumentError("an empty PATH: leave it out");
  }
  if (options.paths.empty() && !options.measure) {
    return absl::InvalidArgumentError(
        "nothing to judge: name calibration files or folders, or give --measure");
  }
  if (!options.measure && (!options.keep.empty() || options.budget_seconds > 0)) {
    return absl::InvalidArgumentError("--keep and --budget are for what --measure measures");
  }
  if (!options.device.empty() && options.measure) {
    return absl::InvalidArgumentError("--measure judges this host's device: leave out --device");
  }
  return absl::OkStatus();
}

int Code(HealthStatus status) { return static_cast<int>(status); }

int Write(const CheckReport& report, bool json) {
  const std::string text = json ? ReportJson(report) : ReportText(report);
  // A caller that did not get the verdict must not take the exit code for it.
  return WriteAll(STDOUT_FILENO, text).ok() ? Code(StatusOf(report)) : Code(HealthStatus::kUnknown);
}

CheckReport ReportOf(InputProblem problem) {
  CheckReport report;
  report.problems.push_back(std::move(problem));
  report.now_unix_seconds = std::time(nullptr);
  return report;
}

// A wrong result is the device's or a kernel's fault; any other error only prevents the
// measurement.
InputProblem ProblemOf(const absl::Status& not_measured) {
  const bool wrong = FailureOf(not_measured).kind() == v1::ProbeFailure::KIND_MISMATCH;
  return {.status = wrong ? HealthStatus::kCritical : HealthStatus::kUnknown,
          .source = "measuring this host",
          .reason = std::string(not_measured.message())};
}

// Runs on the watchdog's thread: the main one may hang in a kernel.
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
  SEXTANT_RETURN_IF_ERROR(ValidateCalibration(*calibration, std::time(nullptr)));
  return calibration;
}

// "UUID-20260131T235959Z.json": a device's files sort by name in order of time.
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
    return Code(HealthStatus::kUnknown);  // as the guidelines require: nothing was judged
  }
  return CheckAndWrite(std::get<CheckOptions>(*parsed), backends);
}

}  // namespace

absl::StatusOr<std::variant<CheckOptions, AskedText>> ParseCheckOptions(
    const std::vector<std::string>& args) {
  CheckOptions options;
  OptionTexts texts;
  CLI::App app("sextant-probe check: judges devices by what was measured of them",
               "sextant-probe check");
  app.set_version_flag("--version", absl::StrCat("sextant-probe ", EngineVersion()));
  DefineWhat(app, options, texts);
  DefineHow(app, options.limits, texts);
  app.footer(kFooter);
  try {
    app.parse(std::vector<std::string>(args.rbegin(), args.rend()));  // CLI11 takes them reversed
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app.exit(asked, text, text);
    return AskedText{text.str()};
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(error.what(), "; see sextant-probe check --help"));
  }
  SEXTANT_ASSIGN_OR_RETURN(options.limits.max_age_seconds, ParseAgeSeconds(texts.max_age));
  if (!texts.budget.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(options.budget_seconds, ParseBudgetSeconds(texts.budget));
  }
  options.json = texts.format == "json";
  SEXTANT_RETURN_IF_ERROR(CheckTogether(options));
  return options;
}

bool AsksForCheck(const std::vector<std::string>& args) {
  return !args.empty() && args.front() == "check";
}

int RunCheck(const std::vector<std::string>& args, absl::Span<const Backend> backends) {
  PrepareProcess();
  // protobuf would log each text that is not UTF-8 to stderr.
  google::protobuf::SetLogHandler(nullptr);
  const bool json = std::find(args.begin(), args.end(), "--format=json") != args.end();
  try {
    return RunArgs({args.begin() + 1, args.end()}, backends, json);
  } catch (const std::bad_alloc&) {
    return Code(HealthStatus::kUnknown);  // without a message
  } catch (const std::exception& error) {
    return Write(ReportOf({.source = "a defect", .reason = error.what()}), json);
  }
}

}  // namespace sextant::probe
