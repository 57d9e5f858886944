#include "gpu_probe/run_probe.h"

#include <fcntl.h>
#include <google/protobuf/stubs/logging.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gpu_probe/backend.h"
#include "gpu_probe/exit_code.h"
#include "gpu_probe/file_write.h"
#include "gpu_probe/options.h"
#include "gpu_probe/output.h"
#include "gpu_probe/point.h"
#include "gpu_probe/watchdog.h"

namespace sextant::probe {
namespace {

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

// Ends the process at the hard deadline, from the watchdog's thread: the main one may hang in a
// kernel, and its locks may never be released.
void EndLate(Output& output, double budget_seconds) {
  try {
    const absl::Status late = absl::DeadlineExceededError(absl::StrFormat(
        "the probe did not end within %gs, twice the budget of %gs and a second: a "
        "kernel or a driver hangs, or the host is overloaded; try again, or give sextant-probe a "
        "longer --budget",
        HardDeadlineSeconds(budget_seconds), budget_seconds));
    _exit(output.FinishLate(FailureOf(late)));
  } catch (const std::bad_alloc&) {
    _exit(kExitDeadline);  // without a message
  }
}

// Runs on the watchdog's thread, where nothing catches exceptions: out of memory, it skips a beat.
void Beat(Output& output) {
  try {
    output.Heartbeat();
  } catch (const std::bad_alloc&) {
  }
}

ExitCode MeasureAndWrite(absl::Span<const Backend> backends, const ProbeOptions& options) {
  SteadyClock clock;
  const OutputOptions output_options = OutputOptionsOf(options);
  if (output_options.format == OutputFormat::kText && output_options.progress_bar) {
    EraseProgressBarOnSignals();
  }
  Output output(output_options, clock);
  const double budget_seconds = BudgetSecondsOf(options);
  const auto watchdog = Watchdog::Start({.seconds = HardDeadlineSeconds(budget_seconds),
                                         .on_expiry = [&] { EndLate(output, budget_seconds); },
                                         .tick_seconds = kTickSeconds,
                                         .on_tick = [&] { Beat(output); }});
  if (!watchdog.ok()) return output.Finish(FailureEvent(watchdog.status()));
  v1::ProbeEvent result;
  auto calibration = MeasureDevice(
      backends, options, clock,
      [&output](const v1::ProbeProgress& progress) { return output.Progress(progress); });
  if (absl::IsCancelled(calibration.status())) return kExitInternal;  // the reader has left
  if (calibration.ok()) {
    *result.mutable_calibration() = *std::move(calibration);
  } else {
    result = FailureEvent(calibration.status());
  }
  return output.Finish(result);
}

// Lists the devices. Where a driver hangs, the process ends at the hard deadline.
absl::StatusOr<ListedDevices> DevicesInTime(absl::Span<const Backend> backends,
                                            const ProbeOptions& options, Output& output) {
  const double budget_seconds = BudgetSecondsOf(options);
  const auto watchdog = Watchdog::Start({.seconds = HardDeadlineSeconds(budget_seconds),
                                         .on_expiry = [&] { EndLate(output, budget_seconds); }});
  if (!watchdog.ok()) return watchdog.status();
  return ListDevices(options.backend, backends);
}

ExitCode WriteList(absl::Span<const Backend> backends, const ProbeOptions& options) {
  SteadyClock clock;
  Output output(OutputOptionsOf(options), clock);
  const auto listed = DevicesInTime(backends, options, output);
  if (!listed.ok()) return output.Finish(FailureEvent(listed.status()));
  for (const std::string& note : listed->notes) {
    (void)WriteAll(STDERR_FILENO, absl::StrCat("sextant-probe: ", note, "\n"));
  }
  return output.List(listed->devices);
}

ExitCode RunOptions(const ProbeOptions& options, absl::Span<const Backend> backends) {
  if (options.parent_pid > 0 && !FollowParent(options.parent_pid)) {
    (void)WriteAll(STDERR_FILENO, absl::StrCat("sextant-probe: --parent_pid=", options.parent_pid,
                                               " is not its parent, or has ended\n"));
    return kExitInternal;
  }
  return options.list ? WriteList(backends, options) : MeasureAndWrite(backends, options);
}

// Ends a run whose options are missing or were not parsed.
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

constexpr int kBackgroundNice = 10;

}  // namespace

int RunProbe(const std::vector<std::string>& args, absl::Span<const Backend> backends) {
  PrepareProcess();
  // protobuf would log each text that is not UTF-8 to stderr.
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

void PrepareProcess() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // A pipe without a reader, since /dev/null may not exist: reads end, writes fail.
  for (int wanted = 0; wanted <= 2; ++wanted) {
    if (fcntl(wanted, F_GETFD) >= 0) continue;
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    // Lower descriptors are taken, so one of the ends has become `wanted`.
    const int wanted_end = wanted == 0 ? ends[0] : ends[1];
    dup2(wanted_end, wanted);
    for (const int end : ends) {
      if (end != wanted) close(end);
    }
  }
}

bool FollowParent(int64_t parent_pid) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A parent that ended before that call sends no signal.
  if (static_cast<int64_t>(getppid()) != parent_pid) return false;
  // Failing to do these is harmless.
  (void)setpriority(PRIO_PROCESS, 0, kBackgroundNice);
  const rlimit none = {.rlim_cur = 0, .rlim_max = 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  return true;
}

}  // namespace sextant::probe
