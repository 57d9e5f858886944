#include "gpu_probe/output.h"

#include <google/protobuf/util/json_util.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/calibration_text.h"
#include "gpu_probe/file_write.h"
#include "gpu_probe/progress_bar.h"

namespace sextant {
namespace {

constexpr double kProgressSeconds = 0.1;
constexpr double kHeartbeatSeconds = 1;
constexpr std::chrono::seconds kLateWait(1);

absl::StatusOr<std::string> Json(const google::protobuf::Message& message, bool pretty) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
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

// Whether a line of progress can be written without waiting: a pipe that is writable has room
// for 4096 bytes.
bool Writable(int file_descriptor) {
  pollfd writable = {.fd = file_descriptor, .events = POLLOUT, .revents = 0};
  return poll(&writable, 1, /*timeout=*/0) == 1;
}

}  // namespace

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
    // A terminal that is gone takes the bar with it, not the measurement.
    (void)WriteAll(options_.messages_descriptor, ProgressBar(progress));
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
  if (bar_shown_) (void)WriteAll(options_.messages_descriptor, kEraseProgressBar);
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
  // A reader that left knows that it did.
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
  // All texts before the first write: what fails or throws here leaves no result behind.
  const absl::StatusOr<std::string> line = JsonLine(event);
  if (!line.ok()) return ExitCodeAfter(line.status());
  const absl::StatusOr<std::string> text = Json(calibration, /*pretty=*/true);
  if (!text.ok()) return ExitCodeAfter(text.status());
  const bool json = options_.format == OutputFormat::kJson;
  // The file even where nobody reads the line, and the line even where the file fails.
  const ExitCode line_code =
      ExitCodeAfter(WriteResults(json ? *line : CalibrationText(calibration)));
  const ExitCode file_code =
      options_.file.empty() ? kExitOk : ExitCodeAfter(ReplaceFile(options_.file, *text));
  return line_code == kExitOk ? file_code : line_code;
}

ExitCode Output::List(const std::vector<v1::Device>& devices) {
  const auto write = [&]() -> absl::Status {
    if (options_.format == OutputFormat::kText) {
      return WriteResults(DevicesText(devices));
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

}  // namespace sextant
