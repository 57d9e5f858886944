#include "gpu_probe/run_probe.h"

#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/time_util.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status_macros.h"
#include "engine/base/version.h"
#include "gpu_probe/budget.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/device_lock.h"
#include "gpu_probe/exit_code.h"
#include "gpu_probe/file_write.h"
#include "gpu_probe/measure.h"
#include "gpu_probe/options.h"
#include "gpu_probe/output.h"
#include "gpu_probe/process.h"
#include "gpu_probe/progress_bar.h"
#include "gpu_probe/watchdog.h"

namespace sextant {
namespace {

constexpr int kSchemaVersion = 1;

// Any number would do: the order only has to be the same from run to run.
constexpr uint64_t kShuffleSeed = 1;

constexpr double kTickSeconds = 1;

OutputFormat FormatOf(const std::string& format) {
  if (format == "text") return OutputFormat::kText;
  if (format == "json") return OutputFormat::kJson;
  return isatty(STDOUT_FILENO) == 1 ? OutputFormat::kText : OutputFormat::kJson;
}

OutputOptions OutputOptionsOf(const ProbeOptions& options) {
  return {.format = FormatOf(options.format),
          .results_descriptor = STDOUT_FILENO,
          .messages_descriptor = STDERR_FILENO,
          .progress_bar = isatty(STDERR_FILENO) == 1,
          .file = options.output};
}

v1::ProbeEvent FailureEvent(const absl::Status& status) {
  v1::ProbeEvent event;
  *event.mutable_failure() = FailureOf(status);
  return event;
}

absl::StatusOr<const Backend*> BackendNamed(const std::string& name,
                                            absl::Span<const Backend> backends) {
  for (const Backend& backend : backends) {
    if (name == "auto" || name == backend.name) return &backend;
  }
  return absl::UnimplementedError(absl::StrCat("this program has no backend \"", name, "\""));
}

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

absl::StatusOr<v1::Calibration> MeasureWith(const Backend& backend, const ProbeOptions& options,
                                            const MeasureOptions& measure_options, Clock& clock,
                                            Output& output) {
  const std::vector<v1::Device> devices = backend.devices();
  if (devices.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no device for --backend=", backend.name));
  }
  SEXTANT_ASSIGN_OR_RETURN(const DeviceLock lock,
                           DeviceLock::Take(LockFolder(), devices.front().uuid()));
  v1::ProbeProgress loading;
  loading.set_phase("load");
  loading.set_elapsed_seconds(clock.NowSeconds() - measure_options.start_seconds);
  output.Progress(loading);
  SEXTANT_ASSIGN_OR_RETURN(ProbePlan plan, backend.plan(options));
  if (!lock.note().empty()) plan.notes.push_back(lock.note());
  const auto show = [&output](const v1::ProbeProgress& progress) {
    return output.Progress(progress);
  };
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

// Ends the process at the hard deadline, from the watchdog's thread: the main one may hang in
// a kernel, and nothing that it holds can be trusted to be let go.
void EndLate(Output& output, double budget_seconds) {
  try {
    const absl::Status late = absl::DeadlineExceededError(absl::StrFormat(
        "the probe did not end within %gs, twice the budget of %gs and a second: a "
        "kernel hangs, or the host is overloaded; try again, or give sextant-probe a "
        "longer --budget",
        HardDeadlineSeconds(budget_seconds), budget_seconds));
    _exit(output.FinishLate(FailureOf(late)));
  } catch (const std::bad_alloc&) {
    _exit(kExitDeadline);  // without a word
  }
}

// From the watchdog's thread, where nobody catches: without memory this one is left out.
void Beat(Output& output) {
  try {
    output.Heartbeat();
  } catch (const std::bad_alloc&) {
  }
}

ExitCode MeasureAndWrite(const Backend& backend, const ProbeOptions& options) {
  SteadyClock clock;
  const OutputOptions output_options = OutputOptionsOf(options);
  if (output_options.format == OutputFormat::kText && output_options.progress_bar) {
    EraseProgressBarOnSignals();
  }
  Output output(output_options, clock);
  const double budget_seconds = options.budget_seconds > 0
                                    ? options.budget_seconds
                                    : DefaultBudgetSeconds(options.mode, !options.matmuls.empty());
  const MeasureOptions measure_options = {.start_seconds = clock.NowSeconds(),
                                          .budget_seconds = budget_seconds,
                                          .all_essential = !options.matmuls.empty(),
                                          .shuffle_seed = kShuffleSeed};
  const auto watchdog = Watchdog::Start({.seconds = HardDeadlineSeconds(budget_seconds),
                                         .on_expiry = [&] { EndLate(output, budget_seconds); },
                                         .tick_seconds = kTickSeconds,
                                         .on_tick = [&] { Beat(output); }});
  if (!watchdog.ok()) return output.Finish(FailureEvent(watchdog.status()));
  v1::ProbeEvent result;
  auto calibration = MeasureWith(backend, options, measure_options, clock, output);
  if (absl::IsCancelled(calibration.status())) return kExitInternal;  // the reader has left
  if (calibration.ok()) {
    *result.mutable_calibration() = *std::move(calibration);
  } else {
    result = FailureEvent(calibration.status());
  }
  return output.Finish(result);
}

ExitCode RunOptions(const ProbeOptions& options, absl::Span<const Backend> backends) {
  if (options.parent_pid > 0 && !FollowParent(options.parent_pid)) {
    (void)WriteAll(STDERR_FILENO, absl::StrCat("sextant-probe: --parent_pid=", options.parent_pid,
                                               " is not its parent, or has ended\n"));
    return kExitInternal;
  }
  SteadyClock clock;
  const absl::StatusOr<const Backend*> backend = BackendNamed(options.backend, backends);
  if (!backend.ok()) {
    return Output(OutputOptionsOf(options), clock).Finish(FailureEvent(backend.status()));
  }
  if (options.list) return Output(OutputOptionsOf(options), clock).List((*backend)->devices());
  return MeasureAndWrite(**backend, options);
}

// Ends a run that has no options, or lost them.
ExitCode Fail(const std::vector<std::string>& args, const absl::Status& status) {
  SteadyClock clock;
  const bool text = std::find(args.begin(), args.end(), "--format=text") != args.end();
  return Output({.format = FormatOf(text ? "text" : "auto")}, clock).Finish(FailureEvent(status));
}

ExitCode WriteAsked(const AskedText& asked) {
  const absl::Status written = WriteAll(STDOUT_FILENO, asked.text);
  if (written.ok()) return kExitOk;
  if (!absl::IsCancelled(written)) {
    (void)WriteAll(STDERR_FILENO, absl::StrCat("sextant-probe: ", written.message(), "\n"));
  }
  return kExitInternal;
}

ExitCode RunArgs(const std::vector<std::string>& args, absl::Span<const Backend> backends) {
  const auto parsed = ParseProbeOptions(args);
  if (!parsed.ok()) return Fail(args, parsed.status());
  if (const auto* asked = std::get_if<AskedText>(&*parsed)) return WriteAsked(*asked);
  return RunOptions(std::get<ProbeOptions>(*parsed), backends);
}

}  // namespace

int RunProbe(const std::vector<std::string>& args, absl::Span<const Backend> backends) {
  PrepareProcess();
  // protobuf would write to stderr of each text that is not UTF-8.
  google::protobuf::SetLogHandler(nullptr);
  try {
    return RunArgs(args, backends);
  } catch (const std::bad_alloc&) {
    return Fail(args, absl::ResourceExhaustedError(
                          "the probe itself ran out of memory; free some, or raise its limit"));
  } catch (const std::exception& error) {
    return Fail(args, absl::InternalError(absl::StrCat("a defect: ", error.what())));
  }
}

}  // namespace sextant
