// The probe's output: lines of JSON for programs, or text for people.
#ifndef SEXTANT_GPU_PROBE_OUTPUT_H_
#define SEXTANT_GPU_PROBE_OUTPUT_H_

#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gpu_probe/exit_code.h"
#include "gpu_probe/point.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/device.pb.h"

namespace sextant::probe {

enum class OutputFormat {
  kJson,  // one ProbeEvent a line on the results' descriptor
  kText,  // tables there; messages and a progress bar on the other one
};

struct OutputOptions {
  OutputFormat format = OutputFormat::kJson;
  int results_descriptor = 1;
  int messages_descriptor = 2;
  bool progress_bar = false;  // kText only: on the messages' descriptor, a terminal
  std::string file = {};      // gets the bare calibration as JSON too; "" for none
};

// Formats `message` as one line of JSON in the API's spelling, with its line end. Leaves out bytes
// that are not UTF-8.
//
// Errors: kInternal with protobuf's message.
absl::StatusOr<std::string> JsonLine(const v1::ProbeEvent& message);

// Makes Ctrl-C (SIGINT) and SIGTERM erase the bar's line on standard error, a terminal, before they
// end the process as usual. A signal that is ignored stays ignored.
void EraseProgressBarOnSignals();

// Thread-safe: the watchdog's thread reports for the main one when that hangs.
class Output {
 public:
  // `clock` must outlive the output.
  Output(OutputOptions options, Clock& clock);

  // Shows the progress: each new phase at once, otherwise at most ten times a second, and not where
  // the reader is slow or a result is written. Returns false where nobody reads any more. Other
  // write errors, e.g. a full disk, are reported by Finish().
  bool Progress(const v1::ProbeProgress& progress);

  // Repeats the last progress where nothing was shown for a second, so that silence means that the
  // process is gone. Never blocks.
  void Heartbeat();

  // Writes the result, a calibration or a failure, and returns the process's exit code. Only the
  // first call counts: a further call writes nothing, and returns the same code.
  ExitCode Finish(const v1::ProbeEvent& result);

  // Finish() from another thread at the hard deadline. Waits at most a second for a write in
  // progress; after that it writes nothing, since the reader has stopped reading.
  ExitCode FinishLate(const v1::ProbeFailure& failure);

  // Writes the list of --list.
  ExitCode List(const std::vector<v1::Device>& devices);

 private:
  // Writes to the results' descriptor, but not after an error, which may have left half a line.
  absl::Status WriteResults(absl::string_view bytes);
  void Show(v1::ProbeProgress progress, double now_seconds);
  ExitCode WriteResult(const v1::ProbeEvent& result);
  ExitCode WriteCalibration(const v1::Calibration& calibration);
  ExitCode WriteFailure(const v1::ProbeFailure& failure);
  // kExitOk for an OK `status`; otherwise reports the error and returns kExitInternal.
  ExitCode ExitCodeAfter(const absl::Status& status);
  void EraseBar();

  const OutputOptions options_;
  Clock& clock_;

  std::timed_mutex mutex_;
  absl::optional<ExitCode> exit_code_;  // once the result is out
  absl::Status results_status_;         // the first error of the results' descriptor
  bool bar_shown_ = false;
  double start_seconds_;  // when this object was made
  double shown_seconds_;  // when progress was last shown
  v1::ProbeProgress last_progress_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_OUTPUT_H_
