#include "gpu_probe/output.h"

#include <google/protobuf/util/json_util.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/file_write.h"
#include "proto/text/calibration_text.h"
#include "proto/text/device_text.h"
#include "proto/text/format.h"
#include "proto/text/progress_line.h"

namespace sextant::probe {
namespace {

constexpr double kProgressSeconds = 0.1;
constexpr double kHeartbeatSeconds = 1;
constexpr std::chrono::seconds kLateWait(1);
constexpr int kProgressColumns = 80;

absl::StatusOr<std::string> Json(const google::protobuf::Message& message, bool pretty) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = pretty;
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!printed.ok()) {
    return absl::InternalError(
        absl::StrCat("cannot write the result as JSON: ", std::string(printed.message())));
  }
  if (!pretty) json += '\n';
  return json;
}

// True where a line of progress can be written without blocking: a writable pipe has room for 4096
// bytes.
bool Writable(int file_descriptor) {
  pollfd writable = {.fd = file_descriptor, .events = POLLOUT, .revents = 0};
  return poll(&writable, 1, /*timeout=*/0) == 1;
}

// Calls only functions that are safe in a signal handler. SA_RESETHAND has restored the signal's
// own action.
void EraseAndEnd(int signal_number) {
  const ssize_t written = write(STDERR_FILENO, text::kEraseLine, sizeof(text::kEraseLine) - 1);
  (void)written;  // the process ends anyway
  std::raise(signal_number);
}

}  // namespace

void EraseProgressBarOnSignals() {
  for (const int signal_number : {SIGINT, SIGTERM}) {
    struct sigaction before = {};
    if (sigaction(signal_number, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    struct sigaction action = {};
    action.sa_handler = EraseAndEnd;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal_number, &action, nullptr);
  }
}

absl::StatusOr<std::string> JsonLine(const v1::ProbeEvent& message) {
  return Json(message, /*pretty=*/false);
}

Output::Output(OutputOptions options, Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      start_seconds_(clock.NowSeconds()),
      shown_seconds_(start_seconds_ - kProgressSeconds) {}

bool Output::Progress(const v1::ProbeProgress& progress) {
  const std::lock_guard<std::timed_mutex> lock(mutex_);
  const double now_seconds = clock_.NowSeconds();
  const bool first_at_end = progress.fraction() >= 1 && last_progress_.fraction() < 1;
  const bool new_phase = progress.phase() != last_progress_.phase();
  if (first_at_end || new_phase || now_seconds - shown_seconds_ >= kProgressSeconds) {
    Show(progress, now_seconds);
  }
  return !absl::IsCancelled(results_status_);
}

void Output::Heartbeat() {
  const std::unique_lock<std::timed_mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const double now_seconds = clock_.NowSeconds();
  if (now_seconds - shown_seconds_ < kHeartbeatSeconds) return;
  v1::ProbeProgress again = last_progress_;
  again.set_elapsed_seconds(now_seconds - start_seconds_);
  Show(std::move(again), now_seconds);
}

void Output::Show(v1::ProbeProgress progress, double now_seconds) {
  if (exit_code_.has_value() || !results_status_.ok()) return;
  shown_seconds_ = now_seconds;
  progress.set_fraction(std::max(progress.fraction(), last_progress_.fraction()));
  last_progress_ = progress;
  if (options_.format == OutputFormat::kText) {
    if (!options_.progress_bar || !Writable(options_.messages_descriptor)) return;
    bar_shown_ = true;
    // A closed terminal must not end the measurement.
    (void)WriteAll(options_.messages_descriptor,
                   absl::StrCat(text::kEraseLine, text::ProgressLine(progress, kProgressColumns)));
    return;
  }
  if (!Writable(options_.results_descriptor)) return;
  v1::ProbeEvent event;
  *event.mutable_progress() = std::move(progress);
  const absl::StatusOr<std::string> line = JsonLine(event);
  if (line.ok()) (void)WriteResults(*line);
}

absl::Status Output::WriteResults(absl::string_view bytes) {
  if (results_status_.ok()) results_status_ = WriteAll(options_.results_descriptor, bytes);
  return results_status_;
}

void Output::EraseBar() {
  if (bar_shown_) (void)WriteAll(options_.messages_descriptor, text::kEraseLine);
  bar_shown_ = false;
}

ExitCode Output::Finish(const v1::ProbeEvent& result) {
  const std::lock_guard<std::timed_mutex> lock(mutex_);
  if (!exit_code_.has_value()) exit_code_ = WriteResult(result);
  return *exit_code_;
}

ExitCode Output::FinishLate(const v1::ProbeFailure& failure) {
  const std::unique_lock<std::timed_mutex> lock(mutex_, kLateWait);
  if (!lock.owns_lock()) return ExitCodeOf(failure.kind());
  if (!exit_code_.has_value()) {
    v1::ProbeEvent event;
    *event.mutable_failure() = failure;
    exit_code_ = WriteResult(event);
  }
  return *exit_code_;
}

ExitCode Output::WriteResult(const v1::ProbeEvent& result) {
  EraseBar();
  return result.has_failure() ? WriteFailure(result.failure())
                              : WriteCalibration(result.calibration());
}

ExitCode Output::ExitCodeAfter(const absl::Status& status) {
  if (status.ok()) return kExitOk;
  // A reader that closed its end needs no message.
  if (!absl::IsCancelled(status)) {
    (void)WriteAll(options_.messages_descriptor,
                   absl::StrCat("sextant-probe: ", status.message(), "\n"));
  }
  return kExitInternal;
}

ExitCode Output::WriteFailure(const v1::ProbeFailure& failure) {
  const std::string message = absl::StrCat("sextant-probe: ", failure.message(), "\n");
  (void)WriteAll(options_.messages_descriptor, message);
  if (options_.format == OutputFormat::kJson) {
    v1::ProbeEvent event;
    *event.mutable_failure() = failure;
    const absl::StatusOr<std::string> line = JsonLine(event);
    if (line.ok()) (void)WriteResults(*line);
  }
  return ExitCodeOf(failure.kind());
}

ExitCode Output::WriteCalibration(const v1::Calibration& calibration) {
  v1::ProbeEvent event;
  *event.mutable_calibration() = calibration;
  // Formats all texts before the first write, so that an error or exception leaves no partial
  // result.
  const absl::StatusOr<std::string> line = JsonLine(event);
  if (!line.ok()) return ExitCodeAfter(line.status());
  const absl::StatusOr<std::string> file = Json(calibration, /*pretty=*/true);
  if (!file.ok()) return ExitCodeAfter(file.status());
  const std::string shown =
      options_.format == OutputFormat::kJson
          ? *line
          : text::Printable(text::CalibrationText(calibration, std::nullopt, "--format=json"));
  // Writes the file even where nobody reads the line, and the line even where the file fails.
  const ExitCode line_code = ExitCodeAfter(WriteResults(shown));
  const ExitCode file_code =
      options_.file.empty() ? kExitOk : ExitCodeAfter(ReplaceFile(options_.file, *file));
  return line_code == kExitOk ? file_code : line_code;
}

ExitCode Output::List(const std::vector<v1::Device>& devices) {
  const auto write = [&]() -> absl::Status {
    if (options_.format == OutputFormat::kText) {
      return WriteResults(text::Printable(
          absl::StrJoin(devices, "\n", [](std::string* out, const v1::Device& device) {
            out->append(text::DeviceText(device));
          })));
    }
    for (const v1::Device& device : devices) {
      v1::ProbeEvent event;
      *event.mutable_device() = device;
      SEXTANT_ASSIGN_OR_RETURN(const std::string line, JsonLine(event));
      SEXTANT_RETURN_IF_ERROR(WriteResults(line));
    }
    return absl::OkStatus();
  };
  return ExitCodeAfter(write());
}

}  // namespace sextant::probe
