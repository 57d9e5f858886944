// What a probe writes to standard output, as events.
#ifndef SEXTANT_SERVER_PROBE_OUTPUT_H_
#define SEXTANT_SERVER_PROBE_OUTPUT_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/line_buffer.h"
#include "sextant/v1/probe_event.pb.h"

namespace sextant {

// Called for each event in turn. An error stops the probe: the event makes no sense.
using ProbeEventCallback = std::function<absl::Status(const v1::ProbeEvent&)>;

class ProbeOutput {
 public:
  static constexpr size_t kMaxLineBytes = size_t{4} << 20;
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  explicit ProbeOutput(ProbeEventCallback on_event);

  // Takes in `bytes`, which need not end where a line does. Fields that this version does not
  // know are skipped: a newer probe may write them.
  //
  // Errors: PROBE_FAILED, fault garbage, where a line is not an event, where there is too much,
  // and where the callback fails.
  absl::Status Add(absl::string_view bytes);

  // What the probe meant by its end with exit code 0, or by `exit_status`, which says how else
  // it ended: the first failure that it reported, else an error where a line has no end (fault
  // partial_line) or where there is no result (fault silent).
  absl::Status End(const absl::Status& exit_status) const;

  size_t line_count() const { return line_count_; }

 private:
  absl::Status AddLine(const std::string& line);

  const ProbeEventCallback on_event_;
  LineBuffer lines_;
  size_t byte_count_ = 0;
  size_t line_count_ = 0;
  size_t result_count_ = 0;  // calibrations and devices
  absl::Status failure_;     // the first that it reported
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_PROBE_OUTPUT_H_
