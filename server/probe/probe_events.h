// The events that a probe writes to standard output, and the errors of a probe that fails.
#ifndef SEXTANT_SERVER_PROBE_PROBE_EVENTS_H_
#define SEXTANT_SERVER_PROBE_PROBE_EVENTS_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::server {

// kUnavailable with reason PROBE_FAILED and metadata "fault", one of: absent, unstartable,
// crashed, exited, garbage, silent, partial_line, mismatch.
absl::Status ProbeFault(absl::string_view fault, absl::string_view message);

// kUnavailable with reason PROBE_TIMEOUT.
absl::Status ProbeTimeout(absl::string_view message);

// kCancelled with reason PROBE_CANCELLED: the caller left, or the server stops.
absl::Status ProbeCancelled();

// The status of a failure that the probe reported: kFailedPrecondition with reason PROBE_REFUSED
// and metadata "reason" ("memory", "threads", "locked", "unsupported") where it refused, or can't
// do what was asked; PROBE_TIMEOUT where its time was up; else PROBE_FAILED, fault mismatch or
// exited.
absl::Status ProbeFailureStatus(const v1::ProbeFailure& failure);

// Splits bytes that arrive in pieces into lines.
class LineBuffer {
 public:
  void Add(absl::string_view bytes) { bytes_.append(bytes.data(), bytes.size()); }

  // Returns the next whole line, without its end ("
  // " or "\r
  // "); absent where none is complete.
  absl::optional<std::string> Next();

  // The bytes left once Next() returns none: the start of an unfinished line.
  absl::string_view rest() const { return absl::string_view(bytes_).substr(start_); }

 private:
  std::string bytes_;
  size_t start_ = 0;     // of the line that comes next
  size_t searched_ = 0;  // no line end in [start_, searched_)
};

// Called for each event in order. An error stops the probe: the event makes no sense.
using ProbeEventCallback = std::function<absl::Status(const v1::ProbeEvent&)>;

// Reads one probe's output and judges how it ended.
class ProbeOutput {
 public:
  static constexpr size_t kMaxLineBytes = size_t{4} << 20;
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  explicit ProbeOutput(ProbeEventCallback on_event, size_t max_bytes = kMaxBytes);

  // Adds `bytes`, which need not end where a line does. Fields that this version does not know are
  // skipped: a newer probe may write them.
  //
  // Errors: PROBE_FAILED, fault garbage, where a line is not an event, where there is too much,
  // and where the callback fails.
  absl::Status Add(absl::string_view bytes);

  // The outcome of a probe that ended with exit code 0, or otherwise with `exit_status`: the first
  // failure that it reported, else an error where a line has no end (fault partial_line) or where
  // there is no result (fault silent).
  absl::Status End(const absl::Status& exit_status) const;

  size_t line_count() const { return line_count_; }

 private:
  absl::Status AddLine(const std::string& line);

  const ProbeEventCallback on_event_;
  const size_t max_bytes_;
  LineBuffer lines_;
  size_t byte_count_ = 0;
  size_t line_count_ = 0;
  size_t result_count_ = 0;  // calibrations and devices
  absl::Status failure_;     // the first that it reported
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_PROBE_PROBE_EVENTS_H_
