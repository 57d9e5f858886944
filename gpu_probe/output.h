// What the probe writes: lines of JSON for programs, or text for people.
#ifndef SEXTANT_GPU_PROBE_OUTPUT_H_
#define SEXTANT_GPU_PROBE_OUTPUT_H_

#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/exit_code.h"
#include "sextant/v1/device.pb.h"
#include "sextant/v1/probe_event.pb.h"

namespace sextant {

enum class OutputFormat {
  kJson,  // one ProbeEvent a line on the results' descriptor
  kText,  // tables there; messages and a progress bar on the other
};

struct OutputOptions {
  OutputFormat format = OutputFormat::kJson;
  int results_descriptor = 1;
  int messages_descriptor = 2;
  bool progress_bar = false;  // kText only: on the messages' descriptor, a terminal
  std::string file = {};      // gets the bare calibration as JSON too; "" for none
};

// `message` as one line of JSON in the API's spelling, with its line end. Bytes that are not
// UTF-8 are left out of it.
//
// Errors: kInternal with protobuf's words.
absl::StatusOr<std::string> JsonLine(const v1::ProbeEvent& message);

// Thread-safe: the watchdog's thread reports what the main one can't any more.
class Output {
 public:
  // `clock` must outlive the output.
  Output(OutputOptions options, Clock& clock);

  // Shows how far the probe is: each new phase at once, else at most ten times a second, and not at
  // all where the reader is slow or a result is out. False where nobody reads any more. Where the
  // results can't be written for another reason, e.g. on a full disk, it is Finish() that says so.
  bool Progress(const v1::ProbeProgress& progress);

  // Repeats the last progress where nothing was shown for a second, so that silence means that
  // the process is gone. Never waits.
  void Heartbeat();

  // Writes the result, a calibration or a failure, and returns the code that the process has
  // to end with. Only the first one counts: a further call writes nothing, and returns the
  // first one's code.
  ExitCode Finish(const v1::ProbeEvent& result);

  // The same from another thread at the hard deadline. Waits at most a second for a write that
  // is under way; after that it writes nothing, since the reader has stopped reading.
  ExitCode FinishLate(const v1::ProbeFailure& failure);

  // Writes what --list asks for.
  ExitCode List(const std::vector<v1::Device>& devices);

 private:
  // Writes to the results' descriptor, but nothing after an error: it may have left half a line.
  absl::Status WriteResults(absl::string_view bytes);
  void Show(v1::ProbeProgress progress, double now_seconds);
  ExitCode WriteResult(const v1::ProbeEvent& result);
  ExitCode WriteCalibration(const v1::Calibration& calibration);
  ExitCode WriteFailure(const v1::ProbeFailure& failure);
  // Ends with kExitInternal, and says why, where `status` is not OK.
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

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_OUTPUT_H_
